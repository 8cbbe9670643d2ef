// The history of a resource over REST: who wrote which version, what it changed, and the way back to it.
import type { FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { MeridianError } from '../../src/base/errors.ts';
import { localAccess, type Access } from '../../src/http/access.ts';
import { testApi } from './test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

type Spec = { to: { default: { connectionTimeout: string } }[] };
type Body = {
  items: { version: number; changed?: string[] }[];
  next: number | null;
  etag?: string;
  title?: string;
  detail?: string;
  missing?: object;
  spec?: Spec;
  resource?: { spec: Spec };
  invalid_parameters?: { field: string }[];
};
type Line = { id: number; type: string };

const URL = '/meshes/shop/meshtimeouts/slow';
let store: TinyStore;
let api: FastifyInstance;
let user = 'alice';
const access: Access = {
  ...localAccess,
  identify: async () => ({
    ok: true,
    user: { name: user, groups: user === 'admin' ? ['mesh-system:admin'] : ['mesh-system:authenticated'] },
  }),
};

beforeEach(async () => {
  user = 'alice';
  store = new TinyStore(() => new Date());
  api = testApi(store, 'global', { access });
  await ask('PUT', '/meshes/shop', { type: 'Mesh', name: 'shop', skipCreatingInitialPolicies: ['*'] });
});

async function ask(
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  url: string,
  payload?: object,
): Promise<{ status: number; body: Body }> {
  const answer = await api.inject({ method, url, headers: { host: 'localhost' }, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: JSON.parse(answer.body || '{}') as Body };
}

const put = (seconds: number, labels: Record<string, string> = {}): Promise<{ status: number }> =>
  ask('PUT', URL, {
    ...{ type: 'MeshTimeout', mesh: 'shop', name: 'slow', labels },
    spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: `${String(seconds)}s` } }] },
  });
const timeoutNow = async (): Promise<unknown> => (await ask('GET', URL)).body.spec?.to[0]?.default.connectionTimeout;

