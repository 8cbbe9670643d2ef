// Zones that are members of some meshes, with the real sender, receiver and rules: at rest each zone has exactly what its meshes and
// labels allow, and the same as a zone that asks from the start.
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { runSteps } from '../../src/base/steps.ts';
import { explainOnGlobal } from '../../src/inspect/explain-sync.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { MAX_ROW_NAMES, membershipChange, type RowGroups } from '../../src/kds/log/membership-change.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalSendRules, zoneReceiveRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { profileOf } from '../../src/resource/zone-profile.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../../src/resource/types.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { following } from '../support/following.ts';
import { fc } from '../support/property.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { WAIT } from '../support/wait.ts';

const log = createLogger('silent');
const ZONES = ['east', 'west', 'north'];
const MESHES = ['a', 'b', 'c'];

type Global = {
  readonly store: TinyStore;
  readonly changelog: Changelog;
  readonly zones: KnownZones;
  readonly events: SyncEvent[];
  readonly stop: () => Promise<void>;
};

async function startGlobal(): Promise<Global> {
  const stop = new AbortController();
  const store = new TinyStore().withZones(...ZONES);
  for (const mesh of MESHES) await store.write({ op: 'create', key: meshKey(mesh), labels: {}, spec: {} });
  const zones = new KnownZones(store, following);
  const changelog = new Changelog(store, globalSendRules(), log);
  zones.onChange((change) => changelog.touchZone(change));
  const running = [zones.run(stop.signal), changelog.run(stop.signal)];
  await Promise.all([zones.loaded, changelog.ready]);
  const end = async (): Promise<void> => {
    stop.abort();
    await Promise.all(running);
  };
  return { store, changelog, zones, events: [], stop: end };
}

/** One stream from global to a zone. A cut loses the messages in flight. */
function connect({ changelog, zones, events }: Global, zone: string, into: TinyStore, resume: boolean): () => void {
  let isCut = false;
  let work = Promise.resolve();
  const common = { peer: zone, streamId: zone, maxMessageBytes: 10_485_760, log, clock: systemClock };
  const sender = new Sender({
    ...common,
    ...{ identifier: 'global', changelog, zones, initialSyncLimiter: new InitialSyncLimiter(systemClock) },
    fail: () => undefined,
    observe: (event) => void events.push(event),
    send(message) {
      work = work.then(async () => {
        if (!isCut) await receiver.handle(decodeDeltaResponse(message));
      });
    },
  });
  const receiver = new Receiver({
    ...common,
    ...{ zone, rules: zoneReceiveRules(), store: into, resume, validate: () => [], observe: () => undefined },
    node: { version: '0', instanceId: 'i', config: '' },
    send(message) {
      if (!isCut) sender.handle(decodeDeltaRequest(message));
    },
  });
  work = work.then(() => receiver.start());
  return () => {
    isCut = true;
    sender.close();
  };
}

function meshKey(name: string): ResourceKey {
  return { type: 'Mesh', mesh: '', name };
}

function putZone(store: TinyStore, name: string, spec: JsonObject, labels: Labels = {}): Promise<unknown> {
  return store.write({ op: 'put', key: { type: 'Zone', mesh: '', name }, labels, spec });
}

/** A row of a zone on global. */
function putService(store: TinyStore, zone: string, mesh: string, name: string, labels: Labels = {}): Promise<unknown> {
  const given = { 'kuma.io/origin': 'zone', 'kuma.io/zone': zone, 'kuma.io/display-name': name, ...labels };
  const owner = { type: 'Zone', mesh: '', name: zone };
  const key = { type: 'MeshService', mesh, name: `${name}-${zone}` };
  return store.write({ op: 'put', key, labels: given, spec: { ports: [], state: 'Unavailable' }, owner });
}

/** Type, mesh and display name of every row that came from global, sorted. */
function rowsOf(store: TinyStore): string[] {
  return [...store.rows.values()]
    .filter(({ syncVersion }) => syncVersion !== null)
    .map((row) => `${row.type} ${row.mesh} ${shownName(row)} ${JSON.stringify(row.spec)}`)
    .sort();
}

