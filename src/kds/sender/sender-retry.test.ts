// Refused resources are retried on one timer for each type, with a bounded number of responses.
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { WAIT } from '../../../test/support/wait.ts';
import { makeRow } from '../../../test/support/make-row.ts';
import { createLogger } from '../../base/log.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../wire/kds-messages.ts';
import { encodeStruct } from '../../wire/struct.ts';
import { Changelog, type Source } from '../log/changelog.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import { MAX_PROBES } from './nacked-resources.ts';
import { globalSendRules } from '../protocol/rules.ts';
import { Sender } from './sender.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';
import type { Resource } from '../../resource/types.ts';

const clock = new ManualClock();

/** Rows that arrive one by one, each with its own notification. */
function growingSource(): { source: Source; add: (name: string) => void } {
  const rows = new Map<string, Resource>();
  let wake = Promise.withResolvers<string>();
  const source: Source = {
    list: ({ type }) => Promise.resolve([...rows.values()].filter((row) => row.type === type)),
    getMany: (keys) => Promise.resolve(keys.map(({ name }) => rows.get(name)).filter((row) => row !== undefined)),
    async *changes() {
      yield { kind: 'all' };
      for (;;) yield { kind: 'keys', keys: [{ type: 'MeshTimeout', mesh: 'default', name: await wake.promise }] };
    },
    deletedMeshes: async () => [],
    mark: () => Promise.resolve(),
  };
  const add = (name: string): void => {
    rows.set(name, makeRow('MeshTimeout', name));
    const { resolve } = wake;
    wake = Promise.withResolvers();
    resolve(name);
  };
  return { source, add };
}

/** A stream to a peer that refuses all while it `refuses`, and has refused its first response. */
async function streamTo(peer: { refuses: boolean }): Promise<{
  sender: Sender;
  add: (name: string) => void;
  sent: () => number;
  events: SyncEvent[];
  subscribe: () => void;
}> {
  const { source, add } = growingSource();
  const log = createLogger('silent');
  const changelog = new Changelog(source, globalSendRules(), log);
  void changelog.run(new AbortController().signal);
  await changelog.ready;
  const request: DeltaRequest = {
    ...{
      node: { id: 'z', metadata: encodeStruct({ features: ['hash-suffix'] }) },
      typeUrl: 'MeshTimeout',
      subscribe: ['*'],
      unsubscribe: [],
    },
    ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
  };
  let sent = 0;
  const events: SyncEvent[] = [];
  const sender = new Sender({
    ...{
      peer: 'east',
      streamId: 's',
      identifier: 'global',
      changelog,
      initialSyncLimiter: new InitialSyncLimiter(clock),
      zones: null,
      log,
    },
    ...{ maxMessageBytes: 100_000, clock, fail: () => undefined, observe: (event) => void events.push(event) },
    send(message) {
      sent += 1;
      const errorDetail = peer.refuses ? { code: 0, message: 'no', details: [] } : null;
      const { nonce } = decodeDeltaResponse(message);
      sender.handle({ ...request, node: { id: 'z' }, responseNonce: nonce, errorDetail });
    },
  });
  sender.handle(request);
  await expect.poll(() => sent).toBe(1);
  return { sender, add, sent: () => sent, events, subscribe: () => sender.handle(request) };
}

it('the sender retries refused resources once an interval, with a bounded number of responses', async () => {
  const { sender, add, sent } = await streamTo({ refuses: true });
  for (let n = 0; n < 50; n += 1) {
    add(`t${String(n)}`);
    await expect.poll(sent, { ...WAIT, interval: 1 }).toBe(n + 2);
  }
  // The retries come after 5, 10, 20, 40, 80, 160 and 300 seconds, and every 300 from then on.
  await clock.advance(3_600_000);
  expect(sent() - 51).toBeLessThanOrEqual(18 * MAX_PROBES);
  expect(sent() - 51).toBeGreaterThan(10);
  sender.close();
  expect(clock.sleepers).toBe(0);
});

it('the sender retries once after five seconds when the peer has accepted all refused resources', async () => {
  const peer = { refuses: true };
  const { sender, add, sent } = await streamTo(peer);
  const sentAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms);
    return sent();
  };
  add('a');
  await expect.poll(sent, WAIT).toBe(2);
  expect([await sentAfter(5_000), await sentAfter(10_000)]).toEqual([3, 4]);
  peer.refuses = false;
  expect(await sentAfter(20_000)).toBe(5);
  expect(sender.behind()).toEqual([]);
  peer.refuses = true;
  add('b');
  await expect.poll(sent, WAIT).toBe(6);
  expect([await sentAfter(4_999), await sentAfter(1)]).toEqual([6, 7]);
  sender.close();
  expect(clock.sleepers).toBe(0);
});

it('the sender reports a second subscription of a type, and not the first', async () => {
  const { sender, events, sent, subscribe } = await streamTo({ refuses: false });
  const again = (): SyncEvent[] => events.filter(({ kind }) => kind === 'resubscribed');
  expect(again()).toEqual([]);
  subscribe();
  await expect.poll(sent, WAIT).toBe(2);
  expect(again()).toHaveLength(1);
  sender.close();
});

it('the sender names the resources of a retry, and not those of a change', async () => {
  const peer = { refuses: true };
  const { sender, add, sent, events } = await streamTo(peer);
  const named = (): unknown[] =>
    events.flatMap((event) => (event.kind === 'sent' || event.kind === 'acknowledged' ? [event.again ?? null] : []));
  add('a');
  await expect.poll(sent, WAIT).toBe(2);
  expect(named()).toEqual([null, null]);
  peer.refuses = false;
  await clock.advance(5_000);
  const [sentNames, answered] = named().slice(2);
  expect([sentNames, answered]).toEqual([[expect.stringMatching(/^a-.*default$/)], sentNames]);
  sender.close();
});
