import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { createLogger } from '../base/log.ts';
import { MeridianError } from '../base/errors.ts';
import type { GlobalKind } from '../kds/client/global-link.ts';
import { globalSendRules, type Visibility } from '../kds/protocol/rules.ts';
import type { LoggedChange } from '../kds/log/changelog.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { onwardAnswers } from './onward-answers.ts';
import { OnwardQuestions } from './onward-questions.ts';
import type { Receipts } from './receipts.ts';
import { RecentChanges } from './recent-changes.ts';
import { withOnward, type OnwardRollout } from './rollout.ts';

const log = createLogger('silent');
const never = new AbortController().signal;
const KEY = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
const COUNTS = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
type Target = OnwardRollout['targets'][number];

function onward(targets: readonly Target[], more: Partial<OnwardRollout> = {}): OnwardRollout {
  return { outcome: 'everywhere', counts: { ...COUNTS, acknowledged: targets.length }, targets: [...targets], ...more };
}
const have = (count: number): Target[] =>
  Array.from({ length: count }, (_, at) => ({ to: `zone-${String(at)}`, state: 'acknowledged', acknowledgedMs: at }));

let clock: ManualClock;
let store: TinyStore;
let stop: AbortController;
/** The questions to global, and its answers. */
let asked: unknown[];
let answer: () => Promise<Buffer | null>;
let kind: GlobalKind;
beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore(() => clock.now());
  stop = new AbortController();
  asked = [];
  kind = 'meridian';
  answer = async () => Buffer.from(JSON.stringify(onward(have(1))));
});
afterEach(() => stop.abort());

/** A replica of the zone; the leader is the one with the log and the connection. */
async function replica(instanceId: string, isServing: boolean, wireName: string | undefined = 'slow-x1.shop') {
  const link = {
    get kind() {
      return kind;
    },
    ask: async (question: Buffer, limitMs: number) => {
      asked.push([JSON.parse(question.toString()), limitMs]);
      return await answer();
    },
  };
  const receipts = { isServing, wireNameOf: () => wireName };
  const questions = new ReplicaQuestions({ store, instanceId, clock, log });
  const onwards = new OnwardQuestions({ questions, receipts, link });
  void questions.run(stop.signal);
  await clock.advance(0);
  return onwards;
}

describe('a zone asks global where a resource is in the other zones', () => {
  it('by its name on the wire, with the time that is left', async () => {
    const leader = await replica('a', true);
    expect(await leader.of(KEY, 5_000, never)).toEqual({ onward: onward(have(1)) });
    expect(asked).toEqual([[{ type: 'MeshTimeout', mesh: 'shop', name: 'slow-x1', waitMs: 5_000 }, 8_000]]);
  });

  it('through the replica that is connected to global, with as many zones as fit', async () => {
    await replica('a', true);
    const other = await replica('b', false);
    expect(await other.of(KEY, 0, never)).toEqual({ onward: onward(have(1)) });
    const many = [...have(900), { to: 'late', state: 'sent' } as const];
    answer = async () => Buffer.from(JSON.stringify(onward(many)));
    const found = await other.of(KEY, 0, never);
    const { targets = [], omitted = 0 } = 'onward' in found ? found.onward : {};
    expect(targets.slice(0, 2).map(({ to }) => to)).toEqual(['late', 'zone-899']);
    expect(targets.length + omitted).toBe(901);
    expect(targets.length).toBeGreaterThan(20);
  });

  it('and says why it is not known', async () => {
    const leader = await replica('a', true);
    const noteOf = async (): Promise<string> => JSON.stringify(await leader.of(KEY, 0, never));
    answer = () => Promise.reject(new MeridianError('unavailable', 'global did not answer within 3 s'));
    expect(await noteOf()).toMatch(/did not answer within 3 s.*"isAwaited":true/);
    answer = async () => Buffer.from('{}');
    expect(await noteOf()).toMatch(/this version cannot read.*"isAwaited":true/);
    answer = async () => null;
    expect(await noteOf()).toMatch(/an older version.*"isAwaited":false/);
    kind = 'kuma';
    expect(await noteOf()).toMatch(/global is Kuma.*"isAwaited":false/);
  });

  it('about several in one question', async () => {
    const leader = await replica('a', true);
    const { targets: _, ...summary } = onward([], { outcome: 'waiting' });
    answer = async () => Buffer.from(JSON.stringify({ items: [{ onward: summary }, { onwardNote: 'gone' }] }));
    const keys = [KEY, { ...KEY, name: 'fast' }, { ...KEY, name: 'late' }];
    expect(await leader.ofMany(keys, never)).toEqual([
      { onward: summary },
      { onwardNote: 'gone' },
      { onwardNote: expect.stringContaining('an older version') as string },
    ]);
    expect(asked).toMatchObject([[{ resources: [{ name: 'slow-x1' }, { name: 'slow-x1' }, { name: 'slow-x1' }] }, 3_000]]);
    answer = () => Promise.reject(new MeridianError('unavailable', 'global did not answer within 3 s'));
    expect(await leader.ofMany([KEY], never)).toEqual([{ onwardNote: 'global did not answer within 3 s' }]);
    expect(await leader.ofMany([], never)).toEqual([]);
    kind = 'kuma';
    expect(JSON.stringify(await leader.ofMany([KEY], never))).toContain('global is Kuma');
  });

  it('and knows nothing when no replica is connected, or the change is forgotten', async () => {
    const other = await replica('b', false);
    const asking = other.of(KEY, 0, never);
    await clock.advance(5_000);
    expect(await asking).toMatchObject({ onwardNote: expect.stringContaining('did not answer') as string, isAwaited: true });
    const leader = new OnwardQuestions({
      questions: new ReplicaQuestions({ store, instanceId: 'c', clock, log }),
      receipts: { isServing: true, wireNameOf: () => undefined },
      link: { kind, ask: () => Promise.reject(new Error('not asked')) },
    });
    expect(await leader.of(KEY, 0, never)).toMatchObject({ onwardNote: 'the last change of it is no longer kept here' });
  });
});