const shownName = ({ name, labels }: Resource): string =>
  `${labels['kuma.io/display-name'] ?? name} ${labels['kuma.io/zone'] ?? ''}`;

/** What a zone should have, by the rules as people read them. */
function expectedRows({ store }: Global, zone: string): string[] {
  const zones = new Map([...store.rows.values()].flatMap((row) => (row.type === 'Zone' ? [[row.name, row] as const] : [])));
  const isMember = (name: string, mesh: string): boolean => {
    const { meshes } = zones.get(name)?.spec ?? {};
    return !Array.isArray(meshes) || meshes.includes(mesh);
  };
  const isSent = (row: Resource): boolean => {
    const mesh = row.type === 'Mesh' ? row.name : row.mesh;
    const home = row.labels['kuma.io/zone'];
    if (row.type === 'Zone' || home === zone || !isMember(zone, mesh)) return false;
    if (home !== undefined && !isMember(home, mesh)) return false;
    const region = row.labels['exported-to.meridian.io/region'];
    return region === undefined || zones.get(zone)?.labels['region'] === region;
  };
  return [...store.rows.values()]
    .filter(isSent)
    .map((row) => `${row.type} ${row.mesh} ${shownName(row)} ${JSON.stringify(row.spec)}`)
    .sort();
}

/** The same without content. */
function namesIn(store: TinyStore): string[] {
  return [...store.rows.values()]
    .filter(({ syncVersion }) => syncVersion !== null)
    .map((row) => `${row.type} ${row.mesh} ${shownName(row)}`)
    .sort();
}

/** Type and mesh with the number of resources, sorted. */
function countOf(names: readonly string[]): string[] {
  const groups = Map.groupBy(names, (text) => text.split(' ').slice(0, 2).join(' '));
  return [...groups].map(([group, of]) => `${group} ${String(of.length)}`).sort();
}

function groupsOf({ groups }: RowGroups): string[] {
  for (const { total, names } of groups) expect(names).toHaveLength(Math.min(total, MAX_ROW_NAMES));
  return groups.map(({ type, mesh: of, total }) => `${type} ${of} ${String(total)}`).sort();
}

const zone = fc.constantFrom(...ZONES);
const mesh = fc.constantFrom(...MESHES);
const name = fc.constantFrom('x', 'y');
const region = fc.constantFrom('eu', 'us');
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('timeout' as const), mesh, name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('service' as const), zone, mesh, name, region: fc.option(region) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), index: fc.nat(30) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('meshes' as const), zone, meshes: fc.subarray(MESHES), region }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('mesh' as const), mesh }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reconnect' as const), zone, resume: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
);

