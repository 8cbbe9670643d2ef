// Moves the rotation of an authority by one step at a time: distribute, sign, drop (decision 54). Each step is one transaction, which
// fails if the rows have changed since they were read.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { readRotation, rotationSpec, type Rotation } from '../../resource/identity-rotation.ts';
import { parseMeshIdentity, trustDomainOf } from '../../resource/mesh-identity.ts';
import { secretSpec, secretText } from '../../resource/secret-data.ts';
import type { Resource } from '../../resource/types.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { haveOthersAccepted } from './other-zones.ts';
import type { IdentityRows } from './plan-identity.ts';
import { distribution, isNews, isOver, lastEnd, renewal, wakeOf, type MeshFacts } from './plan-rotation.ts';

export type RotationOptions = {
  readonly store: ResourceStore;
  readonly zone: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds for the proxies of other zones that do not report their acceptance; 0 in a zone without others. */
  readonly otherZonesMs: number;
};

/** `again`: something was written. `wakeAt`: milliseconds since 1970, null if a change of a row will tell. */
export type RotationStep = { readonly then: 'again' } | { readonly then: 'wait'; readonly wakeAt: number | null };

const WAIT: RotationStep = { then: 'wait', wakeAt: null };

/** @param rows of a MeshIdentity whose authority and MeshTrust are complete */
export async function stepRotation(options: RotationOptions, rows: IdentityRows): Promise<RotationStep> {
  const { store, zone, clock, log } = options;
  const { identity, certificate, key, trust, rotation: row } = rows;
  const rotation = row === undefined ? null : readRotation(row);
  if (row === undefined || rotation === null || certificate === undefined || key === undefined) return WAIT;
  const { mesh, name } = identity;
  const now = clock.now();
  const commit = async (writes: readonly Write[], done: string): Promise<RotationStep> => {
    const outcomes = await store.writeAll(writes);
    const refused = outcomes.find((outcome) => outcome.result === 'rejected');
    if (refused?.result === 'rejected') {
      log.warn({ mesh, name, reason: refused.message }, 'a rotation was not stored');
      return WAIT;
    }
    if (done !== '' && outcomes.every((outcome) => 'version' in outcome)) log.info({ mesh, name }, done);
    return { then: 'again' };
  };
  const to = (next: Rotation): Write => replaced(row, rotationSpec(next));
  if (rotation.step === 'requested') {
    const trustDomain = trustDomainOf(parseMeshIdentity(identity), mesh, zone);
    if (trustDomain === null) return WAIT;
    const { createAuthority } = await import('../../identity/authority.ts');
    const made = await createAuthority(trustDomain, now);
    const begun: Rotation = { step: 'distribute', ...made, waiting: 0, waitsFor: [], until: '' };
    return await commit([to(begun)], 'made the next authority of a MeshIdentity; its proxies get it');
  }
  const facts = await meshFactsOf(store, mesh);
  if (rotation.step === 'distribute') {
    if (trust === undefined) return WAIT;
    const otherZonesMs = haveOthersAccepted(facts.trusts, zone) ? 0 : options.otherZonesMs;
    const state = distribution(facts, zone, trust.modificationTime, otherZonesMs);
    const next: Rotation = { ...rotation, ...state };
    if (!isOver(state, now))
      return isNews(rotation, state) ? await commit([to(next)], '') : { then: 'wait', wakeAt: wakeOf(next) };
    const until = lastEnd(identity, facts.insights, now).toISOString();
    const signing: Rotation = {
      ...{ step: 'renew', previousPem: secretText(certificate), signedAt: now.toISOString() },
      ...{ waiting: 0, waitsFor: [], until },
    };
    const secret = (of: Resource, pem: string): Write => replaced(of, secretSpec(pem));
    return await commit(
      [secret(certificate, rotation.certPem), secret(key, rotation.keyPem), to(signing)],
      'the next authority of a MeshIdentity signs',
    );
  }
  if (Date.parse(rotation.until) <= now.getTime()) {
    const { type, version } = row;
    const over: Write = { op: 'delete', key: { type, mesh, name: row.name }, expectVersion: version };
    return await commit([over], 'the rotation of an authority is over: the last one is not trusted any more');
  }
  const state = renewal(facts, identity, rotation.signedAt, rotation.until);
  const next: Rotation = { ...rotation, ...state };
  return isNews(rotation, state) ? await commit([to(next)], '') : { then: 'wait', wakeAt: wakeOf(next) };
}

/** The rows of a mesh on which the steps depend. */
export async function meshFactsOf(store: ResourceStore, mesh: string): Promise<MeshFacts> {
  const [identities = [], trusts = [], dataplanes = [], insights = []] = await Promise.all(
    ['MeshIdentity', 'MeshTrust', 'Dataplane', 'DataplaneInsight'].map(async (type) => store.list({ type, mesh })),
  );
  return { identities, trusts, dataplanes, insights };
}

function replaced({ type, mesh, name, labels, version }: Resource, spec: Resource['spec']): Write {
  return { op: 'update', key: { type, mesh, name }, labels, spec, expectVersion: version };
}
