// A zone joins for the first time: it gets only the synced part of global's defaults, the overview shows it, and global can query it.
import { createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { productVersion } from '../../src/base/version.ts';
import { zoneConsumes } from '../../src/kds/protocol/rules.ts';
import { globalHostnameGenerators, zoneHostnameGenerators } from '../../src/defaults/default-resources.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

type Counts = { readonly responsesSent: string; readonly responsesAcknowledged: string };
type Overview = {
  readonly items: readonly {
    readonly zoneInsight?: {
      readonly subscriptions: readonly {
        readonly config: string;
        readonly status: { readonly total: Counts; readonly stat: Readonly<Record<string, Counts>> };
      }[];
    };
  }[];
};

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/) as unknown;
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;
const STREAMS = ['globalToZone', 'zoneToGlobal', 'configDump', 'stats', 'clusters'];
const INSERT = `insert into resources (type, mesh, name, version, spec) values ($1, '', $2, 0, '{}')`;
const fromGlobal = { 'kuma.io/origin': 'global' };

describe('a zone that joins', () => {
  let fleet: Fleet;
  let global: ControlPlane;
  let east: ControlPlane;

  beforeAll(async () => {
    const env = { MERIDIAN_MULTIZONE_GLOBAL_KDS_ZONE_INSIGHT_FLUSH_INTERVAL: '100ms' };
    fleet = await startFleet(inject('postgresUrl'), ['east'], { env });
    ({ global } = fleet);
    [east] = fleet.zones as [ControlPlane];
  });

  afterAll(() => fleet.stop());

  const get = async (path: string): Promise<unknown> =>
    await (await fetch(`http://127.0.0.1:${String(global.api)}${path}`)).json();
  const dataOf = (rows: Awaited<ReturnType<ControlPlane['rows']>>, name: string): string =>
    (rows.get(name)?.spec as { data?: string } | undefined)?.data ?? '';

  it('gets the HostnameGenerators of global beside its own', async () => {
    const own = zoneHostnameGenerators.map(({ name, spec }) => [name, { labels: { 'kuma.io/origin': 'zone' }, spec }] as const);
    const synced = globalHostnameGenerators.map(({ name, spec }) => {
      const labels = { ...fromGlobal, 'kuma.io/display-name': name };
      return [hashName({ mesh: '', name }), { labels, spec }] as const;
    });
    const rows = async (): Promise<unknown> => {
      const stored = [...(await east.rows('HostnameGenerator'))];
      return Object.fromEntries(stored.map(([name, { labels, spec }]) => [name, { labels, spec }]));
    };
    await expect.poll(rows, WAIT).toEqual(Object.fromEntries([...own, ...synced]));
  });

  it('gets the key of dataplane tokens, the public key of zone tokens, and no other secret of global', async () => {
    const own = ['envoy-admin-ca', 'inter-cp-ca', 'user-token-revocations', 'user-token-signing-key-2'];
    await global.psql.query(INSERT, ['Config', 'cp-catalog']);
    for (const name of own) await global.psql.query(INSERT, ['GlobalSecret', name]);
    // After what must not come, one that must.
    await global.psql.query(INSERT, ['GlobalSecret', 'zone-token-revocations']);
    await expect.poll(async () => (await east.rows('GlobalSecret')).has('zone-token-revocations'), WAIT).toBe(true);
    const [kept, got] = [await global.rows('GlobalSecret'), await east.rows('GlobalSecret')];
    const synced = [...got].filter(([, { labels }]) => labels['kuma.io/origin'] === 'global').map(([name]) => name);
    expect(synced.toSorted()).toEqual(['zone-token-revocations', 'zone-token-signing-public-key-1']);
    const decoded = (data: string): string => Buffer.from(data, 'base64').toString();
    const key = decoded(dataOf(kept, 'zone-token-signing-key-1'));
    const publicKey = createPublicKey(key).export({ type: 'pkcs1', format: 'pem' });
    expect(decoded(dataOf(got, 'zone-token-signing-public-key-1'))).toBe(publicKey);
    const { rows: everything } = await east.psql.query<{ spec: string }>('select spec from resources');
    for (const [name, { spec }] of kept) {
      const { data = '' } = spec as { data?: string };
      if (data !== '')
        expect(
          everything.filter((row) => row.spec.includes(data)),
          name,
        ).toEqual([]);
    }
    const signing = 'dataplane-token-signing-key-default-1';
    const [ofGlobal, ofEast] = [await global.rows('Secret'), await east.rows('Secret')];
    expect([...ofEast.keys()]).toEqual([signing]);
    expect(ofEast.get(signing)).toMatchObject({ mesh: 'default', labels: fromGlobal });
    expect(dataOf(ofEast, signing)).toBe(dataOf(ofGlobal, signing));
    expect(decoded(dataOf(ofEast, signing))).toContain('BEGIN RSA PRIVATE KEY');
    // Besides the id of its own store, which stays where it is.
    const configs = new Map([...(await east.rows('Config'))].filter(([name]) => name !== 'meridian-store-id'));
    expect(configs).toEqual(
      new Map(
        [...(await global.rows('Config'))].flatMap(([name, row]) =>
          name === 'kuma-cluster-id' ? [[name, { ...row, labels: fromGlobal }]] : [],
        ),
      ),
    );
  });

  it('is shown on global with its version, its configuration, its streams and the sent resources', async () => {
    const types = zoneConsumes.map(({ name }) => name);
    const sums = (counts: Readonly<Record<string, Counts>>, key: keyof Counts): string =>
      String(Object.values(counts).reduce((sum, one) => sum + Number(one[key]), 0));
    const settled = async (): Promise<Overview> => {
      const overview = (await get('/zones/_overview')) as Overview;
      const { stat = {}, total } = overview.items[0]?.zoneInsight?.subscriptions[0]?.status ?? {};
      // With a type of which global has nothing the zone is in step from the start.
      expect(types).toEqual(expect.arrayContaining(Object.keys(stat)));
      expect(Object.keys(stat)).toEqual(expect.arrayContaining(['Mesh', 'Secret', 'Config']));
      for (const [type, counts] of Object.entries(stat)) {
        expect(Number(counts.responsesSent), type).toBeGreaterThan(0);
        expect(counts.responsesAcknowledged, type).toBe(counts.responsesSent);
      }
      expect(total).toEqual({
        responsesSent: sums(stat, 'responsesSent'),
        responsesAcknowledged: sums(stat, 'responsesAcknowledged'),
      });
      return overview;
    };
    const overview = await vi.waitFor(settled, WAIT);
    const { instanceId } = (await get('/')) as { instanceId: string };
    const subscription = {
      ...{ id: UUID, globalInstanceId: instanceId, zoneInstanceId: await instanceOf(east), connectTime: TIME },
      status: { lastUpdateTime: TIME, total: expect.anything() as unknown, stat: expect.anything() as unknown },
      version: { kumaCp: { version: productVersion, kumaCpGlobalCompatible: true } },
      config: expect.any(String) as unknown,
    };
    const stream = { globalInstanceId: instanceId, connectTime: TIME };
    const zoneInsight = {
      subscriptions: [subscription],
      kdsStreams: Object.fromEntries(STREAMS.map((kind) => [kind, stream])),
      healthCheck: { time: TIME },
      envoyAdminStreams: Object.fromEntries(STREAMS.slice(2).map((kind) => [`${kind}GlobalInstanceId`, instanceId])),
    };
    const sync = {
      state: 'online',
      connection: 'online',
      since: expect.any(String) as unknown,
      pending: [],
      lagMs: 0,
      reason: '',
    };
    const item = {
      ...{ type: 'ZoneOverview', name: 'east', kri: 'kri_z____east_', creationTime: TIME, modificationTime: TIME },
      ...{ zone: { enabled: true }, zoneInsight, sync },
    };
    expect(overview).toEqual({ total: 1, items: [item], next: null });
    const { config = '' } = overview.items[0]?.zoneInsight?.subscriptions[0] ?? {};
    expect(JSON.parse(config)).toMatchObject({
      mode: 'zone',
      multizone: { zone: { name: 'east', globalAddress: `grpc://${fleet.kds}` } },
      store: { type: 'postgres', postgres: { dbName: east.database.dbName, password: '*****' } },
    });
  });

  it.each(['xds', 'stats', 'clusters'])('answers a query of global for the %s of a proxy', async (path) => {
    const networking = { address: '192.0.2.1', inbound: [{ port: 80 }] };
    const body = { type: 'Dataplane', mesh: 'default', name: 'dp', networking };
    expect([200, 201]).toContain(await east.put('/meshes/default/dataplanes/dp', body));
    const name = hashName({ mesh: 'default', name: 'dp', zone: 'east' });
    await expect.poll(async () => (await global.rows('Dataplane')).has(name), WAIT).toBe(true);
    const answer = await get(`/meshes/default/dataplanes/${name}/${path}`);
    expect(answer).toMatchObject({ status: 400, detail: 'no proxy of Dataplane "dp" is connected to this zone' });
  });
});

async function instanceOf({ api }: ControlPlane): Promise<string> {
  return ((await (await fetch(`http://127.0.0.1:${String(api)}/`)).json()) as { instanceId: string }).instanceId;
}