describe('the membership of zones in meshes', () => {
  it('gives each zone the same as a new zone gets, after any changes of members, labels and rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (commands) => {
        const global = await startGlobal();
        const { store } = global;
        const stores = new Map(ZONES.map((one) => [one, new TinyStore()]));
        const storeOf = (one: string): TinyStore => stores.get(one) ?? new TinyStore();
        const streams = new Map(ZONES.map((one) => [one, connect(global, one, storeOf(one), true)]));
        let n = 0;
        for (const step of commands) {
          if (step.do === 'wait') await new Promise((resolve) => setImmediate(resolve));
          else if (step.do === 'reconnect') {
            streams.get(step.zone)?.();
            streams.set(step.zone, connect(global, step.zone, storeOf(step.zone), step.resume));
          } else if (step.do === 'meshes') {
            // No list means all meshes.
            const spec = step.meshes.length === 0 ? {} : { meshes: step.meshes };
            await putZone(store, step.zone, spec, { region: step.region });
          } else if (step.do === 'timeout') {
            const key = { type: 'MeshTimeout', mesh: step.mesh, name: step.name };
            await store.write({ op: 'put', key, labels: { 'kuma.io/display-name': step.name }, spec: { n: ++n } });
          } else if (step.do === 'service') {
            const labels = step.region === null ? {} : { 'exported-to.meridian.io/region': step.region };
            await putService(store, step.zone, step.mesh, step.name, labels);
          } else if (step.do === 'mesh') {
            // Deleted and created again: the zone loses it in between.
            await store.write({ op: 'delete', key: meshKey(step.mesh) });
            await store.write({ op: 'create', key: meshKey(step.mesh), labels: {}, spec: {} });
          } else {
            const rows = [...store.rows.values()].filter(({ type }) => type === 'MeshTimeout' || type === 'MeshService');
            const row = rows[step.index % Math.max(1, rows.length)];
            if (row !== undefined) await store.write({ op: 'delete', key: row });
          }
        }
        for (const one of ZONES) {
          await vi.waitFor(() => expect(rowsOf(storeOf(one))).toEqual(expectedRows(global, one)), { ...WAIT, interval: 2 });
          streams.get(one)?.();
          const fresh = new TinyStore();
          const cut = connect(global, one, fresh, false);
          await vi.waitFor(() => expect(rowsOf(fresh)).toEqual(rowsOf(storeOf(one))), { ...WAIT, interval: 2 });
          cut();
        }
        await global.stop();
      }),
      { numRuns: 150 },
    );
  });

  it('loses and gets the resources of its preview and of explain-sync, for any zone, rows and labels', async () => {
    const zoneOf = fc.record({ meshes: fc.subarray(MESHES), region, isEnabled: fc.constantFrom(true, true, false) });
    const service = fc.record({ zone, mesh, name, region: fc.option(region) });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ zones: fc.tuple(zoneOf, zoneOf, zoneOf), after: zoneOf, services: fc.array(service, { maxLength: 12 }) }),
        async ({ zones: before, after, services }) => {
          const global = await startGlobal();
          const { store, changelog, zones } = global;
          const put = ({ meshes, isEnabled, region: of }: typeof after, one: string): Promise<unknown> =>
            putZone(store, one, { ...(meshes.length > 0 && { meshes }), enabled: isEnabled }, { region: of });
          for (const [index, one] of ZONES.entries()) await put(before[index] ?? after, one);
          for (const of of services)
            await putService(
              store,
              of.zone,
              of.mesh,
              of.name,
              of.region === null ? {} : { 'exported-to.meridian.io/region': of.region },
            );
          for (const one of MESHES)
            await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: one, name: 't' }, labels: {}, spec: { one } });
          await Promise.all([changelog.caughtUp(), zones.caughtUp()]);
          const stores = new Map(ZONES.map((one) => [one, new TinyStore()]));
          const cuts = ZONES.map((one) => connect(global, one, stores.get(one) ?? store, true));
          const held = (one: string): string[] => namesIn(stores.get(one) ?? store);
          const explained = (one: string): string[] => {
            const known = ZONES.map((each) => ({ name: each, profile: zones.profileOf(each), insight: {} }));
            return [...store.rows.values()]
              .filter(({ type }) => type !== 'Zone')
              .filter((row) => explainOnGlobal(changelog.rules, row, known).targets.find(({ to }) => to === one)?.isSent)
              .map((row) => `${row.type} ${row.mesh} ${shownName(row)}`)
              .sort();
          };
          const settled = async (): Promise<void> => {
            for (const one of ZONES) await vi.waitFor(() => expect(held(one)).toEqual(explained(one)), { ...WAIT, interval: 2 });
          };
          await settled();
          const had = new Map(ZONES.map((one) => [one, held(one)]));
          const { meshes, isEnabled, region: of } = after;
          const spec = { ...(meshes.length > 0 && { meshes }), enabled: isEnabled };
          const change = { zone: 'east', before: zones.profileOf('east'), after: profileOf({ spec, labels: { region: of } }) };
          const view = { features: null, profileOf: (one: string) => zones.profileOf(one) };
          const preview = runSteps(membershipChange(changelog, change, view));
          await put(after, 'east');
          await zones.caughtUp();
          await settled();
          const lost = (one: string): string[] => countOf(had.get(one)?.filter((each) => !held(one).includes(each)) ?? []);
          const got = (one: string): string[] => countOf(held(one).filter((each) => !had.get(one)?.includes(each)));
          expect([groupsOf(preview.loses), groupsOf(preview.gets)]).toEqual([lost('east'), got('east')]);
          // What another zone loses or gets is in the preview; that no other zone may see it changes nothing.
          const others = [...store.rows.values()].filter(({ labels }) => labels['kuma.io/zone'] === 'east');
          const moved = new Set([...preview.othersLose.groups, ...preview.othersGet.groups].map((each) => each.mesh));
          for (const one of ['west', 'north'])
            for (const text of [...lost(one), ...got(one)])
              expect([...moved].some((each) => text.includes(` ${each} `))).toBe(true);
          expect(preview.othersLose.total + preview.othersGet.total).toBe(others.filter((row) => moved.has(row.mesh)).length);
          for (const cut of cuts) cut();
          await global.stop();
        },
      ),
      { numRuns: 100 },
    );
  });

  it('of one zone is changed without a message to another zone, and with nothing but the difference to this one', async () => {
    const global = await startGlobal();
    const { store, events } = global;
    for (const one of MESHES) {
      const key = { type: 'MeshTimeout', mesh: one, name: 't' };
      await store.write({ op: 'create', key, labels: { 'kuma.io/display-name': 't' }, spec: {} });
    }
    const stores = ZONES.map((one) => {
      const into = new TinyStore();
      connect(global, one, into, true);
      return into;
    });
    await vi.waitFor(() => {
      for (const into of stores) expect(rowsOf(into)).toHaveLength(6);
    }, WAIT);
    events.length = 0;
    const sent = (): unknown[] =>
      events.flatMap((event) =>
        event.kind === 'sent' ? [[event.peer, event.type, event.resources, event.removed] as const] : [],
      );
    await putZone(store, 'east', { meshes: ['a', 'b'] });
    await vi.waitFor(() => expect(rowsOf(stores[0] ?? store)).toEqual(expectedRows(global, 'east')), WAIT);
    expect(sent().sort()).toEqual([
      ['east', 'Mesh', 0, 1],
      ['east', 'MeshTimeout', 0, 1],
    ]);
    events.length = 0;
    await putZone(store, 'east', { meshes: ['a', 'b', 'c'] });
    await vi.waitFor(() => expect(rowsOf(stores[0] ?? store)).toHaveLength(6), WAIT);
    expect(sent().sort()).toEqual([
      ['east', 'Mesh', 1, 0],
      ['east', 'MeshTimeout', 1, 0],
    ]);
    await global.stop();
  });

  it('that ends while the zone is away takes the rows of the mesh, and sends nothing that the zone has', async () => {
    const global = await startGlobal();
    const { store, events } = global;
    const into = new TinyStore();
    const cut = connect(global, 'east', into, true);
    await vi.waitFor(() => expect(rowsOf(into)).toHaveLength(3), WAIT);
    cut();
    await putZone(store, 'east', { meshes: ['a'] });
    await global.zones.caughtUp();
    events.length = 0;
    const again = connect(global, 'east', into, true);
    await vi.waitFor(() => expect(rowsOf(into)).toEqual(expectedRows(global, 'east')), WAIT);
    const sent = events.flatMap((event) => (event.kind === 'sent' ? [event.resources] : []));
    expect(Math.max(...sent)).toBe(0);
    again();
    await global.stop();
  });
});

