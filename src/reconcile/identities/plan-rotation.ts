// The steps of a rotation of a certificate authority: the proxies and zones that a step waits for, and its end (decision 54). Pure.
// Invariants: an authority signs only when every connected proxy trusts it, and stays trusted while a certificate of it is valid.
import { compareText } from '../../base/compare-text.ts';
import { bundleId } from '../../identity/authority-id.ts';
import { providerOf } from '../../identity/identity-spec.ts';
import { trustBundles, type TrustBundle } from '../../identity/trust-bundles.ts';
import { MAX_NAMED, type Rotation, type RotationProgress } from '../../resource/identity-rotation.ts';
import { kriOf } from '../../resource/kri.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { parseMeshIdentity, selectsProxy, spiffeIdOf } from '../../resource/mesh-identity.ts';
import { isOnline } from '../../resource/online-status.ts';
import { homeZoneOf } from '../../resource/ownership.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import type { Resource } from '../../resource/types.ts';
import { absenceIn, isLeaving, LOST_MS } from '../services/absences.ts';

/** The rows of a mesh on which the steps depend. */
export type MeshFacts = {
  readonly identities: readonly Resource[];
  readonly trusts: readonly Resource[];
  readonly dataplanes: readonly Resource[];
  readonly insights: readonly Resource[];
};

/**
 * The part of its life for which an ended certificate is still trusted, for clocks that run behind, and its limit in
 * milliseconds.
 */
const SKEW_SHARE = 1 / 10;
const MAX_SKEW_MS = 60_000;

/** The step is over: nothing waits, and its time has come. */
export function isOver({ waiting, until }: RotationProgress, now: Date): boolean {
  return waiting === 0 && until !== '' && Date.parse(until) <= now.getTime();
}

/**
 * The progress of proxies that accept the MeshTrusts of a mesh. A proxy whose stream has ended, with its control plane or without
 * it, still serves with the bundle that it has: it gets time to come back.
 * @param heldSince when the MeshTrust got the new authority
 * @param otherZonesMs 0 in a zone without others
 */
export function distribution(facts: MeshFacts, zone: string, heldSince: Date, otherZonesMs: number): RotationProgress {
  const bundles = trustBundles(facts.trusts);
  const wanted = bundleId(bundles);
  const behind = proxiesOf(facts).filter(
    ({ dataplane, insight }) =>
      isCertified(facts.identities, bundles, dataplane, zone) && textOf(objectOf(insight.status['tls'])['bundle']) !== wanted,
  );
  const [waits, away] = [
    behind.filter(isConnected),
    behind.filter((proxy) => !isConnected(proxy) && !isLeaving(proxy.insight.status)),
  ];
  return progress(waits, new Date(Math.max(heldSince.getTime() + otherZonesMs, ...away.map(backUntil))));
}

/**
 * The progress of proxies that get certificates of the new authority.
 * @param signedAt the time since which it signs
 * @param until the end of the last old certificate
 */
export function renewal(facts: MeshFacts, identity: Resource, signedAt: string, until: string): RotationProgress {
  const kri = kriOf(identity);
  const waits = proxiesOf(facts).filter((proxy) => {
    const { insight } = proxy;
    if (!isConnected(proxy)) return false;
    const { issuedBackend, lastCertificateRegeneration } = objectOf(insight.spec['mTLS']);
    return issuedBackend === kri && Date.parse(textOf(lastCertificateRegeneration)) < Date.parse(signedAt);
  });
  return { ...progress(waits, new Date(until)) };
}

/**
 * The end of the last certificate that the present authority has signed. The insight of a proxy that is away has the end of its
 * certificate too.
 */
export function lastEnd(identity: Resource, insights: readonly Resource[], now: Date): Date {
  const provider = providerOf(identity.spec);
  const lifetimeMs = provider.kind === 'bundled' ? provider.lifetimeMs : 0;
  const kri = kriOf(identity);
  const ends = insights.flatMap(({ spec }) => {
    const { issuedBackend, certificateExpirationTime } = objectOf(spec['mTLS']);
    const end = Date.parse(textOf(certificateExpirationTime));
    return issuedBackend === kri && !Number.isNaN(end) ? [end] : [];
  });
  const last = ends.reduce((latest, end) => Math.max(latest, end), now.getTime() + lifetimeMs);
  return new Date(last + Math.min((last - now.getTime()) * SKEW_SHARE, MAX_SKEW_MS));
}

/** Whether the progress of a step has changed. */
export function isNews(before: RotationProgress, after: RotationProgress): boolean {
  return before.waiting !== after.waiting || before.until !== after.until || before.waitsFor.join() !== after.waitsFor.join();
}

/** The time of the next check of a rotation, the earlier of both; null if a change of a row triggers it. */
export function wakeOf(rotation: Rotation): number | null {
  return rotation.step === 'requested' || rotation.until === '' ? null : Date.parse(rotation.until);
}

type Proxy = { readonly dataplane: Resource; readonly insight: Resource };

/** The Dataplanes that have an insight. */
function proxiesOf({ dataplanes, insights }: MeshFacts): Proxy[] {
  const known = new Map(insights.map((insight) => [insight.name, insight]));
  return dataplanes.flatMap((dataplane) => {
    const insight = known.get(dataplane.name);
    return insight === undefined ? [] : [{ dataplane, insight }];
  });
}

function isConnected({ insight }: Proxy): boolean {
  return isOnline(insight.spec);
}

/** The time until which an absent proxy may come back, in milliseconds since 1970; 0 for one that never had a stream. */
function backUntil({ insight }: Proxy): number {
  const { endedAt = '' } = absenceIn(insight) ?? {};
  return endedAt === '' ? 0 : Date.parse(endedAt) + LOST_MS;
}

/** Whether a proxy has a certificate or gets one. */
function isCertified(
  identities: readonly Resource[],
  bundles: readonly TrustBundle[],
  { labels, mesh }: Resource,
  zone: string,
): boolean {
  return identities.some((row) => {
    const identity = parseMeshIdentity(row);
    if (homeZoneOf(row, zone) !== zone || !selectsProxy(identity, labels)) return false;
    const id = spiffeIdOf(identity, labels, mesh, zone);
    return id !== null && bundles.some(({ trustDomain }) => id.startsWith(`spiffe://${trustDomain}/`));
  });
}

function progress(waits: readonly Proxy[], until: Date): RotationProgress {
  const names = waits.map(({ dataplane }) => displayNameOf(dataplane)).sort(compareText);
  return { waiting: names.length, waitsFor: names.slice(0, MAX_NAMED), until: until.toISOString() };
}
