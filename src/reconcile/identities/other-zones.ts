// The messages between zones while one of them changes an authority (decision 54). The MeshTrust of that zone asks, and the MeshTrusts of
// the other zones name the bundle that their proxies have accepted. Both use labels, because global sends no status of a MeshTrust to zones.
import type { Clock } from '../../base/clock.ts';
import { bundleId } from '../../identity/authority-id.ts';
import { trustBundles } from '../../identity/trust-bundles.ts';
import { label } from '../../resource/labels.ts';
import { homeZoneOf } from '../../resource/ownership.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import type { Resource } from '../../resource/types.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { distribution, isOver, type MeshFacts } from './plan-rotation.ts';

const YES = 'true';

/** The labels of the MeshTrust of an authority. @param isChanging whether other zones are asked to accept it */
export function askingLabels(labels: Resource['labels'], isChanging: boolean): Resource['labels'] {
  const { [label.authorityChanges]: _before, ...others } = labels;
  return isChanging ? { ...others, [label.authorityChanges]: YES } : others;
}

/**
 * Whether the proxies of all other zones have accepted the MeshTrusts of a mesh. It is false where a zone cannot say so: a Kuma
 * zone, and one whose MeshTrust was copied by hand.
 */
export function haveOthersAccepted(trusts: readonly Resource[], zone: string): boolean {
  const wanted = acceptedText(trusts);
  const others = trusts.filter((trust) => !isOfIdentity(trust, zone));
  const zones = Map.groupBy(others, (trust) => homeZoneOf(trust, zone));
  return (
    !zones.has(zone) && [...zones.values()].every((rows) => rows.some(({ labels }) => labels[label.acceptedTrust] === wanted))
  );
}

/** Meshes without an answer, and the time of the next check, in milliseconds since 1970. */
export type Answers = { readonly count: number; readonly wakeAts: readonly number[] };

/**
 * Answers the zones that ask. Each pass reads the MeshTrusts, and the proxies of the meshes in which a zone asks.
 * @param readFacts reads the facts of a mesh
 */
export async function answerOtherZones(
  { store, zone, clock }: { readonly store: ResourceStore; readonly zone: string; readonly clock: Clock },
  readFacts: (mesh: string) => Promise<MeshFacts>,
): Promise<Answers> {
  const meshes = Map.groupBy(await store.list({ type: 'MeshTrust' }), ({ mesh }) => mesh);
  let count = 0;
  const wakeAts: number[] = [];
  for (const [mesh, known] of meshes) {
    if (behind(known, zone).length === 0) continue;
    const facts = await readFacts(mesh);
    const state = distribution(facts, zone, new Date(0), 0);
    if (isOver(state, clock.now())) {
      await store.writeBatch(behind(facts.trusts, zone).map((trust) => answerOf(trust, acceptedText(facts.trusts))));
      continue;
    }
    count += 1;
    if (state.until !== '' && state.waiting === 0) wakeAts.push(Date.parse(state.until));
  }
  return { count, wakeAts };
}

/** The MeshTrusts of this zone that have not answered another zone yet. */
function behind(trusts: readonly Resource[], zone: string): Resource[] {
  const isAsked = trusts.some((trust) => homeZoneOf(trust, zone) !== zone && trust.labels[label.authorityChanges] === YES);
  if (!isAsked) return [];
  const wanted = acceptedText(trusts);
  return trusts.filter((trust) => isOfIdentity(trust, zone) && trust.labels[label.acceptedTrust] !== wanted);
}

function answerOf({ type, mesh, name, labels, spec, status, syncVersion, version }: Resource, accepted: string): Write {
  const answered = { ...labels, [label.acceptedTrust]: accepted };
  return { op: 'update', key: { type, mesh, name }, labels: answered, spec, status, syncVersion, expectVersion: version };
}

/** A text that is equal in zones with the same MeshTrusts. A value of a label begins and ends with a letter or a digit. */
function acceptedText(trusts: readonly Resource[]): string {
  return Buffer.from(bundleId(trustBundles(trusts)), 'base64url').toString('hex');
}

/** Whether this zone made the MeshTrust of a MeshIdentity. */
function isOfIdentity(trust: Resource, zone: string): boolean {
  return homeZoneOf(trust, zone) === zone && textOf(objectOf(trust.status['origin'])['kri']) !== '';
}
