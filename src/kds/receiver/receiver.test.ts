// These tests show how a receiver shares the store with other peers, and what it asks for when.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { runSteps } from '../../base/steps.ts';
import { createLogger } from '../../base/log.ts';
import { encodeKumaResource } from '../../resource/codec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { decodeDeltaRequest, encodeDeltaResponse, type DeltaRequest, type DeltaResponse } from '../../wire/kds-messages.ts';
import { insightSink, type InsightSinkOptions } from '../insights/insight-sink.ts';
import { atOnce, type Pace } from '../protocol/pace.ts';
import { Receiver, type Admission, type ReceiverOptions } from './receiver.ts';
import { globalReceiveRules, zoneReceiveRules } from '../protocol/rules.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';

const TYPE = 'MeshTimeout';
const to = [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }];

function resource(name: string, filler = ''): DeltaResponse['resources'][number] {
  const labels = { 'kuma.io/origin': 'global', 'kuma.io/display-name': name, ...(filler !== '' && { filler }) };
  const bytes = encodeKumaResource(typeOf(TYPE), { mesh: 'default', name, labels, spec: { to }, status: undefined });
  return { name: `${name}.default`, version: '', resource: bytes, anyTypeUrl: '' };
}

function responseOf(resources: DeltaResponse['resources'], typeUrl = TYPE): DeltaResponse {
  return { typeUrl, nonce: '1', resources, controlPlane: 'global', isPartial: false, removedResources: [] };
}

type Made = { receiver: Receiver; store: TinyStore; sent: DeltaRequest[]; events: SyncEvent[]; steps: string[] };

async function receive(options: Partial<ReceiverOptions> = {}, limits: Partial<Pace> = {}): Promise<Made> {
  const [sent, events, steps]: [DeltaRequest[], SyncEvent[], string[]] = [[], [], []];
  const store = new TinyStore();
  for (const name of ['getMany', 'writeBatch'] as const) {
    const original = store[name].bind(store) as (given: readonly unknown[], fence?: unknown) => Promise<never>;
    vi.spyOn(store, name).mockImplementation((given: readonly unknown[], fence?: unknown) => {
      steps.push(`${name} ${String(given.length)}`);
      return original(given, fence);
    });
  }
  const pace: Pace = {
    ...{ batchRows: Infinity, batchBytes: Infinity, run: async (work) => runSteps(work) },
    beforeBatch: async (rows) => {
      await Promise.resolve();
      steps.push(`batch ${String(rows)}`);
    },
    beforeMessage: async (bytes) => void steps.push(`message ${String(bytes)}`),
    ...limits,
  };
  const rules = zoneReceiveRules();
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'global', streamId: 's', resume: false, maxMessageBytes: 100_000, log: createLogger('silent') },
    ...{ rules: { ...rules, types: [typeOf('Mesh'), typeOf(TYPE)] }, store, pace, clock: new ManualClock() },
    node: { version: '0', instanceId: 'i', config: '' },
    validate: () => [],
    send: (message) => void sent.push(decodeDeltaRequest(message)),
    observe: (event) => void events.push(event),
    ...options,
  });
  await receiver.start();
  steps.length = 0;
  return { receiver, store, sent, events, steps };
}

