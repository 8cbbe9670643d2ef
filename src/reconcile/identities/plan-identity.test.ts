// The rows and conditions that a MeshIdentity needs, from those that are there.
import { describe, expect, it } from 'vitest';
import { make } from '../../../test/policy/make-resource.ts';
import { authorityId } from '../../identity/authority-id.ts';
import { createAuthority, issueLeaf, readAuthority } from '../../identity/authority.ts';
import type { AuthorityPem } from '../../identity/leaf.ts';
import { rotationSpec } from '../../resource/identity-rotation.ts';
import { isMeshIdentityReady } from '../../resource/mesh-identity.ts';
import { objectsOf } from '../../resource/read-json.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import {
  authorityRows,
  identityKeys,
  planIdentity,
  validityWake,
  type IdentityPlan,
  type IdentityRows,
} from './plan-identity.ts';

const NOW = new Date('2027-01-01T00:00:00Z');
const DOMAIN = 'default.east.mesh.local';
/** The pair is valid from a minute earlier on. */
const PAIR = await createAuthority(DOMAIN, new Date('2026-11-22T16:22:25Z'));
const PEM = PAIR.certPem;
const OTHER = await createAuthority(DOMAIN, NOW);
const LEAF = await issueLeaf(await readAuthority(PAIR), `spiffe://${DOMAIN}/a`, { now: NOW, lifetimeMs: 3_600_000 });

function identityWith(bundled: JsonObject = {}, more: JsonObject = {}): Resource {
  const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true }, ...bundled } };
  return make('MeshIdentity', 'id', { provider, ...more }, { zone: 'east' });
}

const [CERTIFICATE, KEY] = authorityRows({ type: 'MeshIdentity', mesh: 'default', name: 'id' }, PAIR, NOW);

function plan(rows: Partial<IdentityRows> = {}, now = NOW): IdentityPlan {
  const none = { identity: identityWith(), certificate: CERTIFICATE, key: KEY, trust: undefined, rotation: undefined };
  return planIdentity({ ...none, ...rows }, { zone: 'east', now });
}

/** The MeshTrust that a plan writes. */
function trustIn(made: IdentityPlan): Resource {
  if (made.needs !== 'writes' || made.trust === null) throw new Error('the plan has no MeshTrust');
  return made.trust;
}

function conditionsIn(made: IdentityPlan): unknown[] {
  if (made.needs !== 'writes') return [made.needs];
  return objectsOf(made.status?.['conditions']).map(({ type, status, reason, message }) =>
    [type, status, reason, message].join(' | '),
  );
}

const failedWith = (reason: string, message: string): string[] =>
  ['Provider', 'Ready'].map((type) => `${type} | False | ${reason} | ${message}`);

describe('the keys of the rows of a MeshIdentity', () => {
  it('are its name with the kind of each', () => {
    const keys = Object.entries(identityKeys({ type: 'MeshIdentity', mesh: 'shop', name: 'id' }));
    expect(keys.map(([of, { type, mesh, name }]) => [of, type, mesh, name].join(' '))).toEqual([
      ...['certificate Secret shop id-root-ca', 'key Secret shop id-private-key'],
      ...['trust MeshTrust shop id', 'rotation Secret shop id-rotation'],
    ]);
  });
});

