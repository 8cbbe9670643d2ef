// `POST /_preview`: what documents would change, and that this is what then happens.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../src/answers/answers.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { MAX_PREVIEWED } from '../../src/inspect/preview-routes.ts';
import { MAX_COMPARED } from '../../src/inspect/preview.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

type Preview = Answer<'Preview'>;
let store: TinyStore;
let app: FastifyInstance;

const ofZone = (zone: string, name: string) => ({
  ...{ 'kuma.io/origin': 'zone', 'kuma.io/zone': zone, 'kuma.io/mesh': 'shop', 'kuma.io/display-name': name },
});

async function dataplane(name: string, zone = 'east'): Promise<void> {
  const inbound = [{ port: 8080, name: 'main', protocol: 'http', tags: { 'kuma.io/service': name } }];
  await store.write({
    ...{ op: 'create', key: { type: 'Dataplane', mesh: 'shop', name }, labels: { ...ofZone(zone, name), app: name } },
    ...{ spec: { networking: { address: '192.0.2.1', inbound } }, owner: { type: 'Zone', mesh: '', name: zone } },
  });
}

beforeEach(async () => {
  store = new TinyStore().withZones('east', 'west');
  app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()) });
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  for (const name of ['cart', 'catalog']) await dataplane(name);
  const selector = { dataplaneLabels: { matchLabels: { app: 'catalog' } } };
  await store.write({
    ...{ op: 'create', key: { type: 'MeshService', mesh: 'shop', name: 'catalog' }, labels: ofZone('east', 'catalog') },
    ...{ spec: { selector, ports: [{ port: 80, name: 'main', appProtocol: 'http', targetPort: 8080 }] } },
    owner: { type: 'Zone', mesh: '', name: 'east' },
  });
});
afterEach(async () => app.close());

const timeout = (name: string, seconds: number, more: JsonObject = {}): JsonObject => ({
  ...{ type: 'MeshTimeout', mesh: 'shop', name },
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: `${String(seconds)}s` } }], ...more },
});

async function send(method: 'GET' | 'POST', url: string, payload?: unknown, remoteAddress = '127.0.0.1') {
  const { statusCode, body } = await app.inject({
    ...{ method, url, remoteAddress },
    ...(payload !== undefined && { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) }),
  });
  return { status: statusCode, answer: JSON.parse(body) as unknown };
}
const preview = async (...documents: JsonObject[]): Promise<Preview> => {
  const { status, answer } = await send('POST', '/_preview', documents);
  expect([status, answer]).toEqual([200, expect.anything()]);
  return answer as Preview;
};
const apply = async (...documents: JsonObject[]): Promise<void> =>
  void expect(await send('POST', '/_apply', documents)).toMatchObject({ status: 200 });
const changesOf = ({ proxies }: Preview, name: string) =>
  proxies.items.find(({ dataplane: { name: found } }) => found === name)?.changes ?? [];

