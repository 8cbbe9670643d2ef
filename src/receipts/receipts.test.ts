// The state of a change at each peer, and the requests that wait for it, with the clock and the events of the test.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { MeridianError } from '../base/errors.ts';
import { createLogger } from '../base/log.ts';
import { Changelog } from '../kds/log/changelog.ts';
import { globalSendRules } from '../kds/protocol/rules.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { JsonObject } from '../resource/types.ts';
import { changeSummary } from './rollout.ts';
import type { Change } from './kept-change.ts';
import { GLOBAL, Receipts, type Followed, type ListedChange } from './receipts.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';

const TYPE = 'MeshTimeout';
const KEY = { type: TYPE, mesh: 'shop', name: 'slow' };
const NOW = { version: null, waitMs: 0 };
const log = createLogger('silent');
const never = new AbortController().signal;
let stop: AbortController;
let clock: ManualClock;
let store: TinyStore;

beforeEach(() => {
  stop = new AbortController();
  clock = new ManualClock();
  store = new TinyStore(() => clock.now()).withZones('east', 'west');
});
afterEach(() => stop.abort());

const put = async (spec: JsonObject = {}, name = 'slow'): Promise<void> =>
  void (await store.write({ op: 'put', key: { ...KEY, name }, labels: {}, spec }));
/** The events of the stream of a peer. */
function streamOf(peer: string, stream: 'globalToZone' | 'zoneToGlobal' = 'globalToZone') {
  const about = { peer, streamId: `${peer}-1` };
  return {
    opened: { kind: 'opened', ...about, stream, authorized: true } as SyncEvent,
    closed: { kind: 'closed', ...about, stream, error: null } as SyncEvent,
    sent: (position: number): SyncEvent => ({
      ...{ kind: 'sent', ...about, type: TYPE, position, resources: 1, removed: 0, bytes: 1 },
    }),
    acknowledged: (position: number): SyncEvent => ({ kind: 'acknowledged', ...about, type: TYPE, position, seconds: 0 }),
  };
}
const statesOf = ({ targets }: Followed): Record<string, string> =>
  Object.fromEntries(targets.map(({ to, state }) => [to, state]));
/** Lets everything go on that can. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

async function listedOf(receipts: Receipts, changes: readonly Change[], signal = never): Promise<ListedChange[]> {
  const listed: ListedChange[] = [];
  for await (const one of receipts.listTargets(changes, signal)) listed.push(one);
  return listed;
}

function receiptsOf(instanceId: string, mode: 'global' | 'zone' = 'global'): Receipts {
  const questions = new ReplicaQuestions({ store, instanceId, clock, log });
  const receipts = new Receipts({ mode, store, questions, instanceId, clock });
  void questions.run(stop.signal);
  return receipts;
}

/** Receipts that serve the log of a global with these zones. */
async function serving(instanceId = 'one', names: () => readonly string[] = () => ['west', 'east']) {
  const changelog = new Changelog(store, globalSendRules(), log);
  void changelog.run(stop.signal);
  const receipts = receiptsOf(instanceId);
  await changelog.ready;
  const end = receipts.serve(changelog, { names, profileOf: () => ANY_ZONE });
  return { receipts, changelog, end };
}

/** East and west have a stream, and a change is in the log. */
async function changed() {
  const all = await serving();
  for (const zone of ['east', 'west']) all.receipts.observe(streamOf(zone).opened);
  await put({ a: 1 });
  await all.changelog.caughtUp();
  const position = all.changelog.slotOf(KEY)?.position ?? 0;
  const acknowledge = (zone: string): void => all.receipts.observe(streamOf(zone).acknowledged(position));
  return { ...all, position, acknowledge };
}

