import { describe, expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import {
  DATAPLANE_COLUMNS,
  dataplaneStatus,
  MESH_COLUMNS,
  problemLines,
  unknownLines,
  ZONE_COLUMNS,
} from './overview-columns.ts';
import { itemTable, type Column } from './table.ts';

const ago = new Date(Date.now() - 59_000).toISOString();
const open = {
  connectTime: ago,
  status: { lastUpdateTime: ago, total: { responsesSent: '120', responsesRejected: '3' } },
  version: { kumaCp: { version: '0.1.0-preview' } },
  config: '{"store":{"type":"postgres"}}',
};
const closed = { ...open, disconnectTime: ago };

function zone(subscriptions: object[], enabled?: boolean): Item {
  return {
    type: 'ZoneOverview',
    name: 'us-east-1',
    zone: { ...(enabled !== undefined && { enabled }) },
    zoneInsight: { subscriptions },
  } as unknown as Item;
}

function proxy(subscriptions: object[], networking: object): Item {
  const item = {
    type: 'DataplaneOverview',
    mesh: 'shop',
    name: 'cart-7d9f',
    dataplane: { networking },
    dataplaneInsight: { subscriptions },
  };
  return item as unknown as Item;
}

const rowsOf = (columns: readonly Column[], item: Item): string[] => itemTable(columns, [item], { wide: false }).split('\n');

describe('tables of zones and proxies', () => {
  it('show a zone in 80 columns, with the latest times and the sums of the counts', () => {
    const [head, row] = rowsOf(ZONE_COLUMNS, zone([closed, open]));
    expect(head).toMatch(/^NAME +STATUS +MESHES +SINCE +LAG +PENDING +ERRORS +VERSION$/);
    expect(row).toMatch(/^us-east-1 +Online +all +\d+\w +- +- +6 +0\.1\.0-preview$/);
    expect(row?.length).toBeLessThanOrEqual(80);
    expect(rowsOf(ZONE_COLUMNS, zone([closed]))[1]).toContain('Offline');
    expect(rowsOf(ZONE_COLUMNS, zone([open], false))[1]).toContain('Disabled');
    expect(rowsOf(ZONE_COLUMNS, { type: 'ZoneOverview', name: 'new' })[1]).toMatch(/^new +Offline +all +never +- +- +0 +-$/);
  });

  it.each([
    [undefined, 'all'],
    [['shop'], 'shop'],
    [['shop', 'payments'], '2 meshes'],
  ])('show a zone with the meshes %j as a member of %s', (meshes, text) => {
    const item = { type: 'ZoneOverview', name: 'east', zone: { ...(meshes !== undefined && { meshes }) } } as unknown as Item;
    expect(rowsOf(ZONE_COLUMNS, item)[1]).toMatch(new RegExp(`^east +Offline +${text} `));
  });

  it('show the state of a zone, and the changes that wait for it', () => {
    const sync = {
      connection: 'lagging',
      since: ago,
      lagMs: 12_000,
      pending: ['Mesh', 'MeshTimeout'],
      reason: 'east is\nsilent',
    };
    const lagging = { ...zone([open]), sync: { state: 'lagging', ...sync } } as unknown as Item;
    expect(rowsOf(ZONE_COLUMNS, lagging)[1]).toMatch(/^us-east-1 +Lagging +all +\d+\w +12s +2 types +3 /);
    expect(problemLines(lagging)).toEqual(['', 'east is\\nsilent']);
    for (const state of ['Refused', 'Offline', 'Disabled'])
      expect(rowsOf(ZONE_COLUMNS, { ...lagging, sync: { ...sync, state: state.toLowerCase() } })[1]).toContain(state);
    const brief = { ...sync, state: 'online', lagMs: 40, pending: ['Mesh'] };
    expect(rowsOf(ZONE_COLUMNS, { ...lagging, sync: brief })[1]).toMatch(/Online +all +\d+\w +40ms +Mesh/);
  });

  it('show a proxy without a known state as unknown, without zeros, and say once which zone to ask', () => {
    const unknown = { ...proxy([], {}), dataplaneInsight: undefined, insightUnknown: 'ask zone east' } as unknown as Item;
    expect(rowsOf(DATAPLANE_COLUMNS, unknown)[1]).toMatch(/^shop +cart-7d9f +- +Unknown +- +-$/);
    expect(unknownLines([unknown, unknown, proxy([open], {})])).toEqual(['', 'ask zone east']);
    expect(unknownLines([proxy([open], {})])).toEqual([]);
  });

  it.each([
    [{ total: 3, online: 2 }, '2/3'],
    [{}, '0/0'],
    [{ total: 3, unknown: 3 }, '?/3'],
    [{ total: 3, online: 1, unknown: 1 }, '1+?/3'],
  ])('show the proxies %j of a mesh as %s', (dataplanes, text) => {
    const item = { type: 'MeshInsight', name: 'shop', dataplanes } as unknown as Item;
    expect(rowsOf(MESH_COLUMNS, item)[1]?.split(/ +/)[1]).toBe(text);
  });

  it('show the version of the open stream of a zone after the date was set back', () => {
    const dead = { ...closed, version: { kumaCp: { version: '0.0.9' } } };
    expect(rowsOf(ZONE_COLUMNS, zone([open, dead]))[1]).toMatch(/ 0\.1\.0-preview$/);
  });

  it('show a proxy in 80 columns', () => {
    const degraded = proxy([open], { inbound: [{ port: 80 }, { port: 81, state: 'NotReady' }] });
    const [, row] = rowsOf(DATAPLANE_COLUMNS, degraded);
    expect(row).toMatch(/^shop +cart-7d9f +- +Partially degraded/);
    expect(row?.length).toBeLessThanOrEqual(80);
  });

  it.each([
    ['Offline', [closed], {}],
    ['Online', [open], { inbound: [{ port: 80 }, { port: 81, state: 'Ignored' }] }],
    ['Offline', [open], { inbound: [{ port: 80, state: 'NotReady' }] }],
    ['Online', [open], { gateway: {} }],
    ['Online', [open], {}],
  ])('show the status %s for %j with %j (rest-api 3)', (status, subscriptions, networking) => {
    expect(dataplaneStatus(proxy(subscriptions, networking))).toBe(status);
  });
});