describe('a preview', () => {
  it('says which zones get a document, under which name, and which values change for whom', async () => {
    const { items, proxies } = await preview(timeout('slow', 3));
    expect(items).toMatchObject([{ type: 'MeshTimeout', name: 'slow', result: 'created', sentTo: 2 }]);
    expect(items[0]?.sync.targets).toMatchObject([
      { to: 'east', isSent: true, name: expect.stringMatching(/^slow-/) as string, zone: { connection: 'offline' } },
      { to: 'west', isSent: true },
    ]);
    expect(proxies).toMatchObject({ candidates: 2, compared: 2, changed: 2 });
    const [change] = changesOf({ items, proxies }, 'cart');
    expect(change).toMatchObject({ on: 'outbound', kind: 'MeshTimeout', path: 'connectionTimeout', before: null });
    expect(change?.after).toMatchObject({ value: '3s', origins: [{ name: 'slow' }] });
  });

  it('writes nothing', async () => {
    await preview(timeout('slow', 3));
    expect(await store.get({ type: 'MeshTimeout', mesh: 'shop', name: 'slow' })).toBeUndefined();
    expect((await send('GET', '/meshes/shop/meshtimeouts/slow')).status).toBe(404);
  });

  it('names the value before and its policy, and matches the effect of the write', async () => {
    await apply(timeout('slow', 3));
    const targetRef = { kind: 'Dataplane', labels: { app: 'cart' } };
    const documents = [timeout('cart-only', 1, { targetRef })];
    const answer = await preview(...documents);
    expect(answer.proxies).toMatchObject({ candidates: 1, changed: 1 });
    const [change] = changesOf(answer, 'cart');
    expect(change).toMatchObject({
      ...{ before: { value: '3s', origins: [{ name: 'slow' }] }, after: { value: '1s', origins: [{ name: 'cart-only' }] } },
    });
    await apply(...documents);
    const { outbounds } = (await send('GET', '/meshes/shop/dataplanes/cart/_effective')).answer as Answer<'Effective'>;
    const ofCatalog = outbounds.find(({ kri }) => kri === change?.kri)?.policies.find(({ kind }) => kind === 'MeshTimeout');
    expect(ofCatalog?.values).toEqual([{ path: 'connectionTimeout', ...change?.after }]);
    const again = await preview(...documents);
    expect(again.items).toMatchObject([{ result: 'unchanged', diff: [] }]);
    expect(again.proxies).toEqual({ candidates: 0, compared: 0, changed: 0, items: [] });
  });

  it('shows what an update takes away, and only for the proxies that lose it', async () => {
    await apply(timeout('slow', 3));
    const targetRef = { kind: 'Dataplane', labels: { app: 'cart' } };
    const answer = await preview(timeout('slow', 3, { targetRef }));
    expect(answer.proxies).toMatchObject({ candidates: 2, changed: 1 });
    expect(changesOf(answer, 'catalog')).toMatchObject([{ before: { value: '3s' }, after: null }]);
  });

  it('looks at documents together: a route and the policy on it', async () => {
    const backendRefs = [{ kind: 'MeshService', labels: { 'kuma.io/display-name': 'catalog' }, port: 80, weight: 1 }];
    const matches = [{ path: { type: 'PathPrefix', value: '/slow' } }];
    const to = [
      {
        targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'catalog' } },
        rules: [{ matches, default: { backendRefs } }],
      },
    ];
    const route = { type: 'MeshHTTPRoute', mesh: 'shop', name: 'slow-path', spec: { to } };
    const onRoute = {
      ...{ type: 'MeshTimeout', mesh: 'shop', name: 'of-route' },
      spec: {
        to: [{ targetRef: { kind: 'MeshHTTPRoute', name: 'slow-path' }, default: { http: { requestTimeout: '9s' } } }],
      },
    };
    const changes = changesOf(await preview(route, onRoute), 'cart').filter(({ on }) => on === 'route');
    const slow = changes.filter((one) => JSON.stringify(one.matches).includes('/slow'));
    expect(slow.map(({ kind, path }) => `${kind} ${path}`)).toEqual(
      expect.arrayContaining(['MeshHTTPRoute backendRefs', 'MeshTimeout http.requestTimeout']),
    );
    expect(slow.find(({ kind }) => kind === 'MeshTimeout')?.after?.value).toBe('9s');
  });

  it('compares the first of very many proxies, and says how many', async () => {
    for (let at = 0; at < MAX_COMPARED; at += 1) await dataplane(`more-${String(at).padStart(3, '0')}`, 'west');
    const { candidates, compared, items } = (await preview(timeout('slow', 3))).proxies;
    expect({ candidates, compared, listed: items.length }).toEqual({
      ...{ candidates: MAX_COMPARED + 2, compared: MAX_COMPARED, listed: MAX_COMPARED },
    });
  });

  it('of a mesh that does not exist yet has no proxies', async () => {
    const { items, proxies } = await preview({ type: 'Mesh', name: 'new' }, { ...timeout('slow', 3), mesh: 'new' });
    expect(items.map(({ result }) => result)).toEqual(['created', 'created']);
    expect(proxies).toMatchObject({ candidates: 0, compared: 0 });
  });
});