describe('the rollout of a change', () => {
  it('is known for each zone, in the order of their names, with the times since the commit', async () => {
    const { receipts, position } = await changed();
    await clock.advance(4);
    receipts.observe(streamOf('east').sent(position));
    await clock.advance(6);
    receipts.observe(streamOf('east').acknowledged(position));
    const { change, isLogged, targets } = await receipts.follow(KEY, NOW, never);
    expect(targets).toEqual([
      { to: 'east', state: 'acknowledged', sentMs: 4, acknowledgedMs: 10, reason: null },
      { to: 'west', state: 'pending', sentMs: null, acknowledgedMs: null, reason: null },
    ]);
    expect([change?.name, isLogged]).toEqual(['slow', true]);
    expect(change === null ? [] : receipts.targetsOf(change)).toEqual(targets);
  });

  it('includes a write that was committed just before the question', async () => {
    const { receipts } = await changed();
    await put({ a: 2 });
    const { change } = await receipts.follow(KEY, { ...NOW, version: 1 }, never);
    expect(change?.version).toBe(1);
  });

  it('is the state of now for a resource that was there before this process', async () => {
    await put();
    const { receipts, changelog } = await serving();
    for (const zone of ['east', 'west']) receipts.observe(streamOf(zone).opened);
    receipts.observe(streamOf('east').acknowledged(changelog.slotOf(KEY)?.position ?? 0));
    const followed = await receipts.follow(KEY, NOW, never);
    expect([followed.change, followed.isLogged, statesOf(followed)]).toEqual([
      ...[null, true],
      { east: 'acknowledged', west: 'pending' },
    ]);
  });

  it('is nothing for a resource that is not in the log, and for one that was there before and is removed', async () => {
    await put();
    const { receipts, changelog, end } = await serving();
    const absent = { change: null, isLogged: false, targets: [] };
    expect(await receipts.follow({ ...KEY, name: 'other' }, NOW, never)).toEqual(absent);
    end();
    await store.write({ op: 'delete', key: KEY });
    await changelog.caughtUp();
    receipts.serve(changelog, { names: () => ['east'], profileOf: () => ANY_ZONE });
    expect(await receipts.follow(KEY, NOW, never)).toEqual(absent);
  });

  it('is no longer recorded after the end, and not known here', async () => {
    const { receipts, changelog, end } = await changed();
    const [change] = receipts.changes.newest();
    expect(receipts.isServing).toBe(true);
    end();
    expect([receipts.isServing, change === undefined ? null : receipts.targetsOf(change)]).toEqual([false, []]);
    await put({ a: 3 });
    await changelog.caughtUp();
    expect(receipts.changes.newest()).toHaveLength(1);
  });

  it('stays known when an earlier log ends after a later one began', async () => {
    const { receipts, changelog, end } = await changed();
    receipts.serve(changelog, { names: () => ['east'], profileOf: () => ANY_ZONE });
    end();
    expect(receipts.isServing).toBe(true);
  });
});

describe('a list of changes', () => {
  it('lets other work run between them, and ends with its client', async () => {
    const { receipts, changelog } = await changed();
    for (const name of ['a', 'b', 'c', 'd']) await put({}, name);
    await changelog.caughtUp();
    const changes = receipts.changes.newest();
    expect(changes).toHaveLength(5);
    // Each change takes longer than a slice of work.
    const began = clock.elapsed();
    let looks = 0;
    vi.spyOn(clock, 'elapsed').mockImplementation(() => began + 100 * (looks += 1));
    const turns = new Set<number>();
    let turn = 0;
    const count = (): void => {
      turn += 1;
      if (!stop.signal.aborted) setImmediate(count);
    };
    count();
    vi.spyOn(receipts.changes, 'delivery').mockImplementation(() => {
      turns.add(turn);
      return { state: 'pending', sentMs: null, acknowledgedMs: null, reason: null };
    });
    expect((await listedOf(receipts, changes)).map(({ change, targets }) => [change.id, targets.length])).toEqual(
      changes.map(({ id }) => [id, 2]),
    );
    expect(turns.size).toBeGreaterThan(2);
    expect(await listedOf(receipts, changes, AbortSignal.abort())).toEqual([]);
  });
});

