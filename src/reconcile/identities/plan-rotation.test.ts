// The proxies and zones that have a part in a step of a rotation, and the end of the step.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane } from '../../../test/policy/make-resource.ts';
import { trustOf } from '../../../test/xds/crossing-mesh.ts';
import { bundleId } from '../../identity/authority-id.ts';
import { trustBundles } from '../../identity/trust-bundles.ts';
import { asReady } from '../../resource/mesh-identity.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { distribution, isNews, isOver, lastEnd, renewal, wakeOf, type MeshFacts } from './plan-rotation.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const after = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1_000);
const KRI = 'kri_mid_default_east__id_';

function identityOf(selector: JsonObject = {}, expiry = '100s'): Resource {
  const bundled = { autogenerate: { enabled: true }, certificateParameters: { expiry } };
  const spec = { selector: { dataplane: { matchLabels: selector } }, provider: { type: 'Bundled', bundled } };
  return asReady(make('MeshIdentity', 'id', spec, { zone: 'east' }));
}
/** A proxy with its insight. */
function proxyOf(
  name: string,
  { mTLS = {}, tls = {}, isOnline = true }: { mTLS?: JsonObject; tls?: JsonObject; isOnline?: boolean } = {},
) {
  const labels = { app: name, 'kuma.io/workload': name };
  const end = isOnline ? {} : { disconnectTime: NOW.toISOString() };
  const dataplane = makeDataplane(name, { zone: 'east', labels });
  const spec = { subscriptions: [{ connectTime: NOW.toISOString(), ...end }], mTLS };
  return { dataplane, insight: { ...make('DataplaneInsight', name, spec, { zone: 'east' }), status: { tls } } };
}
function factsOf(proxies: readonly ReturnType<typeof proxyOf>[], identities = [identityOf()]): MeshFacts {
  return {
    ...{ identities, trusts: [trustOf('east')] },
    ...{ dataplanes: proxies.map(({ dataplane }) => dataplane), insights: proxies.map(({ insight }) => insight) },
  };
}

describe('the distribution of an authority', () => {
  const current = { bundle: bundleId(trustBundles([trustOf('east')])) };

  it('waits for the connected proxies with a certificate that have not accepted the bundle', () => {
    const proxies = [proxyOf('a', { tls: current }), proxyOf('b', { tls: { bundle: 'old' } }), proxyOf('c')];
    const away = proxyOf('d', { isOnline: false });
    expect(distribution(factsOf([...proxies, away]), 'east', NOW, 0)).toMatchObject({
      waiting: 2,
      waitsFor: ['b', 'c'],
    });
  });

  it.each<[what: string, identities: Resource[], zone: string]>([
    ['that no identity selects', [identityOf({ app: 'other' })], 'east'],
    ['of the identities of another zone', [identityOf()], 'west'],
  ])('does not wait for proxies %s', (_, identities, zone) => {
    expect(distribution(factsOf([proxyOf('a')], identities), zone, NOW, 0).waiting).toBe(0);
  });

  it('does not wait for a MeshIdentity that is not ready', () => {
    const identity = { ...identityOf(), status: {} };
    expect(distribution(factsOf([proxyOf('a')], [identity]), 'east', NOW, 0).waiting).toBe(0);
  });

  it('names five proxies', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(distribution(factsOf(names.map((name) => proxyOf(name))), 'east', NOW, 0)).toMatchObject({
      ...{ waiting: 6, waitsFor: names.slice(0, 5) },
    });
  });

  it('does not wait for proxies whose trust domain is not trusted', () => {
    expect(distribution({ ...factsOf([proxyOf('a')]), trusts: [trustOf('west')] }, 'east', NOW, 0).waiting).toBe(0);
  });

  it('gives other zones time since the MeshTrust has the authority', () => {
    expect(distribution(factsOf([]), 'east', NOW, 600_000).until).toBe(after(600).toISOString());
  });
});

describe('the renewal of certificates', () => {
  const certificate = (seconds: number, issuedBackend = KRI): { mTLS: JsonObject } => ({
    mTLS: { issuedBackend, lastCertificateRegeneration: after(seconds).toISOString() },
  });

  it('waits for the connected proxies whose certificate is older than the new authority', () => {
    const proxies = [
      proxyOf('older', certificate(-1)),
      proxyOf('same', certificate(0)),
      proxyOf('newer', certificate(1)),
      proxyOf('other', certificate(-1, 'kri_mid_default_east__other_')),
      proxyOf('away', { ...certificate(-1), isOnline: false }),
    ];
    const until = after(9).toISOString();
    expect(renewal(factsOf(proxies), identityOf(), NOW.toISOString(), until)).toMatchObject({
      ...{ waiting: 1, waitsFor: ['older'], until },
    });
  });
});

describe('the end of the last certificate of an authority', () => {
  const ends = (seconds: number, issuedBackend = KRI): Resource =>
    proxyOf('a', { mTLS: { issuedBackend, certificateExpirationTime: after(seconds).toISOString() } }).insight;

  it.each<[what: string, expiry: string, insights: Resource[], seconds: number]>([
    ['of one that is issued now, with a tenth for clocks that run behind', '100s', [], 110],
    ['a minute later at most', '1h', [], 3_660],
    ['of the last one that a proxy has', '100s', [ends(200), ends(300), ends(50)], 330],
    ['not of another identity', '100s', [ends(300, 'kri_mid_default_east__other_')], 110],
    ['not of a time that cannot be read', '100s', [proxyOf('a', { mTLS: { issuedBackend: KRI } }).insight], 110],
  ])('is %s', (_, expiry, insights, seconds) => {
    expect(lastEnd(identityOf({}, expiry), insights, NOW)).toEqual(after(seconds));
  });
});

describe('a step', () => {
  const until = NOW.toISOString();
  const progress = { waiting: 0, waitsFor: [], until };

  it.each([
    ['over when nothing waits and its time has come', progress, 0, true],
    ['not over before its time', progress, -0.001, false],
    ['not over while a proxy waits', { ...progress, waiting: 1 }, 9, false],
    ['not over without a time', { ...progress, until: '' }, 9, false],
  ])('is %s', (_, given, seconds, expected) => {
    expect(isOver(given, after(seconds))).toBe(expected);
  });

  it('has news when another number, another proxy or another time counts', () => {
    expect(isNews(progress, { ...progress })).toBe(false);
    for (const more of [{ waiting: 1 }, { waitsFor: ['a'] }, { until: '' }])
      expect(isNews(progress, { ...progress, ...more })).toBe(true);
  });

  it('needs another look at its time, if it has one', () => {
    const step = { step: 'distribute', certPem: '', keyPem: '', ...progress } as const;
    const times = [wakeOf({ step: 'requested' }), wakeOf(step), wakeOf({ ...step, until: '' })];
    expect(times).toEqual([null, NOW.getTime(), null]);
  });
});