describe('a preview of a deletion', () => {
  const remove = async (...named: JsonObject[]): Promise<Preview> => {
    const { status, answer } = await send('POST', '/_preview', { delete: named });
    expect([status, answer]).toEqual([200, expect.anything()]);
    return answer as Preview;
  };
  const slow = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };

  it('lists the zones that lose the resource and the values that proxies lose, and matches the effect of the deletion', async () => {
    await apply(timeout('zero', 9), timeout('slow', 3));
    const answer = await remove(slow);
    expect(answer.items).toMatchObject([{ ...slow, result: 'deleted', version: 0, sentTo: 2 }]);
    expect(answer.items[0]?.sync.targets).toMatchObject([{ to: 'east', isSent: true }, { to: 'west' }]);
    expect(answer.proxies).toMatchObject({ candidates: 2, changed: 2 });
    const [change] = changesOf(answer, 'cart');
    expect(change).toMatchObject({ before: { value: '3s' }, after: { value: '9s', origins: [{ name: 'zero' }] } });
    expect(await store.get(slow)).toBeDefined();
    await app.inject({ method: 'DELETE', url: '/meshes/shop/meshtimeouts/slow' });
    const { outbounds } = (await send('GET', '/meshes/shop/dataplanes/cart/_effective')).answer as Answer<'Effective'>;
    const ofCatalog = outbounds.find(({ kri }) => kri === change?.kri)?.policies.find(({ kind }) => kind === 'MeshTimeout');
    expect(ofCatalog?.values).toEqual([{ path: 'connectionTimeout', ...change?.after }]);
  });

  it('can be together with documents', async () => {
    await apply(timeout('slow', 3));
    const { status, answer } = await send('POST', '/_preview', { documents: [timeout('new', 3)], delete: [slow] });
    expect(status).toBe(200);
    expect((answer as Preview).items.map(({ name, result }) => `${name} ${result}`)).toEqual(['new created', 'slow deleted']);
    expect((answer as Preview).proxies).toMatchObject({ candidates: 2, changed: 0 });
  });

  it('of a Dataplane in its zone says that the proxy goes', async () => {
    const zone = testApi(store, 'alone', { addRoutes: addPolicyInspect(globalSendRules()) });
    const inbound = [{ port: 8080, name: 'main', protocol: 'http' }];
    const key = { type: 'Dataplane', mesh: 'shop', name: 'own' };
    await store.write({ op: 'create', key, labels: {}, spec: { networking: { address: '192.0.2.9', inbound } } });
    const { statusCode, body } = await zone.inject({ method: 'POST', url: '/_preview', payload: { delete: [key] } });
    expect([statusCode, JSON.parse(body)]).toMatchObject([
      200,
      { proxies: { candidates: 1, items: [{ dataplane: { name: 'own' }, isNew: false, isGone: true }] } },
    ]);
    await zone.close();
  });

  it('of a Mesh counts the resources deleted with it', async () => {
    await apply({ type: 'Mesh', name: 'small' }, { ...timeout('slow', 3), mesh: 'small' });
    const { items, proxies } = await remove({ type: 'Mesh', name: 'small' });
    expect(items).toMatchObject([{ type: 'Mesh', name: 'small', result: 'deleted' }]);
    expect(items[0]?.takes).toContainEqual({ type: 'MeshTimeout', total: expect.any(Number) as number });
    expect(proxies).toMatchObject({ candidates: 0 });
  });

  it('is refused as the deletion would be', async () => {
    const refused = async (body: object, remoteAddress?: string): Promise<[number, string]> => {
      const { status, answer } = await send('POST', '/_preview', body, remoteAddress);
      return [status, JSON.stringify(answer)];
    };
    expect(await refused({ delete: [slow] })).toEqual([404, expect.stringContaining('slow')]);
    expect(await refused({ delete: [{ type: 'Mesh', name: 'shop' }] })).toEqual([
      400,
      expect.stringContaining('the mesh still has Dataplanes'),
    ]);
    expect(await refused({ delete: [{ type: 'MeshTimeout', mesh: 'shop' }] })).toEqual([
      400,
      expect.stringContaining('delete[0].name'),
    ]);
    expect(await refused({ delete: [] })).toEqual([400, expect.anything()]);
    await apply(timeout('slow', 3), { type: 'Secret', mesh: 'shop', name: 'key', data: 'a2V5' });
    expect(await refused({ documents: [timeout('slow', 4)], delete: [slow] })).toEqual([
      400,
      expect.stringContaining('is also one of the documents'),
    ]);
    for (const name of ['key', 'none'])
      expect((await refused({ delete: [{ type: 'Secret', mesh: 'shop', name }] }, '192.0.2.7'))[0]).toBe(403);
  });

  it('of a Mesh with secrets is refused to a caller who may not delete them', async () => {
    await apply({ type: 'Mesh', name: 'small' });
    const mesh = { delete: [{ type: 'Mesh', name: 'small' }] };
    await apply({ type: 'Secret', mesh: 'small', name: 'key', data: 'a2V5' });
    expect((await send('POST', '/_preview', mesh)).status).toBe(200);
    const { status, answer } = await send('POST', '/_preview', mesh, '192.0.2.7');
    const deleted = await app.inject({ method: 'DELETE', url: '/meshes/small', remoteAddress: '192.0.2.7' });
    expect([status, answer]).toEqual([403, deleted.json()]);
  });
});

