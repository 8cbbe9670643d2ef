// A zone's row has a name that no zone may use. Global may delete it, so that the name is free again.
import type { FastifyInstance } from 'fastify';
import { beforeEach, expect, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { label } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Labels } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi, type Place } from '../api/test-api.ts';

const TYPES = ['MeshTimeout', 'MeshService', 'Dataplane', 'Workload', 'HostnameGenerator'];
const owner = { type: 'Zone', mesh: '', name: 'evil' };
const ofEvil: Labels = { [label.origin]: 'zone', [label.zone]: 'evil' };

let store: TinyStore;
beforeEach(async () => {
  store = new TinyStore();
  for (const [type, name] of [
    ['Mesh', 'shop'],
    ['Zone', 'evil'],
  ] as const)
    await store.write({ op: 'create', key: { type, mesh: '', name }, labels: {}, spec: {} });
});

const meshOf = (type: string): string => (typeOf(type).scope === 'Mesh' ? 'shop' : '');
const urlOf = (type: string, name: string): string =>
  `${meshOf(type) === '' ? '' : `/meshes/${meshOf(type)}`}/${typeOf(type).path}/${name}`;

async function plant(type: string, name: string, labels: Labels): Promise<void> {
  await store.write({ op: 'create', key: { type, mesh: meshOf(type), name }, labels, spec: {}, owner, syncVersion: 'v' });
}

async function remove(place: Place, type: string, name: string): Promise<number> {
  const api: FastifyInstance = testApi(store, place);
  return (await api.inject({ method: 'DELETE', url: urlOf(type, name) })).statusCode;
}

it.each(TYPES)('a %s that occupies a name may be deleted on global, and then the name is free', async (type) => {
  const names = ['frozen', hashName({ mesh: meshOf(type), name: 'cart', zone: 'west' })];
  for (const name of names) {
    await plant(type, name, { ...ofEvil, [label.displayName]: 'cart' });
    expect(await remove('global', type, name)).toBe(200);
    expect(await store.get({ type, mesh: meshOf(type), name })).toBeUndefined();
  }
});

it.each(TYPES)('no other copy of a %s may be deleted on global', async (type) => {
  const labels = { ...ofEvil, [label.displayName]: 'cart', [label.namespace]: 'shop-ns' };
  const hashed = hashName({ mesh: meshOf(type), name: 'cart', zone: 'evil', namespace: 'shop-ns' });
  for (const name of [hashed, 'evil.cart']) {
    await plant(type, name, labels);
    expect(await remove('global', type, name)).toBeGreaterThanOrEqual(400);
    expect(await store.get({ type, mesh: meshOf(type), name })).toBeDefined();
  }
});

it('a read-only API does not delete a resource that occupies a name', async () => {
  await plant('MeshService', 'frozen', ofEvil);
  const answer = await testApi(store, 'global', { readOnly: true }).inject({
    method: 'DELETE',
    url: urlOf('MeshService', 'frozen'),
  });
  expect(answer.statusCode).toBe(405);
});

it('a write to an occupied name is refused with the remedy', async () => {
  await plant('MeshTimeout', 'frozen', ofEvil);
  const spec = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }] };
  const payload = { type: 'MeshTimeout', mesh: 'shop', name: 'frozen', spec };
  const api = testApi(store, 'global');
  const refused = await api.inject({ method: 'PUT', url: urlOf('MeshTimeout', 'frozen'), payload });
  expect(refused.statusCode).toBe(400);
  expect(refused.json()).toMatchObject({
    invalid_parameters: [{ field: 'name', reason: expect.stringMatching(/zone evil .* delete it first/) as string }],
  });
  expect(await remove('global', 'MeshTimeout', 'frozen')).toBe(200);
  expect((await api.inject({ method: 'PUT', url: urlOf('MeshTimeout', 'frozen'), payload })).statusCode).toBe(201);
});
