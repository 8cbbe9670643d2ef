// A sender sends nothing before it has a permit for an initial sync, and releases it when the peer has everything (engine 20).
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/initial-sync-limiter.ts';
import { globalSendRules } from '../../src/kds/rules.ts';
import { Sender } from '../../src/kds/sender.ts';
import { decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { firstRequest } from './first-request.ts';

const log = createLogger('silent');
const TYPE = 'MeshTimeout';
/** Without a limit, this many would start at once. */
const MANY = 1_000;

type Stream = { readonly sender: Sender; readonly sent: Buffer[] };

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

async function subscribe(peer: string): Promise<Stream> {
  const sent: Buffer[] = [];
  const sender = new Sender({
    ...{ peer, streamId: peer, identifier: 'global', changelog, initialSyncLimiter, zones: null, log, maxMessageBytes: 100_000 },
    ...{ observe: () => undefined, fail: () => undefined, clock: systemClock },
    send: (message) => void sent.push(message),
  });
  const stream = { sender, sent };
  streams.push(stream);
  sender.handle(firstRequest(TYPE, { node: peer }));
  await settled();
  return stream;
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
  const { nonce } = decodeDeltaResponse(inside.sent[0] ?? Buffer.alloc(0));
  inside.sender.handle({ ...firstRequest(TYPE), node: { id: 'zone-0' }, subscribe: [], responseNonce: nonce });
  await settled();
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
