// Which users may write which resources over REST, and under which host names the API accepts writes.
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenAccess } from '../../src/http/access.ts';
import type { ApiOptions } from '../../src/api/api-options.ts';
import { defaultAccess, type WriteRule } from '../../src/http/access.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const LOCAL = '127.0.0.1';
const AWAY = '192.0.2.7';

let store: TinyStore;
let api: FastifyInstance;

/** An API whose callers from elsewhere are the user jo of group shop. */
function start(resources: readonly WriteRule[], more: Partial<ApiOptions> = {}): void {
  const jo = { ok: true, claims: { name: 'jo', groups: ['shop'] }, id: '1', expiresAt: new Date(Date.now() + 60_000) } as const;
  const access = tokenAccess(
    { type: 'tokens', localhostIsAdmin: true },
    { user: async () => jo },
    { follow: () => () => undefined },
    { ...defaultAccess, resources },
  );
  api = testApi(store, 'global', { access, ...more });
}

type Request = { readonly from?: string; readonly token?: boolean; readonly host?: string };

async function call(
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  url: string,
  payload?: object,
  given: Request = {},
): Promise<number> {
  const { from = AWAY, token = false, host = 'localhost:5681' } = given;
  const headers = { host, ...(payload && { 'content-type': 'application/json' }), ...(token && { authorization: 'Bearer t' }) };
  const { statusCode } = await api.inject({ method, url, headers, remoteAddress: from, ...(payload && { payload }) });
  return statusCode;
}

const timeout = (mesh: string): object => ({
  type: 'MeshTimeout',
  mesh,
  name: 't',
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }] },
});
const mesh = (name: string): object => ({ type: 'Mesh', name });
const path = (name: string): string => `/meshes/${name}/meshtimeouts/t`;

beforeEach(async () => {
  store = new TinyStore();
  start(defaultAccess.resources);
  for (const name of ['shop', 'bank']) expect(await call('PUT', `/meshes/${name}`, mesh(name))).toBe(201);
});
afterEach(() => api.close());

describe('a rule for writes', () => {
  const SHOP: WriteRule = { users: [], groups: ['shop'], types: ['MeshTimeout', 'Mesh'], meshes: ['shop'] };

  it('is not needed by default: everybody may write', async () => {
    expect(await call('PUT', path('shop'), timeout('shop'))).toBe(201);
    expect(await call('DELETE', path('shop'))).toBe(200);
  });

  it('selects users or groups, types and meshes', async () => {
    start([SHOP]);
    const jo = { token: true };
    expect(await call('PUT', path('shop'), timeout('shop'))).toBe(403);
    expect(await call('PUT', path('shop'), timeout('shop'), jo)).toBe(201);
    expect(await call('PUT', path('bank'), timeout('bank'), jo)).toBe(403);
    expect(await call('PUT', '/meshes/shop', mesh('shop'), jo)).toBe(200);
    expect(await call('PUT', '/meshes/bank', mesh('bank'), jo)).toBe(403);
    expect(await call('PUT', '/zones/east', { type: 'Zone', name: 'east' }, jo)).toBe(403);
    expect(await call('GET', path('shop'))).toBe(200);
    expect(await call('DELETE', path('shop'))).toBe(403);
    expect(await call('DELETE', path('shop'), undefined, jo)).toBe(200);
  });

  it('applies to each document of an apply, and to a dry run', async () => {
    start([SHOP]);
    const jo = { token: true };
    expect(await call('POST', '/_apply', [timeout('shop'), timeout('bank')], jo)).toBe(403);
    expect(await call('GET', path('shop'))).toBe(404);
    expect(await call('PUT', `${path('bank')}?dryRun=true`, timeout('bank'), jo)).toBe(403);
    expect(await call('POST', '/_apply', [timeout('shop')], jo)).toBe(200);
  });

  it('decides before the content of a document is checked, and before its mesh is looked for', async () => {
    start([SHOP]);
    const jo = { token: true };
    const wrong = { ...timeout('bank'), spec: { to: 1 } };
    expect(await call('PUT', path('bank'), wrong)).toBe(403);
    expect(await call('PUT', `${path('bank')}?dryRun=true`, wrong, jo)).toBe(403);
    expect(await call('PUT', path('none'), timeout('none'), jo)).toBe(403);
    expect(await call('DELETE', path('none'), undefined, jo)).toBe(403);
    expect(await call('POST', '/_apply', [wrong], jo)).toBe(403);
    expect(await call('POST', `${path('bank')}/_rollback`, { to: 0 }, jo)).toBe(403);
    expect(await call('PUT', path('shop'), { ...timeout('shop'), spec: { to: 1 } }, jo)).toBe(400);
  });

  it('never excludes callers that may write secrets', async () => {
    start([]);
    expect(await call('PUT', path('shop'), timeout('shop'), { token: true })).toBe(403);
    expect(await call('PUT', path('shop'), timeout('shop'), { from: LOCAL })).toBe(201);
  });
});