describe('a request that waits for the zones', () => {
  it('is answered when the last connected zone acknowledges the change, and not before', async () => {
    const { receipts, acknowledge } = await changed();
    let answer: Followed | null = null;
    void receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, never).then((followed) => (answer = followed));
    await settle();
    acknowledge('west');
    await settle();
    expect(answer).toBeNull();
    acknowledge('east');
    await vi.waitFor(() => expect(answer).not.toBeNull());
    expect(statesOf(answer ?? { change: null, isLogged: false, targets: [] })).toEqual({
      ...{ east: 'acknowledged', west: 'acknowledged' },
    });
    expect(clock.sleepers).toBe(0);
  });

  it('is answered at once when all zones have the change, or without a wait', async () => {
    const { receipts, acknowledge } = await changed();
    expect(statesOf(await receipts.follow(KEY, NOW, never))).toEqual({ east: 'pending', west: 'pending' });
    for (const zone of ['east', 'west']) acknowledge(zone);
    const sleep = vi.spyOn(clock, 'sleep');
    await receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, never);
    expect(sleep).not.toHaveBeenCalled();
  });

  it.each(['the time is over', 'the client has gone'])('is answered with what is known when %s', async (what) => {
    const { receipts, acknowledge } = await changed();
    const gone = new AbortController();
    const following = receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, gone.signal);
    await expect.poll(() => clock.sleepers).toBe(1);
    acknowledge('east');
    await settle();
    expect(clock.sleepers).toBe(1);
    if (what === 'the client has gone') gone.abort();
    else await clock.advance(5_000);
    expect(statesOf(await following)).toEqual({ east: 'acknowledged', west: 'pending' });
  });

  it('looks at few of many zones when one of them answers', async () => {
    const names = Array.from({ length: 300 }, (_, at) => `zone-${String(at).padStart(3, '0')}`);
    const { receipts, changelog } = await serving('one', () => names);
    for (const name of names) receipts.observe(streamOf(name).opened);
    await put({ a: 1 });
    await changelog.caughtUp();
    const gone = new AbortController();
    const following = receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, gone.signal);
    await expect.poll(() => clock.sleepers).toBe(1);
    const looks = vi.spyOn(receipts.changes, 'delivery');
    for (const name of ['zone-000', 'zone-150', 'zone-299']) {
      receipts.observe(streamOf(name).acknowledged(changelog.slotOf(KEY)?.position ?? 0));
      await settle();
    }
    expect(looks.mock.calls.length).toBeLessThan(10);
    gone.abort();
    expect((await following).targets.filter(({ state }) => state === 'acknowledged')).toHaveLength(3);
  });

  it('does not wait for a zone whose stream ends meanwhile', async () => {
    const { receipts, acknowledge } = await changed();
    const following = receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, never);
    await expect.poll(() => clock.sleepers).toBe(1);
    acknowledge('east');
    receipts.observe(streamOf('west').closed);
    expect(statesOf(await following)).toEqual({ east: 'acknowledged', west: 'away' });
  });

  it('is refused while 256 others wait, and taken again when one of them has ended', async () => {
    const { receipts } = await changed();
    const first = new AbortController();
    const waiting = Array.from({ length: 256 }, async (_, index) =>
      receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, index === 0 ? first.signal : stop.signal),
    );
    await expect.poll(() => clock.sleepers).toBe(256);
    const more = async () => receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, stop.signal);
    await expect(more()).rejects.toThrow('256 requests wait for zones already');
    expect(statesOf(await receipts.follow(KEY, NOW, never))).toEqual({ east: 'pending', west: 'pending' });
    first.abort();
    await waiting[0];
    waiting.push(more());
    await expect.poll(() => clock.sleepers).toBe(256);
    stop.abort();
    await Promise.all(waiting);
  });

  it('looks again once for all events of a turn of the event loop', async () => {
    const { receipts, position } = await changed();
    const following = receipts.follow(KEY, { ...NOW, waitMs: 5_000 }, never);
    await expect.poll(() => clock.sleepers).toBe(1);
    const turns = vi.spyOn(globalThis, 'setImmediate');
    for (const zone of ['east', 'west'])
      for (const event of [streamOf(zone).sent(position), streamOf(zone).acknowledged(position)]) receipts.observe(event);
    expect(turns).toHaveBeenCalledOnce();
    turns.mockRestore();
    await following;
    const idle = vi.spyOn(globalThis, 'setImmediate');
    receipts.observe(streamOf('east').sent(position + 1));
    expect(idle).not.toHaveBeenCalled();
    idle.mockRestore();
  });
});