describe('the history of a resource', () => {
  it('says who wrote each version and which fields it changed', async () => {
    await put(1);
    user = 'bob';
    await put(2, { team: 'a' });
    const { status, body } = await ask('GET', `${URL}/_history`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      exists: true,
      next: null,
      items: [
        { version: 1, by: 'bob', action: 'updated' },
        { version: 0, by: 'alice', action: 'created', via: 'api' },
      ],
    });
    expect(body.items[0]).toMatchObject({
      etag: '1',
      changes: 2,
      changed: ['/labels/team', '/spec/to/0/default/connectionTimeout'],
    });
    expect(body.items[1]?.changed).toBeUndefined();
  });

  it('has the documents of an apply too, with their author', async () => {
    user = 'bob';
    await ask('POST', '/_apply', [
      {
        type: 'MeshTimeout',
        mesh: 'shop',
        name: 'slow',
        spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '9s' } }] },
      },
    ]);
    expect((await ask('GET', `${URL}/_history`)).body.items).toMatchObject([{ version: 0, by: 'bob' }]);
  });

  it('has the ETag of the resource while it exists, for a write that must not lose another one', async () => {
    await put(1);
    const { etag } = (await api.inject({ url: URL, headers: { host: 'localhost' } })).headers;
    expect((await ask('GET', `${URL}/_history`)).body.etag).toBe(etag);
    await ask('DELETE', URL);
    expect((await ask('GET', `${URL}/_history`)).body.etag).toBeUndefined();
  });

  it('comes page by page', async () => {
    for (let n = 1; n <= 45; n += 1) await put(n);
    const versions: number[] = [];
    for (let before = ''; ;) {
      const { body } = await ask('GET', `${URL}/_history?size=22${before}`);
      versions.push(...body.items.map(({ version }) => version));
      expect(body.items.length).toBeLessThanOrEqual(22);
      if (body.next === null) break;
      before = `&before=${String(body.next)}`;
    }
    expect(versions).toEqual(Array.from({ length: 45 }, (_, index) => 44 - index));
  });

  it('has the document of a version, and its difference to the version before it or to another', async () => {
    for (const n of [1, 2, 3]) await put(n);
    const one = (await ask('GET', `${URL}/_history/2`)).body;
    expect(one.resource?.spec.to[0]?.default.connectionTimeout).toBe('3s');
    expect(one).toMatchObject({ from: 1, diff: [{ op: 'replace', path: '/spec/to/0/default/connectionTimeout', value: '3s' }] });
    expect((await ask('GET', `${URL}/_history/0?from=2`)).body).toMatchObject({ version: 0, from: 2, diff: [{ value: '1s' }] });
  });

  it('answers an unknown version with the versions that are kept', async () => {
    for (const n of [1, 2, 3]) await put(n);
    await store.pruneVersions({ versions: 2, replacedBefore: new Date(0) }, { counted: 0, aged: 0 });
    for (const version of ['0', '3']) {
      const { status, body } = await ask('GET', `${URL}/_history/${version}`);
      expect(status).toBe(404);
      expect(body.detail).toMatch(new RegExp(`version ${version} of .*"slow".*: kept are 1, 2$`));
    }
    expect((await ask('GET', `${URL}/_history/x`)).body.invalid_parameters).toMatchObject([{ field: 'version' }]);
    expect((await ask('GET', `${URL}/_history/1?from=x`)).body.invalid_parameters).toMatchObject([{ field: 'from' }]);
  });

  it('is missing for a resource that never existed', async () => {
    const { status, body } = await ask('GET', '/meshes/shop/meshtimeouts/never/_history');
    expect(status).toBe(404);
    expect(body.missing).toEqual({ type: 'MeshTimeout', mesh: 'shop', name: 'never' });
  });

  it('stays after a deletion', async () => {
    await put(1);
    user = 'bob';
    await ask('DELETE', URL);
    const { body } = await ask('GET', `${URL}/_history`);
    expect(body).toMatchObject({ exists: false, items: [{ version: 1, action: 'deleted', by: 'bob' }, { version: 0 }] });
    expect((await ask('GET', `${URL}/_history/1`)).body.resource).toBeUndefined();
  });

  it('says where the history of a copy is', async () => {
    await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name: 'east' }, labels: {}, spec: {} });
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const owner = { type: 'Zone', mesh: '', name: 'east' };
    await store.write({
      op: 'create',
      key: { type: 'MeshTimeout', mesh: 'shop', name: 'slow' },
      labels,
      spec: {},
      owner,
      syncVersion: 'v1',
    });
    expect((await ask('GET', `${URL}/_history`)).body).toEqual({
      ...{ exists: true, etag: expect.any(String) as string, home: 'zone east', items: [], next: null },
    });
  });

  it('of a secret is for admins, and has none of its data', async () => {
    user = 'admin';
    const secret = '/meshes/shop/secrets/key';
    for (const data of ['b25l', 'dHdv']) await ask('PUT', secret, { type: 'Secret', mesh: 'shop', name: 'key', data });
    const { body } = await ask('GET', `${secret}/_history`);
    expect(body.items).toMatchObject([{ version: 1, by: 'admin', isHidden: true }, { version: 0 }]);
    const texts = [body, (await ask('GET', `${secret}/_history/0`)).body].map((answer) => JSON.stringify(answer));
    expect(texts.join(' ')).not.toMatch(/b25l|dHdv/);
    const refused = await ask('POST', `${secret}/_rollback`, { to: 0 });
    expect(refused).toMatchObject({
      status: 400,
      body: { invalid_parameters: [{ field: 'to', reason: expect.stringContaining('not kept') as string }] },
    });
    user = 'alice';
    for (const [method, path] of [
      ['GET', '_history'],
      ['GET', '_history/0'],
      ['POST', '_rollback'],
    ] as const)
      expect((await ask(method, `${secret}/${path}`, method === 'POST' ? { to: 0 } : undefined)).status).toBe(403);
  });
});

