// The receipts of one replica, where zones are connected to another one.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import { Changelog } from '../kds/log/changelog.ts';
import { globalSendRules, zoneSendRules, type SendRules } from '../kds/protocol/rules.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';
import { rolloutFollower } from './receipt-routes.ts';
import { GLOBAL, Receipts } from './receipts.ts';
import type { Change } from './kept-change.ts';
import { changeSummary, rolloutOf } from './rollout.ts';

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
  store = new TinyStore(() => clock.now()).withZones('x', 'y');
});
afterEach(() => stop.abort());

/** @property hold the replica reads nothing more from the store until the returned function is called */
type Replica = { readonly changelog: Changelog; readonly receipts: Receipts; readonly hold: () => () => void };

async function replica(instanceId: string, names: readonly string[], rules: SendRules = globalSendRules()): Promise<Replica> {
  let held = Promise.resolve();
  const getMany: TinyStore['getMany'] = async (keys) => {
    await held;
    return await store.getMany(keys);
  };
  const source = {
    getMany,
    list: store.list.bind(store),
    changes: store.changes.bind(store),
    mark: store.mark.bind(store),
    deletedMeshes: store.deletedMeshes.bind(store),
  };
  const changelog = new Changelog(source, rules, log);
  void changelog.run(stop.signal);
  const questions = new ReplicaQuestions({ store, instanceId, clock, log });
  const receipts = new Receipts({ mode: rules.from, store, questions, instanceId, clock });
  void questions.run(stop.signal);
  await changelog.ready;
  receipts.serve(changelog, { names: () => names, profileOf: () => ANY_ZONE });
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { changelog, receipts, hold };
}

/** The events of one stream at a replica. */
function stream({ changelog, receipts }: Replica, peer: string) {
  const about = { peer, streamId: `${peer}-${String(Math.random())}` };
  const at = () => ({ ...about, type: TYPE, position: changelog.logOf(TYPE)?.position ?? 0 });
  const observe = (event: SyncEvent): void => receipts.observe(event);
  observe({ kind: 'opened', ...about, stream: 'globalToZone', authorized: true });
  return {
    sent: () => observe({ kind: 'sent', ...at(), resources: 1, removed: 0, bytes: 1 }),
    passed: () => observe({ kind: 'passed', ...at() }),
    acknowledged: () => observe({ kind: 'acknowledged', ...at(), seconds: 0 }),
    withheld: (name: string) =>
      observe({ kind: 'withheld', ...about, type: TYPE, resources: new Map([[name, 'too large']]), all: null, count: 1 }),
    closed: () => observe({ kind: 'closed', ...about, stream: 'globalToZone', error: null }),
  };
}

/** The insight of a zone names the replica of its stream. */
async function connected(zone: string, globalInstanceId: string): Promise<void> {
  const spec = { subscriptions: [{ connectTime: clock.now().toISOString(), globalInstanceId }] };
  await store.write({ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: zone }, labels: {}, spec });
}

async function put(spec: object): Promise<void> {
  await store.write({ op: 'put', key: KEY, labels: {}, spec: { ...spec } });
}

/** Waits for an answer while the replicas ask each other. */
async function answered<T>(asked: Promise<T>): Promise<T> {
  for (let turn = 0; turn < 30; turn += 1) {
    await new Promise(setImmediate);
    await clock.advance(100);
  }
  return await asked;
}

/** The outcomes that a replica reports for its newest change, alone and in a list. */
async function outcomesAt({ receipts }: Replica): Promise<[one: string, listed: string]> {
  const [change] = receipts.changes.newest();
  if (change === undefined) throw new Error('no change');
  const targets = await answered(receipts.targetsEverywhere(change, never));
  return [rolloutOf(KEY, { change, isLogged: true, targets }).outcome, await answered(listedAt(receipts, change))];
}

async function listedAt(receipts: Receipts, change: Change): Promise<string> {
  for await (const listed of receipts.listTargets([change], never))
    return changeSummary(listed.change, listed.targets, listed.elsewhere).outcome;
  throw new Error('not listed');
}

