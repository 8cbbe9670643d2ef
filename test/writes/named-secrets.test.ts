// A document that names a Secret needs the right to use Secrets of its mesh, on every way in which documents are written; a Secret that the
// control plane keeps for itself is refused for everybody (decision 93).
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultAccess, localAccess, type Access, type WriteRule } from '../../src/http/access.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi, type Place } from '../api/test-api.ts';

type Body = { detail?: string; invalid_parameters?: { field: string; reason: string }[] };

const EVERYBODY: WriteRule = { users: [], groups: ['mesh-system:authenticated'], types: ['*'], meshes: ['*'] };
const SHOP: WriteRule = { users: [], groups: ['shop'], types: ['Secret'], meshes: ['shop'] };
const KEY = 'spec.tls.verification.clientKey.secretRef.name';

let store: TinyStore;
let api: FastifyInstance;
let groups: string[];

function start(place: Place, resources: readonly WriteRule[]): void {
  const access: Access = {
    ...localAccess,
    rules: { ...defaultAccess, resources },
    identify: async () => ({ ok: true, user: { name: 'jo', groups } }),
  };
  api = testApi(store, place, { access, addRoutes: addPolicyInspect(globalSendRules()) });
}

async function ask(method: 'PUT' | 'POST', url: string, payload: unknown): Promise<{ status: number; body: Body }> {
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const answer = await api.inject({ method, url, headers, payload: JSON.stringify(payload) });
  return { status: answer.statusCode, body: JSON.parse(answer.body || '{}') as Body };
}

const source = (name: string): JsonObject => ({ type: 'Secret', secretRef: { kind: 'Secret', name } });
const external = (name: string, mesh = 'shop'): JsonObject => ({
  ...{ type: 'MeshExternalService', mesh, name: 'bank' },
  spec: {
    match: { type: 'HostnameGenerator', port: 443 },
    endpoints: [{ address: 'bank.example', port: 443 }],
    ...(name !== '' && { tls: { enabled: true, verification: { clientCert: source(name), clientKey: source(name) } } }),
  },
});
const identity = (name: string): JsonObject => ({
  ...{ type: 'MeshIdentity', mesh: 'shop', name: 'own' },
  spec: {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { ca: { certificate: source(name), privateKey: source(name) } } },
  },
});
const bank = (mesh = 'shop'): string => `/meshes/${mesh}/meshexternalservices/bank`;

beforeEach(async () => {
  store = new TinyStore();
  groups = ['mesh-system:authenticated'];
  for (const name of ['shop', 'other'])
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name }, labels: {}, spec: {} });
  start('alone', [EVERYBODY, SHOP]);
});
afterEach(async () => api.close());

