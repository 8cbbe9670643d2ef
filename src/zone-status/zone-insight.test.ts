import { namedResources } from '../kds/protocol/refusal-report.ts';
import type { QuotaName, SyncEvent } from '../kds/protocol/sync-events.ts';
import { fc } from '../../test/support/property.ts';
import { renderProblems } from './sync-problem.ts';
import { describe, expect, it } from 'vitest';
import { isCompatible } from './kds-subscription.ts';
import {
  closeInsight,
  dropStored,
  emptyInsight,
  countResponse,
  foldInsight,
  isResponseEvent,
  mergeInsight,
  raiseGeneration,
  renderStatus,
  type InsightState,
} from './zone-insight.ts';
import type { JsonObject } from '../resource/types.ts';
import { isOnline, isOpen, subscriptionsOf } from '../resource/online-status.ts';

const global = { mode: 'global', instanceId: 'global-1' } as const;
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const opened = (streamId: string, stream: 'globalToZone' | 'zoneToGlobal' | 'stats' = 'globalToZone'): SyncEvent => ({
  kind: 'opened',
  peer: 'east',
  streamId,
  stream,
  authorized: true,
});
const closed = (streamId: string): SyncEvent => ({
  ...{ kind: 'closed', peer: 'east', streamId, stream: 'globalToZone', error: null },
});
const node: SyncEvent = {
  kind: 'node',
  peer: 'east',
  streamId: 's1',
  node: {
    version: { version: '2.13.0', gitTag: 'v2.13.0' },
    config: '{"store":{"type":"postgres"}}',
    instanceId: 'east-cp',
    features: ['zone-token', 'hash-suffix'],
  },
};
const nodeOf = (version: string) => ({ version: { version }, config: '', instanceId: 'east-cp' });
const counted = (kind: 'sent' | 'acknowledged' | 'rejected', type: string, streamId = 's1'): SyncEvent => {
  const of = { peer: 'east', streamId, type, position: 1 };
  if (kind === 'sent') return { kind, ...of, resources: 1, removed: 0, bytes: 100 };
  if (kind === 'acknowledged') return { kind, ...of, seconds: 1 };
  return { kind, ...of, fault: 'other', message: '' };
};

/** Takes an event as the writer does. */
function take(state: InsightState, event: SyncEvent, keeper: Parameters<typeof foldInsight>[2], now: Date): InsightState {
  if (!isResponseEvent(event)) return foldInsight(state, event, keeper, now);
  countResponse(state, event, now);
  return state;
}

function fold(events: readonly SyncEvent[], keeper?: Parameters<typeof foldInsight>[2]): InsightState {
  return events.reduce((state, event, index) => take(state, event, keeper ?? global, at(index)), emptyInsight);
}

