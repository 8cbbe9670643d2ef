// The Meshes that a zone keeps when its membership ends, and the reasons that it gives.
import { expect, it } from 'vitest';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { label, manager } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { keptMeshes } from './kept-meshes.ts';

const meshKey = (name: string) => ({ type: 'Mesh', mesh: '', name });

async function storeWith(...rows: [type: string, mesh: string, name: string, labels?: Labels][]): Promise<TinyStore> {
  const store = new TinyStore();
  for (const name of ['shop', 'pay']) await store.write({ op: 'create', key: meshKey(name), labels: {}, spec: {} });
  for (const [type, mesh, name, labels = {}] of rows) {
    const owner = ['Dataplane', 'Secret'].includes(type) ? null : meshKey(mesh);
    await store.write({ op: 'create', key: { type, mesh, name }, labels, spec: {}, owner });
  }
  return store;
}

const reasonsOf = async (store: TinyStore): Promise<string[]> => {
  const kept = await keptMeshes([meshKey('shop'), meshKey('pay')], store);
  return kept.map((resource) => JSON.stringify(resource));
};

it('a Mesh is kept for the rows of the zone that it owns, and three of them are named', async () => {
  const dataplanes = ['a', 'b', 'c', 'd', 'e'].map((name): [string, string, string] => ['Dataplane', 'shop', name]);
  const [reason = '', ...others] = await reasonsOf(await storeWith(...dataplanes));
  expect(others).toEqual([]);
  expect(reason).toContain(
    'the zone is no longer a member of mesh shop, and has resources of its own in it: ' +
      'Dataplane a, Dataplane b, Dataplane c and 2 more. ' +
      'The zone keeps the Mesh until they are deleted, or until the zone is a member again',
  );
});

it('all rows are named where they are three', async () => {
  const dataplanes = ['a', 'b', 'c'].map((name): [string, string, string] => ['Dataplane', 'pay', name]);
  const [reason = ''] = await reasonsOf(await storeWith(...dataplanes));
  expect(reason).toContain('in it: Dataplane a, Dataplane b, Dataplane c. The zone');
});

it('computed rows keep no Mesh', async () => {
  const managed = Object.values(manager).map((by): [string, string, string, Labels] => [
    ...(['MeshService', 'shop', by] as [string, string, string]),
    { [label.managedBy]: by },
  ]);
  expect(await reasonsOf(await storeWith(['Workload', 'shop', 'w'], ['DataplaneInsight', 'shop', 'i'], ...managed))).toEqual([]);
});

it('a Mesh is kept for a row with an unknown manager', async () => {
  const kept = await reasonsOf(await storeWith(['MeshService', 'shop', 's', { [label.managedBy]: 'me' }]));
  expect(kept).toHaveLength(1);
});

it('a Mesh is kept for a Secret that was written in the zone, and not for one that global sent or that the zone made', async () => {
  const written = { [label.origin]: 'zone' };
  expect(await reasonsOf(await storeWith(['Secret', 'shop', 'mine', written]))).toEqual([expect.stringContaining('Secret mine')]);
  const store = await storeWith(['Secret', 'shop', 'id-private-key'], ['Secret', 'shop', 'sent', { [label.origin]: 'global' }]);
  await store.write({
    op: 'create',
    key: { type: 'Dataplane', mesh: 'pay', name: 'sent' },
    labels: written,
    spec: {},
    syncVersion: 'v',
  });
  expect(await reasonsOf(store)).toEqual([]);
});
