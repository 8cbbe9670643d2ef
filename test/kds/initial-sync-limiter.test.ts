// A sender sends nothing before it has a permit for an initial sync, and releases it when the peer has everything (engine 20).
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { clusterIdKey } from '../../src/defaults/create-defaults.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { firstRequest } from './first-request.ts';

const log = createLogger('silent');
const TYPE = 'MeshTimeout';
/** Without a limit, this many would start at once. */
const MANY = 1_000;

type Stream = {
  readonly sender: Sender;
  readonly sent: Buffer[];
  /** For each answer of its first state, whether it then had all of it. */
  readonly answers: boolean[];
};

let changelog: Changelog;
let initialSyncLimiter: InitialSyncLimiter;
let stop: AbortController;
let running: Promise<void>;
let streams: Stream[];

beforeEach(async () => {
  // Places are given up after a time, which does not pass here.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const store = new TinyStore();
  await store.write({ op: 'put', key: { type: TYPE, mesh: 'default', name: 'slow' }, labels: {}, spec: {} });
  await store.write({ op: 'put', key: clusterIdKey, labels: {}, spec: { config: 'ours' } });
  changelog = new Changelog(store, globalSendRules(), log);
  initialSyncLimiter = new InitialSyncLimiter(systemClock);
  stop = new AbortController();
  running = changelog.run(stop.signal);
  streams = [];
  await changelog.ready;
});

afterEach(async () => {
  for (const { sender } of streams) sender.close();
  vi.useRealTimers();
  stop.abort();
  await running;
});

/** Everything due has been sent. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

async function subscribe(peer: string, type = TYPE): Promise<Stream> {
  const sent: Buffer[] = [];
  const answers: boolean[] = [];
  const sender = new Sender({
    ...{ peer, streamId: peer, identifier: 'global', changelog, initialSyncLimiter, zones: null, log, maxMessageBytes: 100_000 },
    ...{ observe: () => undefined, fail: () => undefined, clock: systemClock },
    send: (message) => void sent.push(message),
    answered: (isSettled) => void answers.push(isSettled),
  });
  const stream = { sender, sent, answers };
  streams.push(stream);
  sender.handle(firstRequest(type, { node: peer }));
  await settled();
  return stream;
}

/** Acknowledges the last response of the stream. */
async function acknowledge({ sender, sent }: Stream): Promise<void> {
  const { typeUrl, nonce } = decodeDeltaResponse(sent.at(-1) ?? Buffer.alloc(0));
  sender.handle({ ...firstRequest(typeUrl), node: { id: 'zone-0' }, subscribe: [], responseNonce: nonce });
  await settled();
}

/** Subscribes one peer after the other until one is sent nothing; the others have been sent their state and say nothing. */
async function crowd(): Promise<{ inside: Stream; waiting: Stream }> {
  const inside = await subscribe('zone-0');
  expect(inside.sent).toHaveLength(1);
  for (let n = 1; n < MANY; n += 1) {
    const waiting = await subscribe(`zone-${String(n)}`);
    if (waiting.sent.length === 0) return { inside, waiting };
  }
  return expect.fail('all peers were sent their first state at once');
}

it('a peer over the limit gets nothing until another has acknowledged its first state', async () => {
  const { inside, waiting } = await crowd();
  await acknowledge(inside);
  expect(waiting.sent).toHaveLength(1);
});

it('a peer over the limit gets nothing until the stream of another has ended', async () => {
  const { inside, waiting } = await crowd();
  inside.sender.close();
  await settled();
  expect(waiting.sent).toHaveLength(1);
});

it.each<[when: string, before: readonly string[]]>([
  ['', []],
  // It has a turn for this type, and loses its permit before it.
  [' before its turn', ['MeshRetry']],
])('a stream that requests its full state again%s waits for a permit again', async (_, before) => {
  const { inside, waiting } = await crowd();
  for (const type of [...before, TYPE]) inside.sender.handle(firstRequest(type, { node: 'zone-0' }));
  await settled();
  // Its place went to the one that waited.
  expect(waiting.sent).toHaveLength(1);
  expect(inside.sent).toHaveLength(1);
  waiting.sender.close();
  await settled();
  expect(inside.sent).toHaveLength(2 + before.length);
});

it('a peer that asks for another type after its first state waits for a permit again', async () => {
  const { inside, waiting } = await crowd();
  await acknowledge(inside);
  inside.sender.handle(firstRequest('MeshRetry', { node: 'zone-0' }));
  await settled();
  expect(inside.sent).toHaveLength(1);
  waiting.sender.close();
  await settled();
  expect(inside.sent).toHaveLength(2);
});

it('a peer that has Config alone waits for a permit with its other types, and has its first state after these', async () => {
  const early = await subscribe('early', 'Config');
  await acknowledge(early);
  expect([early.answers, early.sender.isSettled]).toEqual([[false], false]);
  const { inside } = await crowd();
  early.sender.handle(firstRequest(TYPE, { node: 'early' }));
  await settled();
  expect(early.sent).toHaveLength(1);
  await acknowledge(inside);
  await acknowledge(early);
  expect([early.answers, early.sender.isSettled]).toEqual([[false, true], true]);
});

it('a peer that has Config alone keeps its permit for the versions that it names then', async () => {
  const early = await subscribe('early', 'Config');
  await acknowledge(early);
  await crowd();
  const versions = { initialResourceVersions: new Map([['slow.default', 'old']]) };
  const node = { id: 'early', metadata: encodeStruct({ features: ['hash-suffix'], 'meridian-resume': true }) };
  early.sender.handle({ ...firstRequest(TYPE), ...versions, node });
  await settled();
  expect(early.sent).toHaveLength(2);
});