describe('without the right to Secrets of the mesh', () => {
  const ways: readonly [string, (document: JsonObject) => Promise<{ status: number; body: Body }>, prefix: string][] = [
    ['a PUT', (document) => ask('PUT', bank(), document), ''],
    ['a dry run', (document) => ask('PUT', `${bank()}?dryRun=true`, document), ''],
    ['an apply', (document) => ask('POST', '/_apply', [document]), 'documents[0].'],
    ['the dry run of an apply', (document) => ask('POST', '/_apply?dryRun=true', [document]), 'documents[0].'],
    ['a preview', (document) => ask('POST', '/_preview', [document]), 'documents[0].'],
    [
      'an apply in the form of Kubernetes',
      ({ spec = {} }) =>
        ask('POST', '/_apply', [
          {
            apiVersion: 'kuma.io/v1alpha1',
            kind: 'MeshExternalService',
            mesh: 'shop',
            metadata: { name: 'bank', labels: {} },
            spec,
          },
        ]),
      'documents[0].',
    ],
  ];

  it.each(ways)('%s that names one is 403 and names the field; without one it is taken', async (_, send, prefix) => {
    const { status, body } = await send(external('pair'));
    const field = `${prefix}${KEY.replace('clientKey', 'clientCert')}`;
    expect([status, body.invalid_parameters?.map((one) => one.field)]).toEqual([403, [field]]);
    expect(body.detail).toContain('access.static.resources with the type Secret');
    expect(await store.getMeta({ type: 'MeshExternalService', mesh: 'shop', name: 'bank' })).toBeUndefined();
    expect((await send(external(''))).status).toBeLessThan(300);
  });

  it.each(ways)('%s of a caller with the right is taken in his mesh', async (_, send) => {
    groups.push('shop');
    expect((await send(external('pair'))).status).toBeLessThan(300);
  });

  it('the right is of a mesh, and is not that to read or write Secrets', async () => {
    groups.push('shop');
    expect((await ask('PUT', bank('other'), external('pair', 'other'))).status).toBe(403);
    const secret = { type: 'Secret', mesh: 'shop', name: 'pair', data: 'YQ==' };
    expect((await ask('PUT', '/meshes/shop/secrets/pair', secret)).status).toBe(403);
    expect((await api.inject({ url: '/meshes/shop/secrets' })).statusCode).toBe(403);
    groups = ['mesh-system:admin'];
    expect((await ask('PUT', bank('other'), external('pair', 'other'))).status).toBe(201);
  });

  it('a MeshIdentity with an authority in a Secret is refused too', async () => {
    const { status, body } = await ask('PUT', '/meshes/shop/meshidentities/own', identity('ca'));
    expect([status, body.invalid_parameters?.map((one) => one.field)]).toEqual([
      403,
      ['spec.provider.bundled.ca.certificate.secretRef.name'],
    ]);
  });

  it('a rollback to a version that names one is 403', async () => {
    groups = ['mesh-system:admin'];
    for (const name of ['pair', '']) await ask('PUT', bank(), external(name));
    groups = ['mesh-system:authenticated'];
    const { status, body } = await ask('POST', `${bank()}/_rollback`, { to: 0 });
    expect([status, body.invalid_parameters?.length]).toEqual([403, 1]);
    groups.push('shop');
    expect((await ask('POST', `${bank()}/_rollback`, { to: 0 })).status).toBe(200);
  });

  it('the answer is the same for a Secret that exists and for one that does not', async () => {
    const before = await ask('PUT', bank(), external('pair'));
    await store.write({ op: 'create', key: { type: 'Secret', mesh: 'shop', name: 'pair' }, labels: {}, spec: { data: 'YQ==' } });
    expect(await ask('PUT', bank(), external('pair'))).toEqual(before);
  });
});

describe('a Secret that the control plane keeps for itself', () => {
  const create = async (type: string, name: string): Promise<void> => {
    const labels = { 'kuma.io/display-name': name };
    await store.write({
      op: 'create',
      key: { type, mesh: 'shop', name },
      labels,
      spec: type === 'Secret' ? { data: 'YQ==' } : {},
    });
  };
  beforeEach(() => {
    groups = ['mesh-system:admin'];
  });

  it.each([
    ['the key of dataplane tokens', 'dataplane-token-signing-key-shop-1', 'it is for the tokens of Dataplanes'],
    ['the list of revoked tokens', 'dataplane-token-revocations-shop', 'it is for the tokens of Dataplanes'],
    ['the authority of a MeshIdentity', 'all-root-ca', 'it is for the MeshIdentity all'],
    ['the key of a MeshIdentity', 'all-private-key', 'it is for the MeshIdentity all'],
    ['the rotation of a MeshIdentity', 'all-rotation', 'it is for the MeshIdentity all'],
    ['the state of a MeshIdentity', 'all-in-force', 'it is for the MeshIdentity all'],
    ['the key of a MeshIdentity that is gone', 'gone-private-key', 'it is for the MeshIdentity gone'],
  ])('is refused for everybody: %s', async (_, name, purpose) => {
    await create('MeshIdentity', 'all');
    await create('Secret', 'gone-root-ca');
    for (const { status, body, field } of [
      { ...(await ask('PUT', bank(), external(name))), field: KEY },
      { ...(await ask('POST', '/_apply', [external(name)])), field: `documents[0].${KEY}` },
    ]) {
      expect([status, body.invalid_parameters?.map((one) => one.field)]).toEqual([
        400,
        [field.replace('clientKey', 'clientCert'), field],
      ]);
      expect(body.invalid_parameters?.[0]?.reason).toBe(
        `must not be ${JSON.stringify(name)}, which the control plane keeps for itself: ${purpose}`,
      );
    }
  });

  it('is refused on global by the name that it has in zones', async () => {
    await api.close();
    start('global', [EVERYBODY]);
    await create('MeshIdentity', 'all');
    const name = `${hashName({ mesh: 'shop', name: 'all' })}-private-key`;
    expect((await ask('PUT', bank(), external(name))).status).toBe(400);
  });

  it('is another than a Secret of a user with such an ending', async () => {
    await create('Secret', 'client-private-key');
    expect((await ask('PUT', bank(), external('client-private-key'))).status).toBe(201);
  });
});