describe('a receiver', () => {
  it('reads and writes no more rows at a time than its pace allows, and waits before each batch', async () => {
    const { receiver, steps, store } = await receive({}, { batchRows: 2 });
    await receiver.handle(responseOf(['a', 'b', 'c'].map((name) => resource(name))));
    expect(steps).toEqual([
      ...['batch 2', 'getMany 2', 'batch 1', 'getMany 1'],
      ...['batch 2', 'writeBatch 2', 'batch 1', 'writeBatch 1'],
    ]);
    expect(store.rows.size).toBe(3);
  });

  it('writes no more bytes at a time than its pace allows', async () => {
    const { receiver, steps } = await receive({}, { batchBytes: 5_000 });
    await receiver.handle(responseOf(['a', 'b', 'c'].map((name) => resource(name, 'x'.repeat(2_000)))));
    expect(steps.filter((step) => step.startsWith('writeBatch'))).toEqual(['writeBatch 2', 'writeBatch 1']);
  });

  it('waits for its turn before it looks at a message of more than 4 KiB', async () => {
    const turn = Promise.withResolvers<void>();
    const { receiver, steps, sent } = await receive({}, { beforeMessage: () => turn.promise });
    const before = sent.length;
    const removed = Array.from({ length: 200 }, (_, n) => `${'x'.repeat(20)}-${String(n)}.default`);
    const message = { ...responseOf([]), entries: [], removed };
    const taking = receiver.take(encodeDeltaResponse(message));
    for (let look = 0; look < 5; look += 1) await setImmediate();
    expect([steps, sent.length]).toEqual([[], before]);
    turn.resolve();
    await taking;
    expect(sent).toHaveLength(before + 1);
  });

  it('takes a small message without a turn, and one that names nothing without the store', async () => {
    const { receiver, steps, sent } = await receive({}, { beforeMessage: () => new Promise(() => undefined) });
    const before = sent.length;
    await receiver.take(encodeDeltaResponse({ ...responseOf([]), entries: [], removed: [] }));
    expect([steps, sent.length]).toEqual([[], before + 1]);
  });

  it('reports the rows that it wrote, and the time that it took', async () => {
    const clock = new ManualClock();
    const { receiver, events, store } = await receive({ clock });
    store.beforeWrite = async () => {
      await clock.advance(1_500);
      return undefined;
    };
    await receiver.handle(responseOf([resource('a')]));
    const nothing = { count: 0, first: [], reason: null };
    expect(events).toEqual([
      { kind: 'received', peer: 'global', streamId: 's', type: TYPE, written: 1, refused: nothing, seconds: 1.5 },
    ]);
    events.length = 0;
    await receiver.handle(responseOf([resource('a')]));
    expect(events).toMatchObject([{ written: 0, seconds: 0 }]);
  });

  describe('of insights of proxies', () => {
    const insight = (type: string, nonce: string, name = 'web'): DeltaResponse => {
      const row = { mesh: 'default', name, labels: {}, spec: {}, status: undefined };
      const bytes = encodeKumaResource(typeOf(type), row);
      return { ...responseOf([{ name: `${name}.default`, version: '', resource: bytes, anyTypeUrl: '' }], type), nonce };
    };
    const answers = (sent: readonly DeltaRequest[]): string[] =>
      sent.flatMap(({ responseNonce }) => (responseNonce === '' ? [] : responseNonce));

    /** The sink of a global. */
    function withInsights(options: Pick<InsightSinkOptions, 'insights' | 'resumes' | 'limiter'>): Partial<ReceiverOptions> {
      const rules = globalReceiveRules('east', { hashedNames: false });
      const common = { peer: 'global', streamId: 's', most: Infinity, observe: () => undefined, clock: new ManualClock() };
      return { rules, sink: insightSink({ ...common, rules, pace: atOnce, ...options }) };
    }

    /** The queue of global: `isFull` says whether rows have to wait, and `turns` are those that were not given yet. */
    async function receiveInTurns(resume: boolean): Promise<Made & { queue: { isFull: boolean }; turns: (() => void)[] }> {
      const queue = { isFull: false };
      const waiting: (() => void)[] = [];
      const limiter = {
        admits: (rows: number) => rows === 0 || !queue.isFull,
        count: () => undefined,
        wait: (_rows: number, go: () => void) => (waiting.push(go), () => void waiting.splice(waiting.indexOf(go), 1)),
      };
      const made = await receive({ ...withInsights({ limiter, resumes: resume, insights: 'all' }), resume });
      await made.store.write({ op: 'create', key: { type: 'Zone', mesh: '', name: 'east' }, labels: {}, spec: {} });
      made.sent.length = 0;
      return { ...made, queue, turns: waiting };
    }

    it('drops those that have to wait, answers other types, and asks the zone again at its turn', async () => {
      const { receiver, store, sent, queue, turns } = await receiveInTurns(true);
      await receiver.handle(insight('DataplaneInsight', '1'));
      queue.isFull = true;
      await receiver.handle(insight('DataplaneInsight', '2', 'new'));
      await receiver.handle(insight('Dataplane', 'other'));
      expect([answers(sent), [...store.rows.values()].map(({ name }) => name).sort()]).toEqual([
        ['1', 'other'],
        ['east', 'east.web', 'east.web'],
      ]);
      turns.shift()?.();
      await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ typeUrl: 'DataplaneInsight', responseNonce: '' }));
      expect([...(sent.at(-1)?.initialResourceVersions.keys() ?? [])]).toEqual(['east.web.default']);
      await receiver.handle(insight('DataplaneInsight', '3', 'new'));
      expect([answers(sent), store.rows.size]).toEqual([['1', 'other', '3'], 4]);
    });

    it('of a Kuma zone stores them at once, and answers at its turn', async () => {
      const { receiver, store, sent, queue, turns } = await receiveInTurns(false);
      queue.isFull = true;
      await receiver.handle(insight('DataplaneInsight', '1'));
      expect([answers(sent), store.rows.size]).toEqual([[], 2]);
      turns.shift()?.();
      expect(answers(sent)).toEqual(['1']);
      await receiver.handle(insight('DataplaneInsight', 'unchanged'));
      expect(answers(sent)).toEqual(['1', 'unchanged']);
    });

    it('fails when the rows that counts replace cannot be read', async () => {
      const { receiver, store } = await receive(withInsights({ insights: 'counts', resumes: false }));
      await receiver.handle(responseOf([], 'DataplaneInsight'));
      vi.spyOn(store, 'listMeta').mockImplementation(({ types }) =>
        types.join() === 'DataplaneInsight' ? Promise.reject(new Error('gone')) : Promise.resolve([]),
      );
      await expect(receiver.handle(responseOf([], 'Dataplane'))).rejects.toThrow('gone');
    });

    it('leaves the queue with its stream', async () => {
      const { receiver, queue, turns } = await receiveInTurns(true);
      queue.isFull = true;
      await receiver.handle(insight('DataplaneInsight', '1'));
      expect(turns).toHaveLength(1);
      receiver.close();
      expect(turns).toEqual([]);
    });
  });

  it('asks for the other types when the first one is found good, and fails when the store does not answer then', async () => {
    const checked: number[] = [];
    const admission: Admission = { type: 'Mesh', check: async (resources) => void checked.push(resources.length) };
    const asked = (sent: readonly DeltaRequest[]): string[] =>
      sent.filter(({ responseNonce }) => responseNonce === '').map(({ typeUrl }) => typeUrl);
    const { receiver, sent } = await receive({ admission });
    expect(asked(sent)).toEqual(['Mesh']);
    await receiver.handle(responseOf([], 'Mesh'));
    expect([asked(sent), checked]).toEqual([['Mesh', TYPE], [0]]);
    await receiver.handle(responseOf([], 'Mesh'));
    expect([asked(sent), checked]).toEqual([['Mesh', TYPE], [0]]);
    const resuming = await receive({ admission, resume: true });
    vi.spyOn(resuming.store, 'listMeta').mockImplementation(({ types }) =>
      types.includes(TYPE) ? Promise.reject(new Error('gone')) : Promise.resolve([]),
    );
    await expect(resuming.receiver.handle(responseOf([], 'Mesh'))).rejects.toThrow('gone');
  });

  it('reads only rows that may be in its scope when it prunes', async () => {
    const scope = { labels: { 'kuma.io/origin': 'global' } };
    const { receiver, store } = await receive({ rules: { ...zoneReceiveRules(), types: [typeOf(TYPE)], scope } });
    const listMeta = vi.spyOn(store, 'listMeta');
    await receiver.handle(responseOf([]));
    expect(listMeta.mock.calls).toEqual([[{ types: [TYPE], ...scope }]]);
  });

  it('takes a response with as many names as the quota of rows, and none with more', async () => {
    const quotas = { rows: 2, resourceBytes: 10_000 };
    const messageOf = (...names: string[]): Buffer =>
      encodeDeltaResponse({ ...responseOf([]), entries: [], removed: names.map((name) => `${name}.default`) });
    const { receiver, sent, events } = await receive({ quotas });
    const before = sent.length;
    await receiver.take(messageOf('a', 'b'));
    expect([sent.length - before, events.map(({ kind }) => kind)]).toEqual([1, ['received']]);
    events.length = 0;
    const reason =
      'the response names more resources than the 2 that a zone may have; raise multizone.global.kds.quotas.rows on global';
    await expect(receiver.take(messageOf('a', 'b', 'c'))).rejects.toMatchObject({ details: reason });
    expect([sent.length - before, events]).toEqual([1, [{ kind: 'overQuota', peer: 'global', quota: 'rows', reason }]]);
  });

  it('refuses and reports the rows over the quota, and stores the others', async () => {
    const { receiver, events, store } = await receive({ quotas: { rows: 1, resourceBytes: 10_000 } });
    await receiver.handle(responseOf([resource('a'), resource('b')]));
    expect([...store.rows.values()].map(({ name }) => name)).toEqual(['a']);
    const reason =
      'the zone has 0 resources on global, which takes 1; delete some, or raise multizone.global.kds.quotas.rows on global';
    expect(events).toMatchObject([
      { kind: 'overQuota', peer: 'global', quota: 'rows', reason },
      { kind: 'received', written: 1, refused: { count: 1, first: ['b.default'], reason } },
    ]);
    await receiver.handle(responseOf([resource('a')]));
    expect(events).toHaveLength(3);
  });

  it('watches its fence until it is closed, and ends the stream when another receiver has taken over', async () => {
    const [watched, failures]: [unknown[], Error[]] = [[], []];
    let lose = (): void => undefined;
    const watch: NonNullable<ReceiverOptions['fences']>['watch'] = (fence, lost) => {
      watched.push(fence);
      lose = lost;
      return () => void watched.push('closed');
    };
    const { receiver } = await receive({ fences: { watch }, fail: (error) => void failures.push(error) });
    expect(watched).toEqual([{ peer: 'global', epoch: 1 }]);
    lose();
    expect(failures).toMatchObject([
      { code: 'conflict', message: 'another stream of global has opened later and taken over; this one ends' },
    ]);
    receiver.close();
    expect(watched).toHaveLength(2);
  });

  it('refuses a response of a type that it did not ask for', async () => {
    const { receiver } = await receive();
    await expect(receiver.handle(responseOf([], 'Secret'))).rejects.toThrow('invalid resource type "Secret"');
  });

  it('asks for the full state where its versions do not fit into half a message', async () => {
    const versionsIn = async (maxMessageBytes: number): Promise<number[]> => {
      const { store } = await receive();
      await store.write({ op: 'create', key: { type: TYPE, mesh: 'default', name: 'a' }, labels: {}, spec: {}, syncVersion: 'v'.repeat(83) }); // oxfmt-ignore
      const sent: DeltaRequest[] = [];
      const again = await receive({ store, resume: true, maxMessageBytes, send: (message) => void sent.push(decodeDeltaRequest(message)) }); // oxfmt-ignore
      again.receiver.close();
      return sent.filter(({ typeUrl }) => typeUrl === TYPE).map(({ initialResourceVersions }) => initialResourceVersions.size);
    };
    // `a.default` and its version have 92 bytes, and 8 for tags and lengths.
    expect([await versionsIn(200), await versionsIn(199)]).toEqual([[1], [0]]);
  });
});