describe('a rollback', () => {
  it('writes an earlier version again, as a version of its own', async () => {
    for (const n of [1, 2, 3]) await put(n);
    user = 'bob';
    const { status, body } = await ask('POST', `${URL}/_rollback`, { to: 0 });
    expect({ status, body }).toMatchObject({ status: 200, body: { result: 'updated', version: 3, restored: 0 } });
    expect(await timeoutNow()).toBe('1s');
    expect((await ask('GET', `${URL}/_history`)).body.items[0]).toMatchObject({ version: 3, by: 'bob', restored: 0 });
  });

  it('shows with dryRun what it would change, and changes nothing', async () => {
    for (const n of [1, 2]) await put(n);
    const { body } = await ask('POST', `${URL}/_rollback?dryRun=true`, { to: 0 });
    expect(body).toMatchObject({ dryRun: true, result: 'updated', diff: [{ value: '1s' }] });
    expect(await timeoutNow()).toBe('2s');
  });

  it('to the present version changes nothing', async () => {
    for (const n of [1, 2]) await put(n);
    expect((await ask('POST', `${URL}/_rollback`, { to: 1 })).body).toMatchObject({ result: 'unchanged', version: 1 });
  });

  it('brings a deleted resource back', async () => {
    await put(1);
    await ask('DELETE', URL);
    expect(await ask('POST', `${URL}/_rollback`, { to: 1 })).toMatchObject({
      status: 400,
      body: { invalid_parameters: [{ field: 'to', reason: expect.stringContaining('is a deletion') as string }] },
    });
    expect(await ask('POST', `${URL}/_rollback`, { to: 0 })).toMatchObject({ status: 201, body: { result: 'created' } });
    expect(await timeoutNow()).toBe('1s');
    expect((await ask('GET', `${URL}/_history`)).body.items[0]).toMatchObject({
      version: 2,
      etag: '0',
      action: 'created',
      restored: 0,
    });
  });

  it('to an invalid version is refused with the field and the reason, and changes nothing', async () => {
    const key = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
    const labels = { 'kuma.io/mesh': 'shop', 'kuma.io/origin': 'global' };
    await store.write({
      op: 'create',
      key,
      labels,
      spec: { to: [{ targetRef: { kind: 'NoLonger' }, default: {} }] },
      by: { user: 'alice' },
    });
    await put(2);
    const { status, body } = await ask('POST', `${URL}/_rollback`, { to: 0 });
    expect(status).toBe(400);
    expect(body.title).toBe('Could not roll back to version 0');
    expect(body.invalid_parameters?.[0]).toMatchObject({ field: 'spec.to[0].targetRef.kind' });
    expect(await timeoutNow()).toBe('2s');
  });

  it('into a mesh that is gone says so', async () => {
    await put(1);
    user = 'admin';
    await ask('DELETE', '/meshes/shop');
    const { status, body } = await ask('POST', `${URL}/_rollback`, { to: 0 });
    expect({ status, title: body.title, missing: body.missing }).toEqual({
      status: 404,
      title: 'Could not roll back to version 0',
      missing: { type: 'Mesh', name: 'shop' },
    });
  });

  it('asks for a version, and names the kept ones for another', async () => {
    await put(1);
    expect((await ask('POST', `${URL}/_rollback`, {})).body.invalid_parameters).toMatchObject([{ field: 'to' }]);
    const unknown = await ask('POST', `${URL}/_rollback`, { to: 7 });
    expect(unknown.status).toBe(404);
    expect(unknown.body.detail).toContain('kept are 0');
  });

  it('heeds If-Match and the right to write', async () => {
    for (const n of [1, 2]) await put(n);
    const answer = await api.inject({
      method: 'POST',
      url: `${URL}/_rollback`,
      payload: { to: 0 },
      headers: { host: 'localhost', 'if-match': '"0"' },
    });
    expect(answer.statusCode).toBe(409);
    const rules = { ...access.rules, resources: [] };
    api = testApi(store, 'global', { access: { ...access, rules } });
    expect((await ask('POST', `${URL}/_rollback`, { to: 0 })).status).toBe(403);
    expect(await timeoutNow()).toBe('2s');
  });

  it('of a type that this control plane does not write is refused', async () => {
    expect((await ask('POST', '/meshes/shop/dataplanes/dp-1/_rollback', { to: 0 })).status).toBe(405);
  });
});

describe('the export of the history', () => {
  const lines = async (query = ''): Promise<Line[]> => {
    const answer = await api.inject({ url: `/_history${query}`, headers: { host: 'localhost' } });
    expect(answer.headers['content-type']).toContain('application/x-ndjson');
    return answer.body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  };

  it('has each version of all resources as a line of JSON, in the order of the writes', async () => {
    for (let n = 1; n <= 30; n += 1) await put(n);
    await ask('DELETE', URL);
    const all = await lines();
    expect(all).toHaveLength(32);
    expect(all[0]).toMatchObject({ type: 'Mesh', name: 'shop', version: 0, action: 'created', by: 'alice' });
    expect(all[30]).toMatchObject({
      type: 'MeshTimeout',
      mesh: 'shop',
      name: 'slow',
      version: 29,
      action: 'updated',
      spec: { to: [{}] },
    });
    expect(all[31]).toMatchObject({ version: 30, action: 'deleted' });
    expect(await lines(`?after=${String(all[30]?.id)}`)).toEqual([all[31]]);
  });

  it('leaves out types that this control plane does not know', async () => {
    const key = { type: 'TrafficRoute', mesh: 'shop', name: 'route-all' };
    await store.write({ op: 'create', key, labels: {}, spec: {}, by: { user: 'psql' } });
    await put(1);
    expect((await lines()).map(({ type }) => type)).toEqual(['Mesh', 'MeshTimeout']);
  });

  it('says which transaction it waits for in vain', async () => {
    store.settledVersion = () => Promise.reject(new MeridianError('conflict', 'a transaction is still open (pid 7)'));
    const { statusCode, body } = await api.inject({ url: '/_history', headers: { host: 'localhost' } });
    expect([statusCode, body]).toEqual([503, expect.stringContaining('a transaction is still open (pid 7)')]);
  });

  it('has the secrets only for callers who may read them, without their data', async () => {
    user = 'admin';
    await ask('PUT', '/meshes/shop/secrets/key', { type: 'Secret', mesh: 'shop', name: 'key', data: 'b25l' });
    expect((await lines()).map(({ type }) => type)).toEqual(['Mesh', 'Secret']);
    expect(JSON.stringify(await lines())).not.toContain('b25l');
    user = 'alice';
    expect((await lines()).map(({ type }) => type)).toEqual(['Mesh']);
  });
});