describe('a mesh with secrets', () => {
  const secret = { type: 'Secret', mesh: 'shop', name: 'card', data: 'YQ==' };

  it('is deleted with its secrets, by callers that may write secrets', async () => {
    expect(await call('PUT', '/meshes/shop/secrets/card', secret, { from: LOCAL })).toBe(201);
    expect(await call('PUT', '/meshes/bank/secrets/card', { ...secret, mesh: 'bank' }, { from: LOCAL })).toBe(201);
    expect(await call('DELETE', '/meshes/shop')).toBe(403);
    expect(await store.count({ type: 'Secret', mesh: 'shop' })).toBeGreaterThan(0);
    expect(await call('DELETE', '/meshes/shop', undefined, { from: LOCAL })).toBe(200);
    expect((await store.list({ type: 'Secret', mesh: 'shop' })).map(({ name }) => name)).not.toContain('card');
    expect((await store.list({ type: 'Secret', mesh: 'bank' })).map(({ name }) => name)).toContain('card');
  });
});

describe('the header Host', () => {
  it.each(['localhost', 'localhost:5681', 'LOCALHOST', '127.0.0.1:5681', '[::1]:5681', '10.1.2.3:5681'])(
    'may be %s for a write',
    async (host) => {
      expect(await call('PUT', path('shop'), timeout('shop'), { from: LOCAL, host })).toBe(201);
    },
  );

  it.each(['evil.example', 'evil.example:5681', 'localhost.evil.example', '127.0.0.1.evil.example', 'a b'])(
    'must not be %j for a write, even from the same machine',
    async (host) => {
      expect(await call('PUT', path('shop'), timeout('shop'), { from: LOCAL, host })).toBe(403);
      expect(await call('DELETE', '/meshes/shop', undefined, { from: LOCAL, host })).toBe(403);
      expect(await call('POST', '/_apply', [timeout('shop')], { from: LOCAL, host })).toBe(403);
      expect(await call('GET', '/meshes/shop', undefined, { from: LOCAL, host })).toBe(200);
    },
  );

  it('may be a host of apiServer.allowedHosts', async () => {
    start(defaultAccess.resources, { allowedHosts: ['Global.example'] });
    expect(await call('PUT', path('shop'), timeout('shop'), { host: 'global.example:5681' })).toBe(201);
    expect(await call('PUT', path('shop'), timeout('shop'), { host: 'other.example' })).toBe(403);
    start(defaultAccess.resources, { allowedHosts: ['*'] });
    expect(await call('PUT', path('shop'), timeout('shop'), { host: 'other.example' })).toBe(200);
  });

  it('is named in the refusal with a remedy, so that a client gives no advice about tokens', async () => {
    const headers = { host: 'other.example' };
    const { body } = await api.inject({ method: 'DELETE', url: '/meshes/shop', remoteAddress: LOCAL, headers });
    const reason = expect.stringContaining('apiServer.allowedHosts') as string;
    expect(JSON.parse(body)).toMatchObject({
      status: 403,
      title: 'Access Denied',
      invalid_parameters: [{ field: 'Host', reason }],
    });
  });

  it('must occur once', async () => {
    await api.listen({ host: LOCAL, port: 0 });
    const { port } = api.server.address() as { port: number };
    const socket = connect(port, LOCAL);
    socket.end('GET /meshes HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\nConnection: close\r\n\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('Host: must be given once');
  });
});
