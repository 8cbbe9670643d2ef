// Known problems of Kuma's users, one test for each that one process can show. The numbers are those of Kuma's issues. src/kds/SPEC.md
// names the tests of the other problems.
import { fc } from '../support/property.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ControlPlanes, zones, type Side, type Zone } from '../golden/control-planes.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import type { TinyStore } from '../support/tiny-store.ts';

let planes: ControlPlanes | undefined;

async function start(options = { resume: true }): Promise<ControlPlanes> {
  planes = new ControlPlanes(options);
  await planes.stores.global.write({ op: 'put', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  await planes.start();
  return planes;
}

afterEach(async () => {
  await planes?.close();
  planes = undefined;
});

async function put(store: TinyStore, type: string, name: string, spec: JsonObject = {}): Promise<void> {
  await store.write({ op: 'put', key: { type, mesh: 'default', name }, labels: {}, spec });
}

const rowsOf = (store: TinyStore): unknown[] => [...store.rows.values()];

describe('a reported problem of Kuma', () => {
  it('9455: a zone that disconnects does not change the state of others', async () => {
    const all = await start();
    const { stores } = all;
    await put(stores.east, 'MeshService', 'cart');
    await put(stores.west, 'MeshService', 'search');
    await all.rest();
    const before = { global: rowsOf(stores.global), west: rowsOf(stores.west) };
    const messages = all.received('west');
    await all.disconnect('east');
    expect({ global: rowsOf(stores.global), west: rowsOf(stores.west) }).toEqual(before);
    expect(all.received('west')).toBe(messages);
  });

  it.each([{ resume: true }, { resume: false }])('13592: a reconnect writes no unchanged row (%j)', async (options) => {
    const all = await start(options);
    for (const zone of zones) await put(all.stores[zone], 'MeshService', `of-${zone}`);
    for (let i = 0; i < 20; i += 1) await put(all.stores.global, 'MeshTimeout', `t-${String(i)}`);
    await all.rest();
    const before = (['global', ...zones] as const).map((side) => rowsOf(all.stores[side]));
    await all.reconnect();
    expect((['global', ...zones] as const).map((side) => rowsOf(all.stores[side]))).toEqual(before);
  });

  it('14486: bursts on both ends at once end with equal stores, with one response in flight per type', async () => {
    const all = await start();
    const writes: Promise<void>[] = [];
    for (let i = 0; i < 500; i += 1) {
      writes.push(put(all.stores.global, 'MeshTimeout', `g-${String(i % 50)}`, { i }));
      for (const zone of zones) writes.push(put(all.stores[zone], 'MeshService', `z-${String(i % 50)}`, { i }));
    }
    await Promise.all(writes);
    await all.rest();
    const count = (side: Side, type: string): number =>
      [...all.stores[side].rows.values()].filter((row) => row.type === type).length;
    for (const zone of zones) expect([count(zone, 'MeshTimeout'), count(zone, 'MeshService')]).toEqual([50, 100]);
    expect(count('global', 'MeshService')).toBe(100);
    // Changes during a response in flight are sent together: far fewer messages than changes.
    expect(all.received('global')).toBeLessThan(500);
  });

  it('16407: the status of one zone never appears in another', async () => {
    const status = fc.record({ zone: fc.constantFrom(...zones), name: fc.constantFrom('a', 'b'), ip: fc.ipV4() });
    await fc.assert(
      fc.asyncProperty(fc.array(status, { minLength: 1, maxLength: 12 }), async (writes) => {
        const all = await start();
        for (const { zone, name, ip } of writes) {
          const key = { type: 'MeshService', mesh: 'default', name };
          await all.stores[zone].write({ op: 'put', key, labels: {}, spec: {}, status: { vips: [{ ip, zone }] } });
        }
        await all.rest();
        for (const zone of zones) {
          for (const row of all.stores[zone].rows.values()) {
            const text = JSON.stringify(row.status);
            for (const other of zones) if (other !== zone) expect(text).not.toContain(`"zone":"${other satisfies Zone}"`);
          }
        }
        await all.close();
        planes = undefined;
      }),
      { numRuns: 25 },
    );
  });

  it('12893: secrets of one name on both sides stay unchanged, and the user is warned', async () => {
    const all = await start();
    const { stores } = all;
    const [ofEast, ofGlobal] = [{ data: 'b2YgZWFzdA==' }, { data: 'b2YgZ2xvYmFs' }];
    await put(stores.east, 'Secret', 'shared', ofEast);
    await put(stores.global, 'Secret', 'shared', ofGlobal);
    await all.rest();
    const specOn = async (side: Side): Promise<unknown> =>
      (await stores[side].get({ type: 'Secret', mesh: 'default', name: 'shared' }))?.spec;
    expect([await specOn('global'), await specOn('east'), await specOn('west')]).toEqual([ofGlobal, ofEast, ofGlobal]);
    expect(all.refusals).toMatchObject([{ by: 'east', type: 'Secret', message: expect.stringContaining('shared') as string }]);
  });

  it('11410, 8327, 5870: inspect knows the namespace and zone of a consumer, and the limits of a policy', async () => {
    const all = await start();
    const labelsOf = (namespace: string): object => ({ 'kuma.io/origin': 'zone', 'k8s.kuma.io/namespace': namespace });
    const apply = async (zone: Zone, path: string, type: string, namespace: string, spec: JsonObject): Promise<void> => {
      const name = path.split('/').at(-1) ?? '';
      const body = { type, mesh: 'default', name, labels: labelsOf(namespace) };
      // A Dataplane has its spec at the top.
      const document = type === 'Dataplane' ? { ...body, ...spec } : { ...body, spec };
      const { status, text } = await all.call(zone, 'PUT', `/meshes/default/${path}`, document);
      expect(status, text).toBe(201);
    };
    const proxy = { networking: { address: '192.0.2.1', inbound: [{ port: 80, tags: { 'kuma.io/service': 'x' } }] } };
    const to = (name: string): JsonObject => ({
      to: [{ targetRef: { kind: 'MeshService', name, namespace: 'shop' }, default: { http: { requestTimeout: '5s' } } }],
    });
    await apply('east', 'meshservices/cart', 'MeshService', 'shop', { ports: [{ port: 80, appProtocol: 'http' }] });
    for (const zone of zones) await apply(zone, 'dataplanes/web', 'Dataplane', 'web', proxy);
    await apply('east', 'dataplanes/other', 'Dataplane', 'shop', proxy);
    await apply('east', 'meshtimeouts/consumer', 'MeshTimeout', 'web', to('cart'));
    await apply('east', 'meshtimeouts/hopeless', 'MeshTimeout', 'web', to('gone'));
    await all.rest();
    const rulesOf = async (zone: Zone, proxyName: string): Promise<string> =>
      JSON.stringify((await all.ask(zone, `/meshes/default/dataplanes/${proxyName}/_rules`)).body);
    expect(await rulesOf('east', 'web.web')).toContain('consumer');
    expect(await rulesOf('east', 'other.shop')).not.toContain('consumer');
    expect(await rulesOf('west', 'web.web')).not.toContain('consumer');
    expect(await rulesOf('east', 'web.web')).toMatch(/hopeless.*MeshService gone.*does not exist/);
  });
});
