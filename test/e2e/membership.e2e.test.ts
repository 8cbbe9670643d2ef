// Membership with real processes and PostgreSQL: two zones and two meshes, of which one zone has both.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

type Sync = { readonly targets: readonly { readonly to: string; readonly isSent: boolean; readonly reason: string }[] };

describe('a zone that is a member of one of two meshes', () => {
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;
  const copy = hashName({ mesh: 'pay', name: 'slow' });
  const cart = hashName({ mesh: 'pay', name: 'cart', zone: 'west' });

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west']);
    ({ global } = fleet);
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const mesh of ['shop', 'pay']) {
      expect(await global.put(`/meshes/${mesh}`, { type: 'Mesh', name: mesh })).toBe(201);
      const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '3s' } }] };
      const timeout = { type: 'MeshTimeout', mesh, name: 'slow', spec };
      expect(await global.put(`/meshes/${mesh}/meshtimeouts/slow`, timeout)).toBe(201);
    }
    const has = (zone: ControlPlane, type: string, name: string): Promise<void> =>
      vi.waitFor(async () => expect((await zone.rows(type)).has(name)).toBe(true), WAIT);
    for (const zone of [east, west]) await has(zone, 'MeshTimeout', copy);
    const service = { type: 'MeshService', mesh: 'pay', name: 'cart', labels: { 'kuma.io/origin': 'zone' } };
    expect(await west.put('/meshes/pay/meshservices/cart', { ...service, spec: { ports: [{ port: 80 }] } })).toBe(201);
    await has(east, 'MeshService', cart);
  });

  afterAll(() => fleet.stop());

  const ofPay = async (zone: ControlPlane): Promise<string[]> => {
    const { rows } = await zone.psql.query(`select type || ' ' || name as id from resources where sync_version is not null
      and (mesh = 'pay' or (type = 'Mesh' and name = 'pay')) order by 1`);
    return rows.map(({ id }) => String(id));
  };
  const rowsOfShop = async (zone: ControlPlane): Promise<unknown> =>
    (await zone.psql.query(`select type, name, version, modification_time from resources where mesh = 'shop' order by 1, 2`))
      .rows;
  const get = async (path: string): Promise<unknown> =>
    await (await fetch(`http://127.0.0.1:${String(global.api)}${path}`)).json();
  const putZone = (meshes?: readonly string[]): Promise<number> =>
    global.put('/zones/east', { type: 'Zone', name: 'east', enabled: true, ...(meshes !== undefined && { meshes }) });

  it('loses the Mesh, policies, services and secrets of the other one, and nothing else changes in either zone', async () => {
    const before = [await rowsOfShop(east), await ofPay(west), await rowsOfShop(west)];
    expect((await ofPay(east)).some((id) => id.startsWith('Secret dataplane-token-signing-key-pay'))).toBe(true);
    const zone = { type: 'Zone', name: 'east', enabled: true, meshes: ['shop', 'default'] };
    const preview = await fetch(`http://127.0.0.1:${String(global.api)}/_preview`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([zone]),
    });
    const { items } = (await preview.json()) as { items: { membership?: { loses: { total: number } } }[] };
    expect(items[0]?.membership?.loses.total).toBe((await ofPay(east)).length);
    expect(await putZone(['shop', 'default'])).toBe(200);
    await expect.poll(() => ofPay(east), WAIT).toEqual([]);
    expect([await rowsOfShop(east), await ofPay(west), await rowsOfShop(west)]).toEqual(before);
  });

  it('is named with the reason by _sync, and a receipt says that it is not meant to have a change', async () => {
    const { targets } = (await get('/meshes/pay/meshtimeouts/slow/_sync')) as Sync;
    expect(targets).toMatchObject([
      { to: 'east', isSent: false, reason: 'the zone is not a member of mesh pay' },
      { to: 'west', isSent: true },
    ]);
    expect(await get('/meshes/pay/meshtimeouts/slow/_rollout')).toMatchObject({
      targets: [{ to: 'east', state: 'hidden', reason: 'the zone is not a member of mesh pay' }, { to: 'west' }],
    });
  });

  it('gets nothing of the other mesh after kill -9 and a reconnect', async () => {
    await east.end('SIGKILL');
    east.start();
    await expect.poll(() => east.answers(), WAIT).toBe(true);
    const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '4s' } }] };
    for (const mesh of ['pay', 'shop'])
      expect(await global.put(`/meshes/${mesh}/meshtimeouts/late`, { type: 'MeshTimeout', mesh, name: 'late', spec })).toBe(201);
    const late = hashName({ mesh: 'shop', name: 'late' });
    await expect.poll(async () => (await east.rows('MeshTimeout')).has(late), WAIT).toBe(true);
    expect(await ofPay(east)).toEqual([]);
  });

  it('has everything of the mesh again when it is given back', async () => {
    expect(await putZone()).toBe(200);
    await expect.poll(() => ofPay(east), WAIT).toContain(`MeshService ${cart}`);
    const fromGlobal = (ids: readonly string[]): string[] => ids.filter((id) => !id.startsWith('MeshService'));
    await expect.poll(async () => fromGlobal(await ofPay(east)), WAIT).toEqual(fromGlobal(await ofPay(west)));
  });

  it('is a problem while it sends resources of a mesh of which it is no member', async () => {
    const zone = { type: 'Zone', name: 'west', enabled: true, meshes: ['shop', 'default'] };
    expect(await global.put('/zones/west', zone)).toBe(200);
    // Other zones lose the service, and west keeps it with its Mesh.
    await expect.poll(async () => (await east.rows('MeshService')).has(cart), WAIT).toBe(false);
    expect((await west.rows('MeshService')).has('cart')).toBe(true);
    const problems = async (): Promise<unknown> => {
      const { items } = (await get('/_problems')) as { items: { code: string; zone?: string; mesh?: string; message: string }[] };
      return items.filter(({ zone: of }) => of === 'west').map(({ code, mesh = '' }) => `${code} ${mesh}`);
    };
    await expect.poll(problems, WAIT).toEqual(expect.arrayContaining(['notAMember pay', 'resourcesRefused ']));
    expect((await west.rows('Mesh')).has('pay')).toBe(true);
  });

  it('is refused with the name of the field that is wrong', async () => {
    expect(await putZone([])).toBe(400);
    expect(await putZone(['Not A Mesh'])).toBe(400);
    expect(await putZone(['not-yet-there'])).toBe(200);
  });
});
