// Only an admin can accept another store of a zone, or another global. The overview shows the pending decisions.
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { tokenAccess } from '../../src/http/access.ts';
import type { ApiOptions } from '../../src/api/api-options.ts';
import { acceptedPeer, recordRefusal, zoneStoreKey } from '../../src/peering/peer-identity.ts';
import { clusterIdKey } from '../../src/defaults/create-defaults.ts';
import type { ResourceKey } from '../../src/resource/types.ts';
import { defaultAccess, type AccessRules } from '../../src/http/access.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi, type Place } from './test-api.ts';

const zone = { type: 'Zone', mesh: '', name: 'east' };
const elsewhere = { remoteAddress: '192.0.2.7' };
const SHOP = { users: [], groups: ['shop'] };
const JO = { users: ['jo'], groups: [] };

let store: TinyStore;
let lines: string[];

beforeEach(async () => {
  store = new TinyStore();
  lines = [];
  await store.write({ op: 'create', key: zone, labels: {}, spec: { enabled: true } });
});

/** A token is of the user jo of group shop. */
async function post(
  place: Place,
  url: string,
  payload: unknown,
  more: Record<string, unknown> = {},
  rules: Partial<AccessRules> = {},
  options: Partial<ApiOptions> = {},
) {
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
  const jo = { ok: true, claims: { name: 'jo', groups: ['shop'] }, id: '1', expiresAt: new Date(Date.now() + 60_000) } as const;
  const access = tokenAccess(
    { type: 'tokens', localhostIsAdmin: true },
    { user: async () => jo },
    { follow: () => () => undefined },
    { ...defaultAccess, ...rules },
  );
  const app = testApi(store, place, { log, access, ...options });
  const answer = await app.inject({ method: 'POST', url, payload: payload as object, ...more });
  await app.close();
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

async function overview(place: Place): Promise<Record<string, unknown>> {
  const app = testApi(store, place);
  const answer = await app.inject({ url: '/zones/east/_overview' });
  await app.close();
  return answer.json();
}

async function known(key: ResourceKey, id: string, refused?: string): Promise<void> {
  await store.write({ op: 'create', key, labels: { 'kuma.io/origin': 'global' }, spec: { config: id }, syncVersion: 'v' });
  const row = await store.get(key);
  if (row !== undefined && refused !== undefined) await recordRefusal(store, row, refused, new Date());
}

describe.each([
  ['global', '/zones/east/_adopt', zoneStoreKey('east'), 'storeId', /meridian zone adopt east/],
  ['zone', '/_accept-global', clusterIdKey, 'clusterId', /meridian zone accept-global/],
] as const)('on a %s, POST %s', (place, url, key, field, command) => {
  it('accepts the last refused peer, reports the replaced one, and is audited', async () => {
    await known(key, 'ours', 'theirs');
    expect((await overview(place))['warnings']).toEqual([expect.stringMatching(command)]);
    expect(await post(place, url, {})).toMatchObject({ status: 200, body: { [field]: 'theirs', before: 'ours' } });
    expect(acceptedPeer(await store.get(key))).toBe('theirs');
    expect((await overview(place))['warnings']).toBeUndefined();
    expect(lines.join()).toMatch(/"action":"accepted".*theirs.*ours/);
  });

  it('accepts a given peer', async () => {
    await known(key, 'ours');
    expect(await post(place, url, { [field]: 'named' })).toMatchObject({ status: 200, body: { [field]: 'named' } });
    expect(acceptedPeer(await store.get(key))).toBe('named');
  });

  it.each([
    [{ [field]: 5 }, field],
    [{ [field]: '' }, field],
    [{ [field]: 'a b' }, field],
    [{ [field]: 'x'.repeat(101) }, field],
    [{ other: 1 }, 'other'],
    [[1], ''],
  ])('refuses %j with the field, and changes nothing', async (payload, at) => {
    await known(key, 'ours', 'theirs');
    const before = new Map(store.rows);
    const { status, body } = await post(place, url, payload);
    expect(status).toBe(400);
    expect(body['invalid_parameters']).toMatchObject([{ field: at }]);
    expect(store.rows).toEqual(before);
  });

  it('answers 409 when no peer was refused', async () => {
    await known(key, 'ours');
    expect(await post(place, url, {})).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/refused/) as string },
    });
  });

  it.each<[string, Partial<AccessRules>, number]>([
    ['a caller that may write every resource is refused', {}, 403],
    ['a caller that may write secrets too is refused', { adminResources: SHOP }, 403],
    ['a caller of another group is refused', { acceptPeers: { users: ['ann'], groups: ['bank'] } }, 403],
    ['a group that access.static.acceptPeers lists may', { acceptPeers: SHOP }, 200],
    ['a user that it lists may, without the right to write a resource', { acceptPeers: JO, resources: [] }, 200],
  ])('%s', async (_, rules, status) => {
    await known(key, 'ours', 'theirs');
    const answer = await post(place, url, {}, { ...elsewhere, headers: { authorization: 'Bearer t' } }, rules);
    expect(answer.status).toBe(status);
    expect(acceptedPeer(await store.get(key))).toBe(status === 200 ? 'theirs' : 'ours');
    if (status === 403) expect(answer.body['detail']).toContain('access.static.acceptPeers');
    else expect(lines.join()).toContain('"user":"jo"');
  });

  it('is refused for a remote caller without a token', async () => {
    await known(key, 'ours', 'theirs');
    expect((await post(place, url, {}, elsewhere)).status).toBe(403);
    expect(acceptedPeer(await store.get(key))).toBe('ours');
  });

  it('is refused on a read-only control plane', async () => {
    await known(key, 'ours', 'theirs');
    expect((await post(place, url, {}, {}, {}, { readOnly: true })).status).toBe(405);
    expect(acceptedPeer(await store.get(key))).toBe('ours');
  });
});

describe('a zone on global', () => {
  it('is removed on request, and not together with a store', async () => {
    await known(zoneStoreKey('east'), 'ours');
    expect((await post('global', '/zones/east/_adopt', { forget: true, storeId: 'x' })).status).toBe(400);
    expect((await post('global', '/zones/east/_adopt', { forget: true })).status).toBe(200);
    expect(await store.get(zoneStoreKey('east'))).toBeUndefined();
  });

  it('is answered with 404 when it does not exist', async () => {
    expect((await post('global', '/zones/west/_adopt', {})).status).toBe(404);
  });
});
