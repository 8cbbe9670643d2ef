// `GET /_events` over HTTP: what a stream has of zones and changes, who may see it, and what becomes of a stream that broke off or
// whose client does not read.
import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../../src/replicas/replica-questions.ts';
import { aborted } from '../../src/base/supervise.ts';
import { createEvents, type Events } from '../../src/events/create-events.ts';
import { EventHub, type EventSource, type Tell } from '../../src/events/event-hub.ts';
import { addEventRoutes, UNREAD_MS } from '../../src/events/event-routes.ts';
import { PACE_MS } from '../../src/events/event-hub.ts';
import { answerSchemas } from '../../src/answers/answers.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { ProxyInsights } from '../../src/zone-status/proxy-insights.ts';
import { HIDDEN } from '../../src/base/hidden-keys.ts';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { keyFinds } from '../support/key-finds.ts';
import { CurrentProblems } from '../../src/problems/current-problems.ts';
import { addProblemRoutes } from '../../src/problems/problem-routes.ts';
import { Receipts } from '../../src/receipts/receipts.ts';
import { ReplicaRoster } from '../../src/replicas/replica-roster.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { following } from '../support/following.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';
import { ANY_ZONE } from '../../src/resource/zone-profile.ts';

let app: FastifyInstance;
let stop: AbortController;
beforeEach(() => (stop = new AbortController()));
afterEach(async () => {
  stop.abort();
  await app.close();
});

type Item = Record<string, unknown>;

/** A stream as far as it was read. */
class Reader {
  text = '';

  static async of(path = '/_events', headers: Record<string, string> = {}): Promise<Reader> {
    const { port } = app.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, { headers, signal: stop.signal });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    const reader = new Reader();
    void reader.#read(answer).catch(() => undefined);
    await expect.poll(() => reader.lastId).not.toBe('');
    return reader;
  }

  async #read({ body }: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) this.text += decoder.decode(chunk as Uint8Array, { stream: true });
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
  }

  /** The names of events with their data, in their order. */
  get events(): [string, Item][] {
    const found = this.text.matchAll(/^event: (\w+)\n(?:id: .*\n)?data: (.*)\n\n/gm);
    return [...found].map(([, event = '', data = '']) => [event, JSON.parse(data) as Item]);
  }

  itemsOf(topic: string): Item[] {
    return this.events.flatMap(([event, { items }]) => (event === topic ? (items as Item[]) : []));
  }
}

