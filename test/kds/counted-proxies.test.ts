// Proxies of a zone at a global that keeps counts of them, with the real sender, receiver and REST API: through a restart, another replica and a
// change of `multizone.global.insights` in both directions, nothing is said that is not so.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { insightSink } from '../../src/kds/insights/insight-sink.ts';
import { atOnce } from '../../src/kds/protocol/pace.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalReceiveRules, globalSendRules, zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import type { InsightsKept } from '../../src/zone-status/proxy-insights.ts';
import { ZoneInsightWriter } from '../../src/zone-status/zone-insight-writer.ts';
import { decodeDeltaRequest, decodeDeltaResponse, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { WAIT } from '../support/wait.ts';

const log = createLogger('silent');
const ZONE_OF_KUMA = false;
const ZONE_OF_MERIDIAN = true;
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const meshKey = { type: 'Mesh', mesh: '', name: 'shop' };
const dataplane = { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } };
const connected: JsonObject = { connectTime: '2026-01-01T00:00:00Z', version: { envoy: { version: '1.30.0' } } };
const gone: JsonObject = { ...connected, disconnectTime: '2026-01-02T00:00:00Z' };

type Zone = { readonly store: TinyStore; readonly changelog: Changelog };

/** The zone east with proxies; true: connected. */
async function startZone(proxies: Record<string, boolean>): Promise<Zone> {
  const stop = new AbortController();
  const store = new TinyStore();
  await store.write({ op: 'create', key: meshKey, labels: { 'kuma.io/origin': 'global' }, spec: {}, syncVersion: 'v' });
  const changelog = new Changelog(store, zoneSendRules({ zone: 'east' }), log);
  const running = changelog.run(stop.signal);
  await changelog.ready;
  cleanUps.push(async () => {
    stop.abort();
    await running;
  });
  for (const [name, isConnected] of Object.entries(proxies)) await putProxy({ store }, name, isConnected);
  return { store, changelog };
}

async function putProxy({ store }: Pick<Zone, 'store'>, name: string, isConnected: boolean | null): Promise<void> {
  const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/display-name': name, app: name };
  await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'shop', name }, labels, spec: dataplane });
  if (isConnected === null) return;
  const spec = { subscriptions: [{ id: name, ...(isConnected ? connected : gone) }] };
  await store.write({ op: 'put', key: { type: 'DataplaneInsight', mesh: 'shop', name }, labels, spec });
}

async function removeProxy({ store }: Zone, name: string): Promise<void> {
  for (const type of ['DataplaneInsight', 'Dataplane']) await store.write({ op: 'delete', key: { type, mesh: 'shop', name } });
}

async function startGlobal(): Promise<TinyStore> {
  const store = new TinyStore().withZones('east');
  await store.write({ op: 'create', key: meshKey, labels: {}, spec: {} });
  return store;
}

type Replica = {
  readonly get: (url: string) => Promise<JsonObject>;
  readonly status: (url: string) => Promise<number>;
  readonly flush: () => Promise<void>;
  readonly sent: DeltaRequest[];
  readonly events: SyncEvent[];
  readonly connect: (zone: Zone, isMeridian: boolean) => () => void;
};

function startReplica(store: TinyStore, insights: InsightsKept): Replica {
  // Summaries are counted again for each request.
  let requests = 0;
  const clock = { ...systemClock, now: () => new Date((requests += 1) * 2_000) };
  const app = testApi(store, 'global', { insights, clock, addRoutes: addPolicyInspect(globalSendRules()) });
  const keeper = { mode: 'global', instanceId: `global-${insights}` } as const;
  const writer = new ZoneInsightWriter({ store, keeper, log, clock: systemClock });
  const [sent, events]: [DeltaRequest[], SyncEvent[]] = [[], []];
  cleanUps.push(() => app.close());
  return {
    get: async (url) => (await app.inject(url)).json<JsonObject>(),
    status: async (url) => (await app.inject(url)).statusCode,
    flush: () => writer.flush(),
    sent,
    events,
    connect({ changelog }, isMeridian) {
      let isCut = false;
      let work = Promise.resolve();
      const common = { peer: 'east', streamId: 'east', maxMessageBytes: 10_485_760, log, clock: systemClock };
      const sender = new Sender({
        ...common,
        ...{ identifier: 'east', changelog, zones: null, initialSyncLimiter: new InitialSyncLimiter(systemClock) },
        fail: () => undefined,
        observe: () => undefined,
        send(message) {
          // A receiver that has lost its fence ends its stream.
          const end = (): void => void (isCut = true);
          work = work.then(async () => {
            if (!isCut) await receiver.handle(decodeDeltaResponse(message)).catch(end);
          });
        },
      });
      const rules = globalReceiveRules('east', { hashedNames: true });
      const observe = (event: SyncEvent): void => {
        events.push(event);
        writer.observe(event);
      };
      const sinking = { ...common, pace: atOnce, most: Infinity, resumes: isMeridian, insights };
      const receiver = new Receiver({
        ...common,
        ...{ zone: 'east', rules, store, resume: isMeridian, sink: insightSink({ ...sinking, rules, observe }) },
        ...{ node: { version: '0', instanceId: 'i', config: '' }, validate: () => [] },
        observe,
        send(message) {
          if (isCut) return;
          const request = decodeDeltaRequest(message);
          sent.push(request);
          sender.handle(request);
        },
      });
      work = work.then(() => receiver.start());
      const cut = (): void => {
        isCut = true;
        sender.close();
        receiver.close();
      };
      cleanUps.push(cut);
      return cut;
    },
  };
}

