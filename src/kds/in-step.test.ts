// Types of which the peer has everything: one message names them, and has no answer (decision 83).
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import { decodeInStep, encodeInStep, isInStep } from '../wire/in-step.ts';
import { decodeDeltaRequest, decodeDeltaResponse, type DeltaRequest } from '../wire/kds-messages.ts';
import { Changelog, type Source } from './log/changelog.ts';
import { InitialSyncLimiter } from './admission/initial-sync-limiter.ts';
import { InsightsOfStream } from './insights/insights-of-stream.ts';
import { nodeMetadata } from './protocol/node.ts';
import { insightSink } from './insights/insight-sink.ts';
import { atOnce } from './protocol/pace.ts';
import { Receiver, type ReceiverOptions } from './receiver/receiver.ts';
import { globalReceiveRules, globalSendRules, zoneReceiveRules } from './protocol/rules.ts';
import { Sender } from './sender/sender.ts';
import type { SyncEvent } from './protocol/sync-events.ts';

const NODE = { version: '0', instanceId: 'i', config: '' };
const log = createLogger('silent');

describe('a sender', () => {
  const metadata = nodeMetadata(NODE, true);
  const request = (typeUrl: string, more: Partial<DeltaRequest> = {}): DeltaRequest => ({
    ...{ node: { id: 'east' }, typeUrl, subscribe: ['*'], unsubscribe: [], initialResourceVersions: new Map() },
    ...{ responseNonce: '', errorDetail: null, ...more },
  });

  type Made = {
    sender: Sender;
    changelog: Changelog;
    sent: Buffer[];
    events: SyncEvent[];
    answered: boolean[];
    left: () => number;
  };

  async function send(readsInStep = true, stored: readonly Resource[] = []): Promise<Made> {
    const source: Source = {
      list: async ({ type }) => stored.filter((row) => row.type === type),
      getMany: async () => [],
      async *changes() {
        yield { kind: 'all' };
        await new Promise(() => undefined);
      },
      deletedMeshes: async () => [],
      mark: async () => undefined,
    };
    const clock = new ManualClock();
    const changelog = new Changelog(source, globalSendRules(), log, clock);
    void changelog.run(new AbortController().signal);
    await changelog.ready;
    const limiter = new InitialSyncLimiter(clock);
    const leave = vi.fn<() => void>();
    const enter = limiter.enter.bind(limiter);
    vi.spyOn(limiter, 'enter').mockImplementation((...given) => ({ ...enter(...given), leave }));
    const [sent, events, answered]: [Buffer[], SyncEvent[], boolean[]] = [[], [], []];
    const sender = new Sender({
      ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, initialSyncLimiter: limiter, zones: null, log, clock },
      ...{ maxMessageBytes: 100_000, readsInStep, fail: () => undefined, observe: (event) => void events.push(event) },
      send: (message) => void sent.push(message),
      answered: (isSettled) => void answered.push(isSettled),
    });
    return { sender, changelog, sent, events, answered, left: () => leave.mock.calls.length };
  }

  it('names all types of a turn that have nothing new in one message, which is their acknowledgement', async () => {
    const { sender, sent, events, answered, left } = await send();
    sender.handle(request('Mesh', { node: { id: 'east', metadata } }));
    sender.handle(request('MeshTimeout'));
    sender.handle(request('no type of ours'));
    await setImmediate();
    expect(sent.map((bytes) => isInStep(bytes) && decodeInStep(bytes))).toEqual([['Mesh', 'MeshTimeout', 'no type of ours']]);
    expect([sender.isSettled, answered, left()]).toEqual([true, [true], 1]);
    expect(events.map(({ kind }) => kind)).toEqual(['node']);
    sender.handle(request('no type of ours', { responseNonce: '0' }));
    await setImmediate();
    expect(sent).toHaveLength(1);
  });

  it('says nothing of a type that has something new, and goes on when that is answered', async () => {
    const { sender, sent, answered } = await send(true, [makeRow('MeshTimeout', 'slow', { spec: {} })]);
    sender.handle(request('Mesh', { node: { id: 'east', metadata } }));
    sender.handle(request('MeshTimeout'));
    await setImmediate();
    expect(sent.map((bytes) => (isInStep(bytes) ? decodeInStep(bytes) : decodeDeltaResponse(bytes).resources.length))).toEqual([
      1,
      ['Mesh'],
    ]);
    expect([sender.isSettled, answered]).toEqual([false, [false]]);
    const { typeUrl, nonce: responseNonce } = decodeDeltaResponse(sent[0] ?? Buffer.alloc(0));
    sender.handle(request(typeUrl, { responseNonce }));
    expect([sender.isSettled, answered]).toEqual([true, [false, true]]);
  });

  it('confirms the position of what it did not send', async () => {
    const row = makeRow('MeshTimeout', 'slow', { spec: {} });
    const { sender, changelog, sent, events } = await send(true, [row]);
    const [slot] = [...(changelog.logOf('MeshTimeout')?.newerThan(0) ?? [])];
    const version = slot?.entry?.in('native');
    const known = new Map([[slot?.wireName ?? '', version !== undefined && 'version' in version ? version.version : '']]);
    sender.handle(request('MeshTimeout', { node: { id: 'east', metadata }, initialResourceVersions: known }));
    await setImmediate();
    expect(sent.map((bytes) => isInStep(bytes))).toEqual([true]);
    expect(events.at(-1)).toMatchObject({ kind: 'passed', type: 'MeshTimeout', position: slot?.position });
    expect([sender.behind(), sender.lag(), sender.deliveryNow(row).state]).toEqual([[], null, 'acknowledged']);
  });

  it.each([
    ['a peer that does not read it', false, metadata],
    ['a peer that asks for its full state', true, nodeMetadata(NODE, false)],
  ])('sends an empty response to %s', async (_, readsInStep, given) => {
    const { sender, sent } = await send(readsInStep);
    sender.handle(request('Mesh', { node: { id: 'east', metadata: given } }));
    await setImmediate();
    expect(sent.map((bytes) => [isInStep(bytes), decodeDeltaResponse(bytes).typeUrl])).toEqual([[false, 'Mesh']]);
    expect(sender.isSettled).toBe(false);
  });
});