describe('a preview is refused', () => {
  it('with the field, as apply would be', async () => {
    const bad = timeout('slow', 3, { targetRef: { kind: 'Nothing' } });
    const [previewed, applied] = [await send('POST', '/_preview', [bad]), await send('POST', '/_apply', [bad])];
    expect(previewed).toEqual({ status: 400, answer: applied.answer });
  });

  it('for a caller who may not write the documents', async () => {
    const secret = { type: 'Secret', mesh: 'shop', name: 'key', data: 'a2V5' };
    expect((await send('POST', '/_preview', [secret])).status).toBe(200);
    expect((await send('POST', '/_preview', [secret], '192.0.2.7')).status).toBe(403);
  });

  it('above the number of documents', async () => {
    const many = Array.from({ length: MAX_PREVIEWED + 1 }, (_, at) => timeout(`t-${String(at)}`, 1));
    const { status, answer } = await send('POST', '/_preview', many);
    expect({ status, text: JSON.stringify(answer) }).toEqual({
      ...{ status: 400, text: expect.stringContaining(`at most ${String(MAX_PREVIEWED)} documents`) as string },
    });
  });
});

it('a zone previews its own Dataplane as a new proxy', async () => {
  const zone = testApi(store, 'alone', { addRoutes: addPolicyInspect(globalSendRules()) });
  const inbound = [{ port: 8080, name: 'main', protocol: 'http' }];
  const document = { type: 'Dataplane', mesh: 'shop', name: 'fresh', networking: { address: '192.0.2.9', inbound } };
  await store.write({
    ...{ op: 'create', key: { type: 'MeshTimeout', mesh: 'shop', name: 'slow' }, labels: {} },
    spec: timeout('slow', 3)['spec'] as JsonObject,
  });
  const { statusCode, body } = await zone.inject({ method: 'POST', url: '/_preview', payload: [document] });
  expect([statusCode, JSON.parse(body)]).toMatchObject([200, { proxies: { changed: 1, items: [{ isNew: true }] } }]);
  await zone.close();
});