describe('global answers a zone', () => {
  const logged = (visibility: Visibility): LoggedChange => ({
    ...{ type: 'MeshTimeout', mesh: 'shop', name: 'gone-x1', wireName: 'gone-x1.shop', position: 1 },
    ...{ visibility, version: null, isRemoval: true, isNew: false, committedAt: null },
  });
  const targets: Target[] = [
    { to: 'east', state: 'hidden' },
    { to: 'west', state: 'acknowledged', acknowledgedMs: 3 },
  ];
  const changes = new RecentChanges('globalToZone');
  const noTimes = { sentMs: null, acknowledgedMs: null, reason: null };
  const NO_TALLY = { sent: 0, acknowledged: 0, refused: 0, withheld: 0, slowestMs: 0 };
  const ask = async (question: unknown, zone = 'east'): Promise<OnwardRollout> => {
    const follow = async () => ({ ...KEY, outcome: 'everywhere' as const, counts: COUNTS, targets });
    const receipts: Pick<Receipts, 'changes' | 'listTargets'> = {
      changes,
      listTargets: async function* (those) {
        for (const change of those)
          yield { change, targets: [{ to: 'west', state: 'sent', ...noTimes }], elsewhere: { ...NO_TALLY, sent: 1 } };
      },
    };
    const answers = onwardAnswers({ store, rules: globalSendRules(), receipts, follow });
    const bytes = await answers({ zone, hasHashedNames: true }, Buffer.from(JSON.stringify(question)), never);
    return JSON.parse(bytes.toString()) as OnwardRollout;
  };
  const question = { ...KEY, name: 'slow-x1', waitMs: 0 };

  it('about its own resources, without the zones that are not meant to have them', async () => {
    const labels = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
    await store.write({ op: 'create', key: { ...KEY, name: 'slow-x1' }, labels, spec: {}, syncVersion: 'v' });
    expect((await ask(question)).targets).toEqual([{ to: 'west', state: 'acknowledged', acknowledgedMs: 3 }]);
    expect(await ask(question, 'west')).toMatchObject({ note: 'global has no such resource of zone west', targets: [] });
    expect(await ask({ ...question, name: 'none' })).toMatchObject({ targets: [] });
  });

  it('about the removal of its own resources', async () => {
    changes.append(logged({ to: 'others', zone: 'east' }), 0);
    expect((await ask({ ...question, name: 'gone-x1' })).targets).toHaveLength(1);
    expect((await ask({ ...question, name: 'gone-x1' }, 'west')).targets).toEqual([]);
  });

  it('about several of its own resources, without the zones themselves', async () => {
    const labels = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
    const stays = { ...KEY, name: 'stays-x1' };
    await store.write({ op: 'create', key: stays, labels, spec: {}, syncVersion: 'v' });
    await store.write({ op: 'create', key: { ...KEY, name: 'foreign-x1' }, labels: {}, spec: {} });
    changes.append(logged({ to: 'others', zone: 'east' }), 0);
    const names = ['gone-x1', 'stays-x1', 'foreign-x1', 'none-x1'];
    const several = { resources: names.map((name) => ({ ...KEY, name })) };
    const noSuch = { onward: { note: 'global has no such resource of zone east', outcome: 'everywhere', counts: COUNTS } };
    expect(await ask(several)).toEqual({
      items: [
        { onward: { outcome: 'waiting', counts: { ...COUNTS, sent: 1 } } },
        { onward: { note: expect.stringContaining('cross zones') as string, outcome: 'everywhere', counts: COUNTS } },
        noSuch,
        noSuch,
      ],
    });
    expect(JSON.stringify(await ask(several, 'west'))).not.toContain('waiting');
  });

  it.each([
    null,
    { resources: [] },
    { resources: [KEY, 5] },
    { resources: Array.from({ length: 51 }, () => KEY) },
    5,
    {},
    { ...question, type: 'Nothing' },
    { ...question, name: 5 },
    { ...question, waitMs: -1 },
    'x'.repeat(40_000),
  ])('refuses a question of another form', async (wrong) => {
    await expect(ask(wrong)).rejects.toMatchObject({ code: 'bad_request' });
  });
});

it('the outcome of both hops is the worse of them', () => {
  const first = { ...KEY, outcome: 'everywhere', counts: COUNTS, targets: [] } as const;
  const outcomeOf = (outcome: OnwardRollout['outcome']): string => withOnward(first, { onward: onward([], { outcome }) }).outcome;
  expect((['everywhere', 'away', 'waiting', 'refused'] as const).map(outcomeOf)).toEqual([
    'everywhere',
    'away',
    'waiting',
    'refused',
  ]);
  expect(withOnward(first, { onwardNote: 'global is Kuma', isAwaited: false }).outcome).toBe('everywhere');
  expect(withOnward(first, { onwardNote: 'late', isAwaited: true }).outcome).toBe('waiting');
});