describe('the insight of a zone', () => {
  it('has the streams of a global as proto3 JSON', () => {
    const events = [
      opened('s1'),
      node,
      counted('sent', 'Mesh'),
      counted('acknowledged', 'Mesh'),
      counted('sent', 'MeshTimeout'),
      counted('rejected', 'MeshTimeout'),
    ];
    const state = raiseGeneration(fold([...events, opened('s2', 'stats'), { kind: 'healthCheck', peer: 'east' }]));
    expect(mergeInsight({}, state, 10, at(20))).toEqual({
      subscriptions: [
        {
          id: 's1',
          globalInstanceId: 'global-1',
          zoneInstanceId: 'east-cp',
          connectTime: '2026-01-01T00:00:00.000Z',
          status: {
            lastUpdateTime: '2026-01-01T00:00:05.000Z',
            total: { responsesSent: '2', responsesAcknowledged: '1', responsesRejected: '1' },
            stat: {
              Mesh: { responsesSent: '1', responsesAcknowledged: '1' },
              MeshTimeout: { responsesSent: '1', responsesRejected: '1' },
            },
          },
          version: { kumaCp: { version: '2.13.0', gitTag: 'v2.13.0', kumaCpGlobalCompatible: true } },
          generation: 1,
          config: '{"store":{"type":"postgres"}}',
          authTokenProvided: true,
        },
      ],
      kdsStreams: {
        globalToZone: { globalInstanceId: 'global-1', connectTime: '2026-01-01T00:00:00.000Z' },
        stats: { globalInstanceId: 'global-1', connectTime: '2026-01-01T00:00:06.000Z' },
      },
      envoyAdminStreams: { statsGlobalInstanceId: 'global-1' },
      healthCheck: { time: '2026-01-01T00:00:07.000Z' },
    });
  });

  it('shows a stream that stands for others as a stream of each kind', () => {
    const event: SyncEvent = { ...opened('s1', 'stats'), stream: 'configDump', alsoFor: ['stats', 'clusters'] } as SyncEvent;
    const spec = mergeInsight({}, fold([event]), 10, at(9));
    expect(Object.keys(spec['kdsStreams'] as JsonObject)).toEqual(['configDump', 'stats', 'clusters']);
    const [configDumpGlobalInstanceId, statsGlobalInstanceId, clustersGlobalInstanceId] = Array.from(
      { length: 3 },
      () => 'global-1',
    );
    expect(spec['envoyAdminStreams']).toEqual({ configDumpGlobalInstanceId, statsGlobalInstanceId, clustersGlobalInstanceId });
  });

  it('has no subscription for a zoneToGlobal stream on a global, and only for those on a zone', () => {
    const events = [opened('s1'), opened('s2', 'zoneToGlobal'), { ...node, streamId: 's2' } as SyncEvent];
    expect(subscriptionsOf(mergeInsight({}, fold(events), 10, at(9))).map((row) => row['id'])).toEqual(['s1']);
    const zone = mergeInsight({}, fold(events, { mode: 'zone', instanceId: 'zone-cp' }), 10, at(9));
    expect(zone['kdsStreams']).toBeUndefined();
    expect(subscriptionsOf(zone)).toMatchObject([{ id: 's2', zoneInstanceId: 'zone-cp', globalInstanceId: 'east-cp' }]);
  });

  it('closes open subscriptions when a new one appears, and keeps the last ten', () => {
    let row: JsonObject = {};
    for (let index = 0; index < 12; index += 1) {
      const state = foldInsight(emptyInsight, opened(`s${index}`), global, at(30 + index));
      row = mergeInsight(row, state, 10, at(30 + index));
    }
    const rows = subscriptionsOf(row);
    expect(rows.map((one) => one['id'])).toEqual(['s2', 's3', 's4', 's5', 's6', 's7', 's8', 's9', 's10', 's11']);
    expect(rows.map((one) => one['disconnectTime'] === undefined)).toEqual([...Array<boolean>(9).fill(false), true]);
  });

  it.each([0, 1])(
    'keeps the open stream of a connected zone, and its last one after that, with a subscriptionLimit of %i',
    (limit) => {
      const first = mergeInsight({}, fold([opened('s1')]), limit, at(1));
      expect(isOnline(first)).toBe(true);
      const state = fold([opened('s2')]);
      const second = mergeInsight(first, state, limit, at(2));
      expect(subscriptionsOf(second).map((one) => one['id'])).toEqual(['s2']);
      expect(isOnline(second)).toBe(true);
      const ended = mergeInsight(second, closeInsight(state, at(3)), limit, at(3));
      expect(subscriptionsOf(ended)).toMatchObject([{ id: 's2', disconnectTime: at(3).toISOString() }]);
    },
  );

  it('does not change further with more open streams of two processes than a row keeps', () => {
    const open = (names: readonly number[]): InsightState =>
      names.reduce((state, n) => foldInsight(state, opened(`s${n}`), global, at(n)), emptyInsight);
    const states = [open([1, 2, 3, 5, 7, 9, 11]), open([4, 6, 8, 10, 12])];
    let row: JsonObject = {};
    for (const state of states) row = mergeInsight(row, state, 10, at(20));
    for (const [index, state] of [...states, ...states].entries())
      expect(mergeInsight(row, state, 10, at(30 + index))).toEqual(row);
    expect(subscriptionsOf(row).filter((one) => one['disconnectTime'] === undefined)).toMatchObject([{ id: 's12' }]);
  });

  it('does not add a subscription again that a full row has dropped, while a newer one of the process is open', () => {
    const names = [1, 2, 3].map((n) => `s${n}`);
    const mine = names.reduce((state, id, index) => foldInsight(state, opened(id), global, at(index)), emptyInsight);
    const other = { ...global, instanceId: 'other' };
    const theirs = closeInsight(foldInsight(emptyInsight, opened('s4'), other, at(4)), at(5));
    const row = [mine, theirs, mine].reduce((stored, state, index) => mergeInsight(stored, state, 3, at(10 + index)), {});
    const openOf = (spec: JsonObject): unknown[] =>
      subscriptionsOf(spec).map(({ id, disconnectTime }) => [id, disconnectTime === undefined]);
    expect(openOf(row)).toEqual([['s2', false], ['s3', true], ['s4', false]]); // oxfmt-ignore
    expect(mergeInsight(row, mine, 3, at(20))).toEqual(row);
  });

  it('shows the stream of a zone that connects again after the date was set back, also in a full row', () => {
    const before = [1, 2, 3].reduce((state, n) => foldInsight(state, opened(`s${String(n)}`), global, at(n)), emptyInsight);
    const stored = mergeInsight({}, before, 3, at(3));
    const ended = foldInsight(before, closed('s3'), global, at(-100));
    const again = foldInsight(ended, opened('s4'), global, at(-100));
    expect(subscriptionsOf(mergeInsight(stored, again, 3, at(-100))).filter(isOpen)).toMatchObject([{ id: 's4' }]);
  });

  it('reopens an open subscription that was closed by mistake, but not while another one is open', () => {
    const mine = fold([opened('s1')]);
    const stored = mergeInsight({}, mine, 10, at(1));
    const finalised = mergeInsight(stored, closeInsight(mine, at(2)), 10, at(2));
    expect(isOnline(finalised)).toBe(false);
    expect(isOnline(mergeInsight(finalised, mine, 10, at(3)))).toBe(true);
    const superseded = mergeInsight(stored, fold([opened('other')]), 10, at(4));
    expect(subscriptionsOf(mergeInsight(superseded, mine, 10, at(5))).map((one) => one['disconnectTime'])).toEqual([
      at(4).toISOString(),
      undefined,
    ]);
  });

  it('keeps the later record of a stream and the later health check of another process', () => {
    const theirs = {
      kdsStreams: { globalToZone: { globalInstanceId: 'other', connectTime: at(40).toISOString() } },
      healthCheck: { time: at(40).toISOString() },
    };
    const merged = mergeInsight(theirs, fold([opened('s1'), { kind: 'healthCheck', peer: 'east' }]), 10, at(50));
    expect(merged).toMatchObject(theirs);
  });

  it('does not change unreadable rows', () => {
    expect(isOnline({ subscriptions: 'nonsense' })).toBe(false);
    expect(mergeInsight({ subscriptions: [null, 1], extra: true }, emptyInsight, 10, at(1))).toEqual({ extra: true });
  });

  it('finally shows a zone online exactly while a process has an open stream, with the sums as totals', () => {
    const step = fc.record({
      process: fc.nat(1),
      action: fc.constantFrom('open', 'close', 'send', 'reject', 'flush'),
      type: fc.constantFrom('Mesh', 'MeshRetry'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const states = [emptyInsight, emptyInsight];
        const live: string[][] = [[], []];
        let row: JsonObject = {};
        let second = 0;
        const flush = (process: number): void => {
          const state = states[process] ?? emptyInsight;
          row = mergeInsight(row, state, 10, at(second));
          states[process] = dropStored(state, state);
        };
        for (const { process, action, type } of steps) {
          second += 1;
          const mine = live[process] ?? [];
          const streamId = action === 'open' ? `s${second}` : mine[0];
          if (action === 'flush') flush(process);
          if (streamId === undefined || action === 'flush') continue;
          if (action === 'open') mine.push(streamId);
          if (action === 'close') mine.shift();
          const event =
            action === 'open'
              ? opened(streamId)
              : action === 'close'
                ? closed(streamId)
                : counted(action === 'send' ? 'sent' : 'rejected', type, streamId);
          states[process] = take(
            states[process] ?? emptyInsight,
            event,
            { ...global, instanceId: `global-${process}` },
            at(second),
          );
        }
        for (const process of [0, 1, 0, 1]) flush(process);
        expect(isOnline(row)).toBe(live.flat().length > 0);
        expect(subscriptionsOf(row).length).toBeLessThanOrEqual(10);
        for (const { status } of subscriptionsOf(row)) {
          const { total, stat } = status as { total: Record<string, string>; stat?: Record<string, Record<string, string>> };
          const sum = (key: string): number => Object.values(stat ?? {}).reduce((all, one) => all + Number(one[key] ?? 0), 0);
          for (const key of ['responsesSent', 'responsesRejected']) expect(Number(total[key] ?? 0)).toBe(sum(key));
        }
        const again = mergeInsight(row, states[0] ?? emptyInsight, 10, at(second));
        expect(again).toEqual(row);
      }),
    );
  });
});