describe('a stream of events', () => {
  let store: TinyStore;
  let events: Events;
  let receipts: Receipts;
  let changelog: Changelog;
  let roster: ReplicaRoster;

  const tell = (event: SyncEvent): void => {
    receipts.observe(event);
    events.observe(event);
  };
  const acknowledge = (peer: string, type: string): void => {
    const position = changelog.logOf(type)?.position ?? 0;
    const about = { peer, streamId: peer, type, position };
    tell({ kind: 'sent', ...about, resources: 1, removed: 0, bytes: 1 });
    tell({ kind: 'acknowledged', ...about, seconds: 0 });
  };
  const put = async (type: string, name: string): Promise<void> => {
    await store.write({ op: 'put', key: { type, mesh: 'default', name }, labels: {}, spec: {} });
  };
  const insight = async (zone: string, subscription: Record<string, string>, status: JsonObject = {}): Promise<void> => {
    const spec = { subscriptions: [{ id: '1', ...subscription }] };
    await store.write({ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: zone }, labels: {}, spec, status });
  };
  const connected = { connectTime: '2026-01-01T00:00:00.000Z' };
  const refusal = (type: string): JsonObject => ({
    ...{ stream: 'globalToZone', type, kind: 'refused', resources: ['a.default'], count: 1 },
    ...{ message: 'no', time: '2026-01-01T00:00:00.000Z' },
  });

  beforeEach(async () => {
    store = new TinyStore().withZones('east', 'west');
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
    const questions = new ReplicaQuestions({ store, instanceId: 'cp-1', ...following });
    receipts = new Receipts({ mode: 'global', store, questions, instanceId: 'cp-1', ...following });
    changelog = new Changelog(store, globalSendRules(), following.log);
    void changelog.run(stop.signal);
    await changelog.ready;
    receipts.serve(changelog, { names: () => ['east', 'west'], profileOf: () => ANY_ZONE });
    roster = new ReplicaRoster({ store, instanceId: 'cp-1', version: '0.1.0-preview', ...following });
    const lagOf = (): undefined => undefined;
    const ends = async () => ({ certificates: new Map<string, Date>(), tokens: new Map<string, Date>() });
    const about = { mode: 'global', zone: null, instanceId: 'cp-1', productVersion: '0.1.0-preview' } as const;
    const problems = new CurrentProblems({
      ...{ ...about, store, lagOf, roster, ends, clock: following.clock },
      notForwarded: () => new Map(),
      takeoverLosses: () => [],
      refusedProxies: () => [],
      insights: new ProxyInsights({ store, kept: 'all' }),
      indexes: { known: () => [] },
    });
    events = createEvents({ store, lagOf, receipts, problems, roster, instanceId: 'cp-1', ...following });
    app = testApi(store, 'global', {
      addRoutes: (api, context) => {
        addEventRoutes(api, context, events.hub);
        addProblemRoutes(api, context, problems, roster);
      },
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    for (const peer of ['east', 'west']) tell({ kind: 'opened', peer, streamId: peer, stream: 'globalToZone', authorized: true });
  });

  it('tells when a zone connects, leaves and is deleted', async () => {
    const reader = await Reader.of();
    await insight('east', { connectTime: '2026-01-01T00:00:00.000Z' });
    const states = (): unknown[] =>
      reader.itemsOf('zones').map(({ name, sync, isRemoved }) => [name, (sync as Item | undefined)?.['state'] ?? isRemoved]);
    await expect.poll(states).toEqual([['east', 'online']]);
    await insight('east', { connectTime: '2026-01-01T00:00:00.000Z', disconnectTime: '2026-01-01T00:01:00.000Z' });
    await expect.poll(states).toEqual([['east', 'online'], ['east', 'offline']]); // oxfmt-ignore
    await store.write({ op: 'delete', key: { type: 'Zone', mesh: '', name: 'west' } });
    await expect.poll(() => states().at(-1)).toEqual(['west', true]);
  });

  it('says nothing of an insight whose counts alone changed', async () => {
    const reader = await Reader.of();
    const connectTime = '2026-01-01T00:00:00.000Z';
    for (const generation of ['1', '2']) await insight('east', { connectTime, generation });
    await insight('west', { connectTime });
    await expect.poll(() => reader.itemsOf('zones').some(({ name }) => name === 'west')).toBe(true);
    expect(reader.itemsOf('zones').filter(({ name }) => name === 'east')).toHaveLength(1);
  });

  it('tells when the meshes or labels of a zone change, and not again with its insight', async () => {
    await insight('east', connected);
    const reader = await Reader.of();
    const put = async (meshes: string[], labels: Record<string, string>): Promise<void> => {
      await store.write({ op: 'put', key: { type: 'Zone', mesh: '', name: 'east' }, labels, spec: { meshes } });
    };
    const told = (): unknown[] => reader.itemsOf('zones').map(({ name, hasNewProfile }) => [name, hasNewProfile]);
    await put(['shop'], {});
    await expect.poll(told).toEqual([['east', true]]);
    await insight('east', { ...connected, disconnectTime: '2026-01-01T00:01:00.000Z' });
    await expect.poll(told).toEqual([['east', true], ['east', undefined]]); // oxfmt-ignore
    await put(['shop'], { region: 'eu' });
    await expect.poll(told).toEqual([['east', true], ['east', undefined], ['east', true]]); // oxfmt-ignore
    for (const [event, data] of reader.events) if (event === 'zones') answerSchemas.Events.shape.zones.parse(data);
  });

  it('shows no private key of a report of a zone', async () => {
    const { keyPem } = await createSelfSigned('client', ['one'], new Date());
    const reader = await Reader.of();
    const base64 = Buffer.from(keyPem).toString('base64');
    await insight('east', connected, { syncProblems: [{ ...refusal('MeshTimeout'), message: `${keyPem} ${base64}` }] });
    await expect.poll(() => reader.itemsOf('problems').some(({ message }) => String(message).includes(HIDDEN))).toBe(true);
    expect(keyFinds(reader.text, keyPem)).toEqual([]);
  });

  it('counts the zones that have a change', async () => {
    const reader = await Reader.of();
    await put('MeshTimeout', 'slow');
    await expect.poll(() => reader.itemsOf('changes')).toMatchObject([{ name: 'slow', version: 0, targets: 2, applied: 0 }]);
    acknowledge('east', 'MeshTimeout');
    await expect.poll(() => reader.itemsOf('changes').at(-1)).toMatchObject({ name: 'slow', targets: 2, sent: 1, applied: 1 });
    acknowledge('west', 'MeshTimeout');
    await expect
      .poll(() => reader.itemsOf('changes').at(-1))
      .toMatchObject({ applied: 2, refused: 0, slowestMs: expect.any(Number) as number });
  });

  it('has no change of a type that the caller may not read', async () => {
    // Behind a proxy the machine itself is not admin.
    const anonymous = await Reader.of('/_events', { 'x-forwarded-for': '192.0.2.1' });
    const admin = await Reader.of();
    await put('Secret', 'password');
    await put('MeshTimeout', 'slow');
    const names = (reader: Reader): unknown[] => [...new Set(reader.itemsOf('changes').map(({ name }) => name))];
    await expect.poll(() => names(admin).toSorted()).toEqual(['password', 'slow']);
    await expect.poll(() => names(anonymous)).toEqual(['slow']);
    expect(anonymous.text).not.toContain('password');
  });

  it('resumes after its last event, by header or query', async () => {
    const reader = await Reader.of();
    await put('MeshTimeout', 'first');
    await expect.poll(() => reader.itemsOf('changes')).toHaveLength(1);
    await put('MeshTimeout', 'second');
    await expect.poll(() => reader.itemsOf('changes')).toHaveLength(2);
    const id = /^id: (.*)\ndata: .*first/m.exec(reader.text)?.[1] ?? '';
    for (const again of [await Reader.of('/_events', { 'last-event-id': id }), await Reader.of(`/_events?lastEventId=${id}`)]) {
      await expect.poll(() => again.itemsOf('changes').map(({ name }) => name)).toEqual(['second']);
      expect(again.events.map(([event]) => event)).not.toContain('resync');
    }
    const stranger = await Reader.of('/_events', { 'last-event-id': 'x' });
    expect(stranger.events).toEqual([['resync', { reason: 'unknown', instanceId: 'cp-1' }]]);
  });

  it('tells when a problem begins and when it is solved', async () => {
    await insight('east', connected);
    await insight('west', connected);
    const reader = await Reader.of();
    await insight('west', { ...connected, disconnectTime: '2026-01-01T00:01:00.000Z' });
    await expect.poll(() => reader.itemsOf('problems')).toMatchObject([{ id: 'zoneAway/west', code: 'zoneAway', zone: 'west' }]);
    await insight('east', connected, { syncProblems: [refusal('MeshTimeout')] });
    const refused = { code: 'resourcesRefused', zone: 'east', type: 'MeshTimeout', resources: ['a.default'], message: 'no' };
    await expect.poll(() => reader.itemsOf('problems').at(-1)).toMatchObject(refused);
    await insight('west', connected);
    await expect.poll(() => reader.itemsOf('problems').at(-1)).toEqual({ id: 'zoneAway/west', isSolved: true });
  });

  it('has no problem of a type that the caller may not read', async () => {
    const anonymous = await Reader.of('/_events', { 'x-forwarded-for': '192.0.2.1' });
    await insight('east', connected, { syncProblems: [refusal('Secret'), refusal('MeshTimeout')] });
    const types = (items: readonly Item[]): unknown[] => items.flatMap(({ type }) => type ?? []);
    await expect.poll(() => types(anonymous.itemsOf('problems'))).toEqual(['MeshTimeout']);
    const listed = async (headers: Record<string, string>): Promise<unknown[]> =>
      types((await app.inject({ url: '/_problems', headers })).json<{ items: Item[] }>().items);
    expect((await listed({})).toSorted()).toEqual(['MeshTimeout', 'Secret']);
    expect(await listed({ 'x-forwarded-for': '192.0.2.1' })).toEqual(['MeshTimeout']);
  });

  it('tells which replica leads', async () => {
    const reader = await Reader.of();
    roster.setLeader(true);
    await expect.poll(() => reader.itemsOf('leader')).toMatchObject([{ leader: 'cp-1', replicas: [{ instanceId: 'cp-1' }] }]);
    expect((await app.inject('/_replicas')).json()).toEqual(reader.itemsOf('leader')[0]);
  });

  it('has only the topics that the caller names, and refuses others', async () => {
    const reader = await Reader.of('/_events?topics=zones');
    await put('MeshTimeout', 'slow');
    await insight('east', { connectTime: '2026-01-01T00:00:00.000Z' });
    await expect.poll(() => reader.itemsOf('zones')).toHaveLength(1);
    expect(reader.itemsOf('changes')).toEqual([]);
    const refused = await app.inject('/_events?topics=zone');
    expect([refused.statusCode, refused.json()]).toMatchObject([
      400,
      { invalid_parameters: [{ field: 'topics', reason: '"zone" is none; they are zones, lag, changes, problems, leader' }] },
    ]);
  });

  it('has events of the documented form', async () => {
    const reader = await Reader.of();
    await put('MeshTimeout', 'slow');
    acknowledge('east', 'MeshTimeout');
    await insight('east', { connectTime: '2026-01-01T00:00:00.000Z' });
    await store.write({ op: 'delete', key: { type: 'Zone', mesh: '', name: 'west' } });
    await expect.poll(() => reader.itemsOf('zones')).toHaveLength(2);
    roster.setLeader(true);
    await expect.poll(() => reader.itemsOf('leader')).toHaveLength(1);
    await expect.poll(() => reader.itemsOf('problems').length).toBeGreaterThan(1);
    const forms: Record<string, { parse: (data: unknown) => unknown }> = answerSchemas.Events.shape;
    for (const [event, data] of reader.events) forms[event]?.parse(data);
    expect(new Set(reader.events.map(([event]) => event))).toEqual(new Set(['resync', 'changes', 'zones', 'problems', 'leader']));
  });
});

describe('a stream of events whose events are hidden', () => {
  let clock: ManualClock;
  let tell: Tell;

  beforeEach(async () => {
    clock = new ManualClock();
    const source: EventSource = {
      name: 'busy',
      render: {
        zones: (name) => ({ json: JSON.stringify({ name }), type: null }),
        changes: (name) => ({ json: JSON.stringify({ name }), type: 'Secret' }),
      },
      run: async (given, signal) => {
        tell = given;
        tell.loaded();
        await aborted(signal);
      },
    };
    const hub = new EventHub([source], { clock, log: following.log });
    app = testApi(new TinyStore(), 'global', { clock, addRoutes: (api, context) => addEventRoutes(api, context, hub) });
    await app.listen({ host: '127.0.0.1', port: 0 });
  });

  const anonymous = { 'x-forwarded-for': '192.0.2.1' };
  it.each([
    { title: 'of one topic', path: '/_events?topics=leader', headers: {}, busy: 'zones' },
    { title: 'of a caller with few rights', path: '/_events', headers: anonymous, busy: 'changes' },
  ] as const)('$title gets heartbeats, and resumes after them', async ({ path, headers, busy }) => {
    const reader = await Reader.of(path, headers);
    const admin = await Reader.of();
    const heartbeats = (): number => reader.text.split(': alive\n').length - 1;
    for (let minute = 1; minute <= 3; minute += 1) {
      for (let at = 0; at < 6; at += 1) {
        tell.touch(busy, `n-${String(minute)}-${String(at)}`);
        await clock.advance(10_000);
        await expect.poll(() => admin.text).toContain(`n-${String(minute)}-${String(at)}`);
      }
      await expect.poll(heartbeats).toBeGreaterThanOrEqual(2 * minute);
    }
    await clock.advance(30_000);
    await expect.poll(() => reader.lastId).toBe(admin.lastId);
    expect(reader.events.map(([event]) => event)).toEqual(['resync']);
    const id = reader.lastId;
    tell.touch('zones', 'last');
    await clock.advance(PACE_MS);
    const again = await Reader.of('/_events', { 'last-event-id': id });
    expect(again.events).toEqual([['zones', { items: [{ name: 'last' }] }]]);
  });
});

describe('a stream of events whose client does not read', () => {
  it('is ended, and its place is free again', async () => {
    const clock = new ManualClock();
    const large = JSON.stringify('x'.repeat(1_000_000));
    let told: Tell | null = null;
    const source: EventSource = {
      name: 'large',
      render: { zones: () => ({ json: large, type: null }) },
      run: async (tell, signal) => {
        told = tell;
        tell.loaded();
        await aborted(signal);
      },
    };
    const hub = new EventHub([source], { clock, log: following.log });
    app = testApi(new TinyStore(), 'global', { clock, addRoutes: (api, context) => addEventRoutes(api, context, hub) });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET /_events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expect.poll(() => told).not.toBeNull();
    const open = (): Promise<number> => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));
    expect(await open()).toBe(1);
    // More than the buffers of both sockets hold.
    for (let count = 0; count < 20; count += 1) {
      (told as Tell | null)?.touch('zones', 'east');
      await clock.advance(PACE_MS);
    }
    await clock.advance(UNREAD_MS);
    await expect.poll(open).toBe(0);
    socket.destroy();
  });
});