const insightRows = (store: TinyStore): string[] =>
  [...store.rows.values()].flatMap(({ type, name }) => (type === 'DataplaneInsight' ? [name] : [])).sort();
const dataplanesOf = async ({ get, flush }: Replica): Promise<unknown> => {
  await flush();
  return (await get('/mesh-insights/shop'))['dataplanes'];
};
const expectCounts = (replica: Replica, counts: JsonObject): Promise<void> =>
  vi.waitFor(async () => expect(await dataplanesOf(replica)).toEqual(counts), WAIT);
const overviewsOf = async ({ get }: Replica): Promise<JsonObject[]> =>
  (await get('/meshes/shop/dataplanes/_overview'))['items'] as JsonObject[];

describe.each([
  ['Kuma', ZONE_OF_KUMA],
  ['Meridian', ZONE_OF_MERIDIAN],
])('the proxies of a zone of %s at a global that keeps counts', (_name, isMeridian) => {
  it('are counted without a row for each, and followed', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true, b: true, c: false })];
    await putProxy(zone, 'never', null);
    const global = startReplica(store, 'counts');
    global.connect(zone, isMeridian);
    await expectCounts(global, { total: 4, online: 2, offline: 2 });
    await putProxy(zone, 'c', true);
    await expectCounts(global, { total: 4, online: 3, offline: 1 });
    await removeProxy(zone, 'a');
    await expectCounts(global, { total: 3, online: 2, offline: 1 });
    expect(insightRows(store)).toEqual([]);
    expect(await global.get('/global-insight')).toMatchObject({ dataplanes: { standard: { total: 3, online: 2, offline: 1 } } });
    expect(await global.get('/mesh-insights/shop')).toMatchObject({
      dpVersions: { envoy: { '1.30.0': { total: 2, online: 2 } } },
    });
    expect(await global.get('/zones/east/_overview')).toMatchObject({
      proxies: { total: 3, online: 2, offline: 1, meshes: [{ mesh: 'shop', total: 3, online: 2, offline: 1 }] },
    });
  });

  it('are acknowledged, and no counts are reported while nothing changes', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true })];
    const global = startReplica(store, 'counts');
    global.connect(zone, isMeridian);
    await expectCounts(global, { total: 1, online: 1 });
    const answers = global.sent.filter(({ typeUrl, responseNonce }) => typeUrl === 'DataplaneInsight' && responseNonce !== '');
    expect(answers.map(({ errorDetail }) => errorDetail)).toEqual([null]);
    const counted = global.events.filter(({ kind }) => kind === 'counted').length;
    await putProxy(zone, 'a', true);
    await zone.store.write({
      op: 'put',
      key: { type: 'DataplaneInsight', mesh: 'shop', name: 'a' },
      labels: { team: 'x' },
      spec: { subscriptions: [{ id: 'a', ...connected }] },
    });
    await vi.waitFor(() => {
      const received = global.events.filter((event) => event.kind === 'received' && event.type === 'DataplaneInsight');
      expect(received.length).toBeGreaterThan(1);
    }, WAIT);
    expect(global.events.filter(({ kind }) => kind === 'counted')).toHaveLength(counted);
  });

  it('are unknown and not offline until the zone has sent all', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true })];
    const before = startReplica(store, 'counts');
    before.connect(zone, isMeridian)();
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const owner = { type: 'Zone', mesh: '', name: 'east' };
    await store.write({ op: 'create', key: { type: 'Dataplane', mesh: 'shop', name: 'a' }, labels, spec: dataplane, owner });
    expect(await dataplanesOf(before)).toEqual({ total: 1, unknown: 1 });
    expect(await before.get('/global-insight')).toMatchObject({
      dataplanes: { standard: { total: 1, online: 0, offline: 0, unknown: 1 } },
    });
  });

  it('keep their counts through a restart of global until the zone is back', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true, b: true })];
    const before = startReplica(store, 'counts');
    const cut = before.connect(zone, isMeridian);
    await expectCounts(before, { total: 2, online: 2 });
    cut();
    await putProxy(zone, 'b', false);
    const after = startReplica(store, 'counts');
    expect(await dataplanesOf(after)).toEqual({ total: 2, online: 2 });
    after.connect(zone, isMeridian);
    await expectCounts(after, { total: 2, online: 1, offline: 1 });
  });

  it('come from the stream with the higher epoch, in any order of the writes of replicas', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true })];
    const [one, other] = [startReplica(store, 'counts'), startReplica(store, 'counts')];
    one.connect(zone, isMeridian);
    await vi.waitFor(() => expect(one.events.some(({ kind }) => kind === 'counted')).toBe(true), WAIT);
    await putProxy(zone, 'b', true);
    other.connect(zone, isMeridian);
    await expectCounts(other, { total: 2, online: 2 });
    await one.flush();
    expect(await dataplanesOf(one)).toEqual({ total: 2, online: 2 });
  });

  it('lose their rows when the counts begin, and get them back when they end', async () => {
    const [store, zone] = [await startGlobal(), await startZone({ a: true, b: false })];
    const all = startReplica(store, 'all');
    const end = all.connect(zone, isMeridian);
    await expectCounts(all, { total: 2, online: 1, offline: 1 });
    const names = insightRows(store);
    expect(names).toHaveLength(2);
    end();

    const counts = startReplica(store, 'counts');
    expect(await dataplanesOf(counts)).toEqual({ total: 2, online: 1, offline: 1 });
    const stop = counts.connect(zone, isMeridian);
    await vi.waitFor(() => expect(insightRows(store)).toEqual([]), WAIT);
    await expectCounts(counts, { total: 2, online: 1, offline: 1 });
    // A replica that still has the other setting knows no more of the proxies.
    const unknown = expect.stringContaining('ask a control plane of zone east') as unknown;
    await expectCounts(all, { total: 2, online: 1, offline: 1 });
    expect(await overviewsOf(all)).toMatchObject([{ insightUnknown: unknown }, { insightUnknown: unknown }]);
    stop();

    const again = startReplica(store, 'all');
    again.connect(zone, isMeridian);
    await vi.waitFor(() => expect(insightRows(store)).toEqual(names), WAIT);
    await expectCounts(again, { total: 2, online: 1, offline: 1 });
    await putProxy(zone, 'b', true);
    await expectCounts(again, { total: 2, online: 2 });
    expect(await again.get('/zones/east/_overview')).not.toHaveProperty('proxies');
    expect((await overviewsOf(again)).filter((one) => 'insightUnknown' in one)).toEqual([]);
  });

  it('are counted although the zone has none at first', async () => {
    const [store, zone] = [await startGlobal(), await startZone({})];
    const global = startReplica(store, 'counts');
    global.connect(zone, isMeridian);
    await putProxy(zone, 'a', true);
    await expectCounts(global, { total: 1, online: 1 });
  });
});

