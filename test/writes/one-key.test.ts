// Two resources can have one stored name: `x` of namespace `y`, and `x.y`. The second is refused on every path.
import { beforeEach, describe, expect, it } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const spec = (seconds: number): JsonObject => ({
  targetRef: { kind: 'Mesh' },
  to: [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: `${String(seconds)}s` } } }],
});
type Doc = { readonly name: string; readonly labels: Labels };
const inY: Doc = { name: 'x', labels: { [label.namespace]: 'y' } };
const plain: Doc = { name: 'x.y', labels: {} };

let store: TinyStore;
beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
});

type Answer = { readonly status: number; readonly fields: readonly string[]; readonly text: string };

async function send(url: string, method: 'PUT' | 'POST', payload: object): Promise<Answer> {
  const answer = await testApi(store, 'global').inject({ method, url, payload });
  const { invalid_parameters: faults = [] } = answer.json<{ invalid_parameters?: { field: string }[] }>();
  return { status: answer.statusCode, fields: faults.map(({ field }) => field), text: answer.body };
}

const bodyOf = ({ name, labels }: Doc, seconds = 1): JsonObject => ({
  ...{ type: 'MeshTimeout', mesh: 'default', name, labels: { ...labels }, spec: spec(seconds) },
});
const put = (doc: Doc, query = '', at = doc.name): Promise<Answer> =>
  send(`/meshes/default/meshtimeouts/${at}${query}`, 'PUT', bodyOf(doc, 2));
const apply = (docs: readonly JsonObject[], query = ''): Promise<Answer> => send(`/_apply${query}`, 'POST', docs);
const stored = async (name: string): Promise<unknown> => await store.get({ type: 'MeshTimeout', mesh: 'default', name });

describe.each([
  ['x of namespace y, then x.y', inY, plain],
  ['x.y, then x of namespace y', plain, inY],
  ['x.y, then x.y of namespace y', plain, { name: 'x.y', labels: inY.labels }],
])('%s', (_, first, second) => {
  it.each<[string, () => Promise<Answer>, string]>([
    ['PUT', () => put(second), 'name'],
    ['a dry PUT', () => put(second, '?dryRun=true'), 'name'],
    ['_apply', () => apply([bodyOf(second)]), 'documents[0].name'],
    ['a dry _apply', () => apply([bodyOf(second)], '?dryRun=true'), 'documents[0].name'],
  ])('is refused in %s with the name field, and changes nothing', async (_way, again, field) => {
    expect((await put(first)).status).toBe(201);
    const before = await stored('x.y');
    expect(await again()).toMatchObject({ status: 400, fields: [field], text: expect.stringContaining('x.y') as string });
    expect(await stored('x.y')).toEqual(before);
    // The first can still be changed.
    expect((await put(first)).status).toBe(200);
  });
});

describe('one call', () => {
  it('may have one name in two namespaces and without a namespace', async () => {
    const docs = [inY, { name: 'x', labels: { [label.namespace]: 'z' } }, { name: 'x', labels: {} }];
    expect((await apply(docs.map((doc) => bodyOf(doc)))).status).toBe(200);
    for (const name of ['x', 'x.y', 'x.z']) expect(await stored(name)).toMatchObject({ labels: { [label.displayName]: 'x' } });
  });

  it('may have one name in two namespaces in Kubernetes form', async () => {
    const docs = ['y', 'z', 'kuma-system'].map((namespace): JsonObject => {
      return { apiVersion: 'kuma.io/v1alpha1', kind: 'MeshTimeout', metadata: { name: 'x', namespace }, spec: spec(1) };
    });
    expect((await apply(docs)).status).toBe(200);
    for (const name of ['x', 'x.y', 'x.z']) expect(await stored(name)).toBeDefined();
  });

  it('may not have two resources with one stored name, or one resource twice', async () => {
    const refused = await apply([
      bodyOf(inY),
      bodyOf(plain),
      bodyOf({ name: 'q', labels: {} }),
      bodyOf({ name: 'q', labels: {} }),
    ]);
    expect(refused).toMatchObject({ status: 400, fields: ['documents[1]', 'documents[3]'] });
    expect(refused.text).toContain('has the stored name \\"x.y\\", as has documents[0]');
    expect(refused.text).toContain('is the same resource as documents[2]');
    const { invalid_parameters } = JSON.parse(refused.text) as { invalid_parameters: { related: string }[] };
    expect(invalid_parameters.map(({ related }) => related)).toEqual(['documents[0]', 'documents[2]']);
  });
});

describe('a name with a dot', () => {
  it('is refused, not renamed, when the label has another namespace', async () => {
    expect((await put(inY)).status).toBe(201);
    const moved = { name: 'x.y', labels: { [label.namespace]: 'zzz' } };
    const refused = await put(moved);
    expect(refused).toMatchObject({ status: 400, fields: ['name'] });
    expect(refused.text).toContain('must be \\"x.y.zzz\\"');
    expect(await stored('x.y.zzz')).toBeUndefined();
    expect((await put({ ...moved, name: 'x.y.zzz' })).status).toBe(201);
    expect(await stored('x.y.zzz')).toMatchObject({ labels: { [label.displayName]: 'x.y' } });
  });
});

describe('a long name', () => {
  const cut = (position: number): string => `${'a'.repeat(position - 1)}.${'b'.repeat(12)}`;

  it('is refused when other control planes would cut it after a dot', async () => {
    const refused = await put({ name: cut(236), labels: {} });
    expect(refused).toMatchObject({ status: 400, fields: ['name'] });
    expect(refused.text).toContain('must not have a dot as character 236');
    for (const position of [235, 237]) expect((await put({ name: cut(position), labels: {} })).status).toBe(201);
  });
});