describe('a MeshIdentity', () => {
  it.each<[what: string, identity: Resource, reason: string, message: string]>([
    [
      'of another provider',
      make('MeshIdentity', 'id', { provider: { type: 'Spire' } }),
      'ProviderNotSupported',
      'provider Spire is not supported: use provider Bundled',
    ],
    [
      'whose trust domain asks for more than mesh and zone',
      identityWith({}, { spiffeID: { trustDomain: '{{ .Workload }}' } }),
      'InvalidTrustDomain',
      'the trust domain may use .Mesh and .Zone alone',
    ],
    [
      'with a given authority',
      identityWith({ autogenerate: { enabled: false } }),
      'ProviderNotSupported',
      'a given authority is not supported: enable autogenerate',
    ],
  ])('%s is not ready', (_, identity, reason, message) => {
    const made = plan({ identity });
    expect(conditionsIn(made)).toEqual(failedWith(reason, message));
    expect(made).toMatchObject({ trust: null, status: { conditions: [{}, {}] } });
    expect(made).not.toHaveProperty('status.authority');
  });

  it('needs an authority while it has neither certificate nor key', () => {
    expect(plan({ certificate: undefined, key: undefined })).toEqual({ needs: 'authority', trustDomain: DOMAIN });
  });

  it.each<[missing: string, rows: Partial<IdentityRows>]>([
    ['id.east-root-ca', { certificate: undefined }],
    ['id.east-private-key', { key: undefined }],
  ])('is not ready without %s alone', (missing, rows) => {
    const message = `Secret ${missing} is missing; restore it, or delete the other`;
    expect(conditionsIn(plan(rows))).toEqual(failedWith('AuthorityIncomplete', message));
  });

  it('is not ready with a certificate that cannot be read', () => {
    const [certificate] = authorityRows({ type: 'MeshIdentity', mesh: 'default', name: 'id' }, { certPem: 'x', keyPem: '' }, NOW);
    const message = 'the Secret of the authority holds no certificate';
    expect(conditionsIn(plan({ certificate }))).toEqual(failedWith('AuthorityUnreadable', message));
  });

  it.each<[what: string, pair: AuthorityPem, problem: string]>([
    ['a key that cannot be read', { ...PAIR, keyPem: 'K' }, 'its private key cannot be read'],
    ['the key of another authority', { ...PAIR, keyPem: OTHER.keyPem }, 'its private key is not that of its certificate'],
    ['a certificate of a proxy', LEAF, 'its certificate is not one of an authority (CA:TRUE)'],
  ])('is not ready, and keeps its proxies, its MeshTrust and the last signed certificates, with %s', (_, pair, problem) => {
    const [certificate, key] = authorityRows({ type: 'MeshIdentity', mesh: 'default', name: 'id' }, pair, NOW);
    const identity = { ...identityWith(), status: { authority: 'last' } };
    const remedy = 'restore the Secrets id.east-root-ca and id.east-private-key, or delete both for a new authority';
    const made = plan({ identity, certificate, key });
    expect(conditionsIn(made)).toEqual(
      failedWith('AuthorityUnusable', `the certificate authority cannot sign: ${problem}; ${remedy}`),
    );
    expect(made).toMatchObject({ trust: null, status: { authority: 'last' } });
    expect(made.needs === 'writes' && made.status !== null && isMeshIdentityReady({ status: made.status })).toBe(true);
  });

  it.each([
    [
      'AuthorityExpired',
      '2036-11-19T16:22:25Z',
      'the certificate authority has ended at 2036-11-19T16:22:25.000Z, so proxies get no certificates; run meridian identity rotate id --mesh default in this zone',
    ],
    [
      'AuthorityNotYetValid',
      '2026-11-22T16:21:24Z',
      'the certificate authority is valid from 2026-11-22T16:21:25.000Z on, so proxies get no certificates; set the date of this machine right, or wait',
    ],
  ])('is not ready, and keeps its proxies and its MeshTrust, while its authority cannot sign: %s', (reason, now, message) => {
    const made = plan({}, new Date(now));
    const [provider, trust, ready] = conditionsIn(made);
    expect([provider, ready]).toEqual(failedWith(reason, message));
    expect(trust).toContain('MeshTrustCreated | True');
    expect(trustIn(made).spec['caBundles']).toHaveLength(1);
    expect(made.needs === 'writes' && made.status !== null && isMeshIdentityReady({ status: made.status })).toBe(true);
  });

  it('is looked at again when its authority begins and ends to be valid, and each minute while it is not: the date may be wrong', () => {
    const dates = ['2026-01-01T00:00:00Z', '2026-11-22T16:21:20Z', '2027-01-01T00:00:00Z', '2037-01-01T00:00:00Z'];
    const wakes = dates.map((now) => validityWake({ certificate: CERTIFICATE }, new Date(now)));
    const expected = ['2026-01-01T00:01:00Z', '2026-11-22T16:21:25Z', '2036-11-19T16:22:25Z', '2037-01-01T00:01:00Z'];
    expect(wakes).toEqual(expected.map((date) => Date.parse(date)));
    expect(validityWake({ certificate: undefined }, NOW)).toBeNull();
  });

  it('is ready with its authority, and gets a MeshTrust of it', () => {
    const made = plan();
    expect(conditionsIn(made)).toEqual([
      'Provider | True | ProviderInitialized | the authority can sign',
      'MeshTrustCreated | True | MeshTrustCreated | the MeshTrust holds the authority',
      'Ready | True | Ready | proxies get certificates',
    ]);
    expect(made).toMatchObject({ status: { authority: authorityId(PEM) } });
    const { spec, labels, status } = trustIn(made);
    expect(spec).toMatchObject({ trustDomain: DOMAIN, caBundles: [{ type: 'Pem' }] });
    expect(labels).toEqual({
      ...{ 'kuma.io/display-name': 'id.east', 'kuma.io/mesh': 'default', 'kuma.io/env': 'universal' },
      ...{ 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' },
    });
    expect(status).toEqual({ origin: { kri: 'kri_mid_default_east__id_' } });
  });

  it('gets no MeshTrust where it wants none', () => {
    const made = plan({ identity: identityWith({ meshTrustCreation: 'Disabled' }) });
    expect(made).toMatchObject({ trust: null, status: { authority: authorityId(PEM) } });
    expect(conditionsIn(made)[1]).toBe('MeshTrustCreated | False | MeshTrustCreationDisabled | meshTrustCreation is Disabled');
    expect(conditionsIn(made)[2]).toBe('Ready | True | Ready | proxies get certificates');
  });

  it('is not ready beside a MeshTrust of another trust domain', () => {
    const trust = make('MeshTrust', 'id', { trustDomain: 'old', caBundles: [] });
    const message = `MeshTrust id has another trust domain than ${DOMAIN}; delete it when no proxy needs it`;
    const made = plan({ trust });
    expect(conditionsIn(made)).toEqual([
      'Provider | True | ProviderInitialized | the authority can sign',
      `MeshTrustCreated | False | TrustDomainChanged | ${message}`,
      `Ready | False | TrustDomainChanged | ${message}`,
    ]);
    expect(made).toMatchObject({ trust: null });
  });

  it('needs nothing once its rows are as planned, and its status alone after another authority signs', () => {
    const identity = identityWith();
    const first = plan({ identity });
    if (first.needs !== 'writes' || first.status === null) throw new Error('the plan has no status');
    const trust = trustIn(first);
    expect(plan({ identity: { ...identity, status: first.status }, trust })).toEqual({ needs: 'nothing' });
    const otherWords = objectsOf(first.status['conditions']).map((condition) => ({ ...condition, message: 'by Kuma' }));
    const reworded = { ...identity, status: { ...first.status, conditions: otherWords } };
    expect(plan({ identity: reworded, trust })).toEqual({ needs: 'nothing' });
    const resigned = { ...identity, status: { ...first.status, authority: 'other' } };
    expect(plan({ identity: resigned, trust })).toEqual({ needs: 'writes', trust: null, status: first.status });
    expect(plan({ identity: { ...identity, status: { other: 1 } }, trust })).toMatchObject({ status: { other: 1 } });
  });
});

describe('the MeshTrust of a MeshIdentity', () => {
  const foreign = { type: 'Pem', pem: { value: 'of a person' } };
  const held = trustIn(plan());

  it('keeps what a person wrote beside the authority', () => {
    const trust = { ...held, spec: { ...held.spec, caBundles: [foreign], note: 'mine' }, labels: { team: 'a' } };
    const made = trustIn(plan({ trust }));
    expect(made.spec).toMatchObject({ caBundles: [foreign, { type: 'Pem' }], note: 'mine' });
    expect(made.labels).toEqual({ team: 'a' });
  });

  it('asks other zones to accept a next authority while it is distributed', () => {
    const progress = { waiting: 0, waitsFor: [], until: '' };
    const spec = rotationSpec({ step: 'distribute', certPem: PEM, keyPem: 'K', ...progress });
    const rotation = make('Secret', 'id-rotation', spec);
    const made = plan({ trust: held, rotation });
    expect(trustIn(made).labels['meridian.io/authority-changes']).toBe('true');
    const asked = trustIn(made);
    expect(trustIn(plan({ trust: asked })).labels).not.toHaveProperty('meridian.io/authority-changes');
  });

  it('loses the previous authority when its last certificate has ended, and no other', async () => {
    const { certPem: previousPem } = await createAuthority(DOMAIN, NOW);
    const previous = { type: 'Pem', pem: { value: previousPem } };
    const trust = { ...held, spec: { ...held.spec, caBundles: [previous, foreign, ...objectsOf(held.spec['caBundles'])] } };
    const renewing = (until: string): Partial<IdentityRows> => {
      const progress = { waiting: 0, waitsFor: [], until };
      const spec = rotationSpec({ step: 'renew', previousPem, signedAt: '', ...progress });
      return { trust, rotation: make('Secret', 'id-rotation', spec) };
    };
    expect(plan(renewing('2027-01-01T00:00:01Z'))).toMatchObject({ trust: null });
    expect(trustIn(plan(renewing('2027-01-01T00:00:00Z'))).spec['caBundles']).toEqual(trust.spec.caBundles.slice(1));
    expect(trustIn(plan({ ...renewing('2027-01-01T00:00:01Z'), trust: held })).spec['caBundles']).toHaveLength(2);
  });
});