describe('a zone that has resources of its own in a mesh that is taken from it', () => {
  const dataplane = { type: 'Dataplane', mesh: 'b', name: 'dp-1' };
  const service = { type: 'MeshService', mesh: 'b', name: 'cart' };

  async function setUp(): Promise<{ global: Global; into: TinyStore; cut: () => void; refused: () => unknown }> {
    const global = await startGlobal();
    const into = new TinyStore();
    await putService(global.store, 'west', 'b', 'cart');
    const cut = connect(global, 'east', into, true);
    await vi.waitFor(() => expect(rowsOf(into)).toHaveLength(4), WAIT);
    const own = { labels: { 'kuma.io/origin': 'zone' }, owner: meshKey('b') };
    // No Mesh owns a Dataplane.
    await into.write({ op: 'create', key: dataplane, spec: {}, labels: own.labels, owner: null });
    const computed = { ...own, labels: { ...own.labels, 'kuma.io/managed-by': 'meshservice-generator' } };
    await into.write({ op: 'create', key: service, spec: {}, ...computed });
    const refused = (): unknown => {
      const found = global.events.findLast((event) => event.kind === 'refused' && event.type === 'Mesh');
      return found?.kind === 'refused' ? found.refused.first.map((name) => [name, found.refused.reason]) : [];
    };
    return { global, into, cut, refused };
  }

  it('keeps the Mesh with a reason and its own resources, and loses the copies from global', async () => {
    const { global, into, refused } = await setUp();
    await putZone(global.store, 'east', { meshes: ['a', 'c'] });
    await vi.waitFor(() => expect(refused()).toEqual([['b.', expect.stringContaining('Dataplane dp-1')]]), WAIT);
    await vi.waitFor(() => expect(rowsOf(into).filter((text) => text.startsWith('MeshService'))).toEqual([]), WAIT);
    expect(into.rows.size).toBeGreaterThan(0);
    expect(await into.get(dataplane)).toBeDefined();
    expect(await into.get(meshKey('b'))).toBeDefined();
    await global.stop();
  });

  it('keeps the Mesh for a resource that a tool manages', async () => {
    const { global, into, refused } = await setUp();
    await into.write({ op: 'delete', key: dataplane });
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/managed-by': 'terraform' };
    const timeout = { type: 'MeshTimeout', mesh: 'b', name: 'slow' };
    await into.write({ op: 'create', key: timeout, spec: {}, labels, owner: meshKey('b') });
    await putZone(global.store, 'east', { meshes: ['a', 'c'] });
    await vi.waitFor(() => expect(refused()).toEqual([['b.', expect.stringContaining('MeshTimeout slow')]]), WAIT);
    expect(await into.get(timeout)).toBeDefined();
    await global.stop();
  });

  it('has everything again when the mesh is given back, and the Mesh is no longer refused', async () => {
    const { global, into, refused } = await setUp();
    await putZone(global.store, 'east', { meshes: ['a', 'c'] });
    await vi.waitFor(() => expect(refused()).toHaveLength(1), WAIT);
    await putZone(global.store, 'east', {});
    await vi.waitFor(() => expect(rowsOf(into)).toEqual(expectedRows(global, 'east')), WAIT);
    await vi.waitFor(() => expect(refused()).toEqual([]), WAIT);
    await global.stop();
  });

  it.each([
    ['at once', true],
    ['when it comes back', false],
  ])('keeps them and the Mesh when the label kuma.io/kds-sync withdraws the Mesh from all zones: %s', async (_, isConnected) => {
    const { global, into, cut, refused } = await setUp();
    if (!isConnected) cut();
    await global.store.write({ op: 'put', key: meshKey('b'), labels: { 'kuma.io/kds-sync': 'disabled' }, spec: {} });
    await global.changelog.caughtUp();
    if (!isConnected) connect(global, 'east', into, true);
    await vi.waitFor(() => expect(refused()).toEqual([['b.', expect.stringContaining('Dataplane dp-1')]]), WAIT);
    expect(await into.get(dataplane)).toBeDefined();
    expect(await into.get(meshKey('b'))).toBeDefined();
    await global.store.write({ op: 'delete', key: meshKey('b') });
    await vi.waitFor(async () => expect(await into.get(meshKey('b'))).toBeUndefined(), WAIT);
    expect(await into.get(service)).toBeUndefined();
    await global.stop();
  });

  it('loses the Mesh and what it owns when the Mesh is deleted on global', async () => {
    const { global, into } = await setUp();
    await global.store.write({ op: 'delete', key: meshKey('b') });
    await vi.waitFor(async () => expect(await into.get(meshKey('b'))).toBeUndefined(), WAIT);
    expect(await into.get(service)).toBeUndefined();
    await global.stop();
  });

  it('loses the Mesh when only computed rows are left in it', async () => {
    const { global, into } = await setUp();
    await into.write({ op: 'delete', key: dataplane });
    await putZone(global.store, 'east', { meshes: ['a', 'c'] });
    await vi.waitFor(async () => expect(await into.get(meshKey('b'))).toBeUndefined(), WAIT);
    await global.stop();
  });
});