describe('a global that keeps counts', () => {
  async function withProxies(): Promise<{ global: Replica; path: string; why: string; store: TinyStore }> {
    const [store, zone] = [await startGlobal(), await startZone({ a: true })];
    const global = startReplica(store, 'counts');
    global.connect(zone, ZONE_OF_MERIDIAN);
    await expectCounts(global, { total: 1, online: 1 });
    const [name = ''] = [...store.rows.values()].flatMap((row: ResourceKey) => (row.type === 'Dataplane' ? [row.name] : []));
    const why =
      'global keeps only counts of the proxies of zone east (multizone.global.insights): ask a control plane of zone east';
    return { global, path: `/meshes/shop/dataplanes/${name}`, why, store };
  }

  it('says in the overview of a proxy which zone to ask', async () => {
    const { global, path, why } = await withProxies();
    const overview = await global.get(`${path}/_overview`);
    expect(overview).toMatchObject({ insightUnknown: why });
    expect(overview).not.toHaveProperty('dataplaneInsight');
  });

  it('computes no configuration for a proxy of unknown features', async () => {
    const { global, path, why } = await withProxies();
    expect(await global.status(`${path}/_config`)).toBe(409);
    expect(await global.get(`${path}/_config`)).toMatchObject({ detail: why });
  });

  it('does not say that a service takes plain text, or that a way to it is broken', async () => {
    const { global, why, store } = await withProxies();
    const spec = { selector: { dataplaneLabels: { matchLabels: { app: 'a' } } }, ports: [{ port: 80 }], state: 'Available' };
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/display-name': 'cart' };
    await store.write({ op: 'create', key: { type: 'MeshService', mesh: 'shop', name: 'cart' }, labels, spec });
    expect(await global.get('/meshes/shop/_tls')).toMatchObject({
      services: { total: 1, strict: 0, permissive: 0, plaintext: 0, unknown: 1 },
      items: [{ tls: 'unknown', reason: why }],
    });
    const ways = (await global.get('/meshes/shop/meshservices/cart/_ways'))['items'];
    expect(ways).toMatchObject([{ state: 'unknown', parts: [{ part: 'caller' }, { part: 'server', state: 'unknown', why }] }]);
  });

  it('refuses lists of insights, which would be empty', async () => {
    const { global } = await withProxies();
    for (const url of ['/dataplane-insights', '/meshes/shop/dataplane-insights', '/meshes/shop/dataplane-insights/a']) {
      expect(await global.status(url)).toBe(409);
      expect(await global.get(url)).toMatchObject({
        detail: 'global keeps only counts of the proxies of zones (multizone.global.insights): ask a control plane of their zone',
      });
    }
  });
});