describe('a zone that is connected to another replica', () => {
  const insight = async (subscription: JsonObject): Promise<void> =>
    void (await store.write({
      ...{ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: 'west' }, labels: {} },
      spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z', ...subscription }] },
    }));

  it('is asked for there', async () => {
    const here = await changed();
    here.receipts.observe(streamOf('west').closed);
    const there = await serving('two');
    there.receipts.observe(streamOf('west').opened);
    await insight({ globalInstanceId: 'two' });
    await put({ a: 2 });
    await there.changelog.caughtUp();
    there.receipts.observe(streamOf('west').acknowledged(there.changelog.slotOf(KEY)?.position ?? 0));
    here.acknowledge('east');
    const { targets } = await here.receipts.follow(KEY, NOW, never);
    expect(targets.map(({ to, state, acknowledgedMs }) => [to, state, acknowledgedMs])).toEqual([
      ['east', 'pending', null],
      ['west', 'acknowledged', 1],
    ]);
    const [newest] = here.receipts.changes.newest();
    if (newest === undefined) throw new Error('a change is kept');
    expect(here.receipts.targetsOf(newest).map(({ state }) => state)).toEqual(['pending', 'away']);
    const everywhere = await here.receipts.targetsEverywhere(newest, never);
    expect(everywhere.map(({ state }) => state)).toEqual(['pending', 'acknowledged']);
    const [listed] = await listedOf(here.receipts, [newest]);
    expect(listed?.targets.map(({ state }) => state)).toEqual(['pending', 'unknown']);
    const { counts, slowestMs } = changeSummary(newest, listed?.targets ?? [], listed?.elsewhere);
    expect(counts).toMatchObject({ pending: 1, acknowledged: 1, unknown: 0, away: 0 });
    expect(slowestMs).toBe(1);
  });

  it('fails the request and nothing else when the store does not answer', async () => {
    const { receipts } = await changed();
    receipts.observe(streamOf('west').closed);
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    vi.spyOn(store, 'getMany').mockRejectedValueOnce(new MeridianError('unavailable', 'the database does not answer'));
    const failed = expect(receipts.follow(KEY, { ...NOW, waitMs: 60_000 }, stop.signal)).rejects.toThrow('does not answer');
    await settle();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    await failed;
    expect(clock.sleepers).toBe(0);
  });

  it('is unknown where no replica answers in time', async () => {
    const { receipts } = await changed();
    receipts.observe(streamOf('west').closed);
    await insight({ globalInstanceId: 'two' });
    const following = receipts.follow(KEY, NOW, never);
    await expect.poll(() => clock.sleepers).toBe(1);
    await clock.advance(2_000);
    expect(statesOf(await following)).toEqual({ east: 'pending', west: 'unknown' });
  });

  it.each<[string, JsonObject]>([
    ['its stream has ended', { globalInstanceId: 'two', disconnectTime: '2026-01-01T00:00:01Z' }],
    ['its stream was to this process', { globalInstanceId: 'one' }],
  ])('is away without a question to other replicas where %s', async (_, subscription) => {
    const { receipts } = await changed();
    receipts.observe(streamOf('west').closed);
    await insight(subscription);
    const mark = vi.spyOn(store, 'mark');
    expect(statesOf(await receipts.follow(KEY, NOW, never))).toEqual({ east: 'pending', west: 'away' });
    expect(mark.mock.calls.filter(([id]) => id.startsWith('receipt'))).toEqual([]);
  });

  it('costs no read while each zone has a stream here', async () => {
    const { receipts } = await changed();
    const getMany = vi.spyOn(store, 'getMany');
    await receipts.follow(KEY, NOW, never);
    expect(getMany).not.toHaveBeenCalled();
  });
});

describe('in a zone', () => {
  it('the peer of each stream is global, and a replica without the stream asks the leader', async () => {
    const leader = receiptsOf('leader', 'zone');
    const changelog = new Changelog(store, globalSendRules(), log);
    void changelog.run(stop.signal);
    await changelog.ready;
    leader.serve(changelog, { names: () => [GLOBAL], profileOf: () => ANY_ZONE });
    leader.observe(streamOf('east', 'zoneToGlobal').opened);
    await put();
    await changelog.caughtUp();
    leader.observe(streamOf('east', 'zoneToGlobal').acknowledged(changelog.slotOf(KEY)?.position ?? 0));
    expect(statesOf(await leader.follow(KEY, NOW, never))).toEqual({ global: 'acknowledged' });
    const other = receiptsOf('other', 'zone');
    const asked = await other.follow(KEY, NOW, never);
    expect([asked.change, asked.isLogged, statesOf(asked)]).toEqual([null, true, { global: 'acknowledged' }]);
  });

  it('nothing is known while no replica has the stream', async () => {
    const other = receiptsOf('other', 'zone');
    receiptsOf('third', 'zone');
    const following = other.follow(KEY, NOW, never);
    const refused = expect(following).rejects.toThrow('no control plane of this zone is connected to global now');
    await expect.poll(() => clock.sleepers).toBe(1);
    await clock.advance(2_000);
    await refused;
  });
});