describe('a receiver', () => {
  type Made = { receiver: Receiver; store: TinyStore; sent: DeltaRequest[]; events: SyncEvent[] };

  async function receive(options: Partial<ReceiverOptions> = {}): Promise<Made> {
    const [sent, events]: [DeltaRequest[], SyncEvent[]] = [[], []];
    const store = new TinyStore();
    const rules = { ...zoneReceiveRules(), types: ['Mesh', 'MeshTimeout'].map((type) => typeOf(type)) };
    const receiver = new Receiver({
      ...{ zone: 'east', peer: 'global', streamId: 's', rules, store, node: NODE, resume: true, remembersNode: true },
      ...{ maxMessageBytes: 100_000, validate: () => [], log, clock: new ManualClock() },
      send: (message) => void sent.push(decodeDeltaRequest(message)),
      observe: (event) => void events.push(event),
      ...options,
    });
    await receiver.start();
    return { receiver, store, sent, events };
  }

  it('changes and answers nothing for types in step', async () => {
    const { receiver, store, sent, events } = await receive();
    const key = { type: 'MeshTimeout', mesh: 'default', name: 'slow' };
    await store.write({ op: 'create', key, labels: {}, spec: {} });
    await receiver.take(encodeInStep(['Mesh', 'MeshTimeout']));
    expect([sent.length, events, store.rows.size]).toEqual([2, [], 1]);
  });

  it.each<[string, Partial<ReceiverOptions>, string[], string]>([
    ['it did not ask for', {}, ['Secret'], 'invalid resource type "Secret"'],
    ['it asked for in full', { resume: false }, ['Mesh'], 'the peer was asked for every Mesh'],
    ['it asked for once, many times', {}, ['Mesh', 'Mesh', 'Mesh'], 'more types than it was asked for'],
  ])('ends the stream for a type that %s', async (_, options, types, reason) => {
    const { receiver } = await receive(options);
    await expect(receiver.take(encodeInStep(types))).rejects.toThrow(reason);
  });

  it('ends the stream where the type that must be accepted first is in step: it was asked for in full', async () => {
    const check = vi.fn<() => Promise<void>>();
    const { receiver, sent } = await receive({ admission: { type: 'Mesh', check } });
    await expect(receiver.take(encodeInStep(['Mesh']))).rejects.toThrow('the peer was asked for every Mesh');
    expect([sent.map(({ typeUrl }) => typeUrl), check.mock.calls]).toEqual([['Mesh'], []]);
  });

  it('reports that it counts no proxies when their insights are in step', async () => {
    const rules = globalReceiveRules('east', { hashedNames: true });
    const reported: SyncEvent[] = [];
    const sink = insightSink({
      ...{ peer: 'east', streamId: 's', rules, pace: atOnce, most: Infinity, resumes: true, insights: 'all' },
      observe: (event) => void reported.push(event),
      clock: new ManualClock(),
    });
    const { receiver } = await receive({ rules, sink });
    await receiver.take(encodeInStep(['DataplaneInsight']));
    expect(reported).toMatchObject([{ kind: 'counted', groups: null }]);
  });

  it.each([
    ['names its metadata once to a peer that remembers it', true, [true, false]],
    ['names its metadata with each type to another peer', false, [true, true]],
  ])('%s', async (_, remembersNode, expected) => {
    const { sent } = await receive({ remembersNode });
    expect(sent.map(({ node }) => node.metadata !== undefined)).toEqual(expected);
  });

  it('names its metadata again where it asks for a full state', async () => {
    const types = ['Mesh', 'MeshTimeout', 'MeshRetry'].map((type) => typeOf(type));
    const store = new TinyStore();
    for (const name of ['a', 'b']) {
      const key = { type: 'MeshTimeout', mesh: 'default', name };
      await store.write({ op: 'create', key, labels: {}, spec: {}, syncVersion: 'v'.repeat(83) });
    }
    const { sent } = await receive({ store, rules: { ...zoneReceiveRules(), types }, maxMessageBytes: 200 });
    expect(sent.map(({ node }) => node.metadata)).toEqual([
      nodeMetadata(NODE, true),
      nodeMetadata(NODE, false),
      nodeMetadata(NODE, true),
    ]);
  });
});

it('insights that wait for their turn leave the queue when the zone has nothing new', async () => {
  const queue = new Set<() => void>();
  const limiter = {
    admits: () => false,
    count: () => undefined,
    wait: (_rows: number, go: () => void) => (queue.add(go), () => void queue.delete(go)),
  };
  const askAgain = vi.fn<() => void>();
  const clock = new ManualClock();
  const insights = new InsightsOfStream({ limiter, canAskAgain: true, askAgain, clock });
  expect(insights.admits(1, false)).toBe(false);
  expect(queue.size).toBe(1);
  insights.unchanged();
  expect(queue.size).toBe(0);
  await clock.advance(3_600_000);
  expect(askAgain).not.toHaveBeenCalled();
  // Nothing uses a turn later that was given for what the zone has no more of.
  expect(insights.admits(1, false)).toBe(false);
  [...queue][0]?.();
  insights.unchanged();
  expect(insights.admits(1, false)).toBe(false);
});