describe('a change in a list is where it is alone', () => {
  it('after the other replica has started again', async () => {
    const here = await replica('a', ['x']);
    await put({ a: 1 });
    await here.changelog.caughtUp();
    const there = await replica('b', ['x']);
    stream(there, 'x').passed();
    await connected('x', 'b');
    expect(await outcomesAt(here)).toEqual(['everywhere', 'everywhere']);
  });

  it('when the other replica withholds it', async () => {
    const [here, there] = [await replica('a', ['x']), await replica('b', ['x'])];
    const other = stream(there, 'x');
    await connected('x', 'b');
    await put({ a: 1 });
    for (const { changelog } of [here, there]) await changelog.caughtUp();
    other.withheld(here.receipts.changes.newest()[0]?.wireName ?? '');
    expect(await outcomesAt(here)).toEqual(['refused', 'refused']);
  });

  it.each([
    ['changed', { op: 'put', key: KEY, labels: {}, spec: { a: 2 } } as const],
    ['deleted', { op: 'delete', key: KEY } as const],
  ])('before the other replica has read that it was %s', async (_how, write) => {
    const [here, there] = [await replica('a', ['x']), await replica('b', ['x'])];
    const zone = stream(there, 'x');
    await connected('x', 'b');
    await put({ a: 1 });
    for (const { changelog } of [here, there]) await changelog.caughtUp();
    zone.sent();
    zone.acknowledged();
    const release = there.hold();
    await store.write(write);
    await here.changelog.caughtUp();
    expect(await outcomesAt(here)).toEqual(['waiting', 'waiting']);
    release();
    await there.changelog.caughtUp();
    expect(await outcomesAt(here)).toEqual(['waiting', 'waiting']);
    zone.sent();
    zone.acknowledged();
    expect(await outcomesAt(here)).toEqual(['everywhere', 'everywhere']);
  });

  it('when a zone that had it has moved to a replica at which another zone lacks it', async () => {
    const [here, there] = [await replica('a', ['x', 'y']), await replica('b', ['x', 'y'])];
    const [first, lacking] = [stream(here, 'x'), stream(there, 'y')];
    await put({ a: 1 });
    for (const { changelog } of [here, there]) await changelog.caughtUp();
    first.sent();
    first.acknowledged();
    first.closed();
    stream(there, 'x').passed();
    lacking.sent();
    for (const zone of ['x', 'y']) await connected(zone, 'b');
    expect(await outcomesAt(here)).toEqual(['waiting', 'waiting']);
    lacking.acknowledged();
    expect(await outcomesAt(here)).toEqual(['everywhere', 'everywhere']);
  });
});

it('an equal PUT after a resource was deleted and created again has the receipt of the creation', async () => {
  const here = await replica('a', ['x']);
  const zone = stream(here, 'x');
  const answer = async (): Promise<void> => {
    await here.changelog.caughtUp();
    zone.sent();
    zone.acknowledged();
  };
  await put({ a: 1 });
  await answer();
  await store.write({ op: 'delete', key: KEY });
  await answer();
  await put({ a: 1 });
  await here.changelog.caughtUp();
  await put({ a: 1 });
  const version = (await store.get(KEY))?.version ?? 0;
  const follow = async () => rolloutOf(KEY, await here.receipts.follow(KEY, { version, waitMs: 0 }, never));
  expect(await follow()).toMatchObject({ outcome: 'waiting' });
  expect(await follow()).not.toHaveProperty('isRemoval', true);
  await answer();
  expect(await follow()).toMatchObject({ outcome: 'everywhere' });
});

it('a replica of a zone says what its leader says of a resource that is not sent', async () => {
  const rules = zoneSendRules({ zone: 'east' });
  const leader = await replica('leader', [GLOBAL], rules);
  const questions = new ReplicaQuestions({ store, instanceId: 'other', clock, log });
  const other = new Receipts({ mode: 'zone', store, questions, instanceId: 'other', clock });
  void questions.run(stop.signal);
  await clock.advance(0);
  await store.write({ op: 'put', key: KEY, labels: { 'kuma.io/origin': 'global' }, spec: {} });
  const keys = [KEY, { ...KEY, name: 'missing' }, { type: 'Zone', mesh: '', name: 'missing' }];
  for (const key of keys) {
    const ask = (receipts: Receipts): Promise<string> =>
      answered(
        rolloutFollower(receipts, rules, store)(key, NOW, never).then(
          (rollout) => JSON.stringify(rollout),
          (error: unknown) => String(error),
        ),
      );
    expect(await ask(other)).toBe(await ask(leader.receipts));
  }
});