describe('isCompatible', () => {
  it.each([
    [['zone-token', 'hash-suffix', 'hg-mz-selector', 'producer-policy-flow', 'optional-top-level-target-ref'], true],
    [['zone-token', 'hash-suffix', 'hg-mz-selector', 'producer-policy-flow'], true],
    [['hash-suffix', 'meridian-v1'], true],
    [['zone-token'], false],
    [[], false],
  ])('a peer with %j: %s', (features, expected) => {
    expect(isCompatible({ features })).toBe(expected);
  });

  it.each(['2.6.0', '2.14.1', '3.0.0', '3.9.2', '1.0.0-preview', 'unknown', ''])(
    'does not depend on the version: %j',
    (version) => {
      const events = [opened('s1'), { ...node, node: { ...nodeOf(version), features: ['hash-suffix'] } }];
      const [subscription] = subscriptionsOf(mergeInsight({}, fold(events), 10, at(9)));
      expect(subscription).toMatchObject({ version: { kumaCp: { kumaCpGlobalCompatible: true } } });
    },
  );
});

describe('the problems of a zone', () => {
  const refusal = { type: 'Dataplane', name: 'dp', mesh: 'default', reason: 'networking.address: is required' };
  const received = (refused: readonly (typeof refusal)[]): SyncEvent => ({
    ...{ kind: 'received', peer: 'east', streamId: 's2', type: 'Dataplane', written: 1, seconds: 1 },
    refused: namedResources(new Map(refused.map(({ name, mesh, reason }) => [`${name}.${mesh}`, reason]))),
  });
  const refused = (names: Record<string, string>, suspects: Record<string, string> = {}): SyncEvent => ({
    ...{ kind: 'refused', peer: 'east', streamId: 's1', type: 'Mesh', changed: new Map(), solved: [] },
    refused: namedResources(new Map(Object.entries(names))),
    suspects: namedResources(new Map(Object.entries(suspects))),
  });
  const withheld = (resources: [string, string][]): SyncEvent => ({
    ...{ kind: 'withheld', peer: 'east', streamId: 's1', type: 'MeshRetry', all: null },
    ...{ resources: new Map(resources), count: resources.length },
  });

  it('are stored with the refused streams and the delayed full states, but not with refused responses', () => {
    const over = (quota: QuotaName): SyncEvent => ({ kind: 'overQuota', peer: 'east', quota, reason: 'too many' });
    const state = fold([opened('s1'), over('rows'), over('streams'), over('streams'), over('fullStates')]);
    expect(renderStatus({}, state, { now: at(4) })).toEqual({
      refusedStreams: { count: 2, since: at(2).toISOString(), last: at(3).toISOString(), reason: 'too many' },
      delayedFullStates: { count: 1, since: at(4).toISOString(), last: at(4).toISOString(), reason: 'too many' },
    });
  });

  it('name the unsynced resources of each direction until they are synced', () => {
    const begin = [opened('s1'), opened('s2', 'zoneToGlobal')];
    const bad = fold([
      ...begin,
      refused({ 'a.default': 'no' }),
      withheld([['r.default', 'spec.from: unknown']]),
      received([refusal]),
    ]);
    expect(renderProblems(bad.problems ?? [])).toEqual({
      syncProblems: [
        {
          ...{ stream: 'globalToZone', type: 'Mesh', kind: 'refused', resources: ['a.default'], count: 1, message: 'no' },
          time: at(2).toISOString(),
        },
        {
          ...{ stream: 'globalToZone', type: 'MeshRetry', kind: 'withheld', resources: ['r.default'], count: 1 },
          ...{ message: 'spec.from: unknown', time: at(3).toISOString() },
        },
        {
          ...{ stream: 'zoneToGlobal', type: 'Dataplane', kind: 'refused', resources: ['dp.default'], count: 1 },
          ...{ message: 'networking.address: is required', time: at(4).toISOString() },
        },
      ],
    });
    const good = [refused({}), withheld([]), received([])].reduce(
      (state, event) => foldInsight(state, event, global, at(9)),
      bad,
    );
    expect(renderProblems(good.problems ?? [])).toEqual({});
  });

  it('end each for itself: one stream, type and kind', () => {
    const resources = new Map([['r.default', 'no']]);
    const about = { peer: 'east', streamId: 's1', type: 'Mesh' };
    const other: SyncEvent = { kind: 'withheld', ...about, resources, all: null, count: resources.size };
    const bad = fold([opened('s1'), refused({ 'a.default': 'no' }), withheld([['r.default', 'no']]), other]);
    const kindsOf = ({ problems }: InsightState) => problems?.map(({ type, kind }) => `${type} ${kind}`);
    expect(kindsOf(bad)).toEqual(['Mesh refused', 'MeshRetry withheld', 'Mesh withheld']);
    const next = foldInsight(bad, { ...other, resources: new Map() }, global, at(9));
    expect(kindsOf(next)).toEqual(['Mesh refused', 'MeshRetry withheld']);
  });

  it('have the first ten names, and limited texts of the peer', () => {
    const names = Array.from({ length: 12 }, (_, at) => `${String(at)}${'n'.repeat(500)}.default`);
    const state = fold([opened('s1'), refused(Object.fromEntries(names.map((name) => [name, 'x'.repeat(3_000)])))]);
    const [problem] = state.problems ?? [];
    expect([problem?.resources.length, problem?.count, problem?.message.length]).toEqual([10, 12, 2_000]);
    expect(problem?.resources.map((name) => name.length)).toEqual(Array(10).fill(400));
  });

  it('describe a response that was refused without a name', () => {
    const state = fold([opened('s1'), refused({ 'a.default': 'no' }, { 'b.default': 'bad', 'c.default': 'bad' })]);
    expect(state.problems).toMatchObject([
      { kind: 'refused', resources: ['a.default'], count: 1, message: 'no' },
      { kind: 'suspected', resources: ['b.default', 'c.default'], count: 2, message: 'bad' },
    ]);
    expect(foldInsight(state, refused({ 'b.default': 'bad' }), global, at(9)).problems).toMatchObject([
      { kind: 'refused', resources: ['b.default'], count: 1, message: 'bad' },
    ]);
  });

  it('give the reason when no resource of a type is sent', () => {
    const standing: SyncEvent = {
      ...{ kind: 'withheld', peer: 'east', streamId: 's1', type: 'Mesh', resources: new Map(), all: 'too large', count: 3 },
    };
    const state = fold([opened('s1'), standing]);
    expect(state.problems).toMatchObject([{ kind: 'withheld', resources: [], count: 0, message: 'too large' }]);
    expect(foldInsight(state, { ...standing, all: null }, global, at(9)).problems).toEqual([]);
  });

  it('stay while refused resources are outstanding, and end with a new stream', () => {
    const bad = fold([opened('s1'), refused({ 'a.default': 'no' }), counted('acknowledged', 'Mesh')]);
    expect(bad.problems).toHaveLength(1);
    expect(foldInsight(bad, opened('s3'), global, at(9)).problems).toEqual([]);
  });

  it('end with a new subscription of their type', () => {
    const bad = fold([opened('s1'), refused({ 'a.default': 'no' }), withheld([['r.default', 'no']])]);
    const again: SyncEvent = { kind: 'resubscribed', peer: 'east', streamId: 's1', type: 'Mesh' };
    expect(foldInsight(bad, again, global, at(9)).problems).toMatchObject([{ type: 'MeshRetry' }]);
  });
});
