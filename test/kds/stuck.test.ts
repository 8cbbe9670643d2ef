// A stream whose peer never answers is detected and ended, so that the peer opens a new one (Kuma issue 13624).
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { Sender, type SenderOptions } from '../../src/kds/sender/sender.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { firstRequest } from './first-request.ts';

const log = createLogger('silent');

let store: TinyStore;
let changelog: Changelog;
let stop: AbortController;
let running: Promise<void>;
let senders: Sender[];

beforeEach(() => {
  store = new TinyStore();
  changelog = new Changelog(store, globalSendRules(), log);
  stop = new AbortController();
  running = Promise.resolve();
  senders = [];
});

afterEach(async () => {
  for (const sender of senders) sender.close();
  stop.abort();
  vi.useRealTimers();
  await running;
});

async function readStore(): Promise<void> {
  running = changelog.run(stop.signal);
  await changelog.ready;
}

/** A stream to a peer that says nothing of itself, with the nonces it was sent and what the stream failed of. */
type Stream = { readonly sender: Sender; readonly nonces: readonly string[]; readonly failures: readonly string[] };

function open(options: Partial<SenderOptions> = {}): Stream {
  const nonces: string[] = [];
  const failures: string[] = [];
  const sender = new Sender({
    ...{
      peer: 'east',
      streamId: 's',
      identifier: 'global',
      changelog,
      initialSyncLimiter: new InitialSyncLimiter(systemClock),
      zones: null,
      log,
    },
    ...{ maxMessageBytes: 10_000, observe: () => undefined, clock: systemClock },
    send: (message) => void nonces.push(decodeDeltaResponse(message).nonce),
    fail: (error) => void failures.push(error.message),
    ...options,
  });
  senders.push(sender);
  return { sender, nonces, failures };
}

function acknowledge(sender: Sender, request: DeltaRequest, responseNonce: string): void {
  sender.handle({ ...request, node: { id: request.node.id }, responseNonce });
}

it('3545, 13624: the sender fails a stream without answers, and no other stream', async () => {
  await readStore();
  vi.useFakeTimers();
  const silent = open({ peer: 'silent', streamId: 'silent' });
  const good = open({ peer: 'good', streamId: 'good' });
  const request = firstRequest('Mesh', { features: [] });
  for (const { sender } of [silent, good]) sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  acknowledge(good.sender, request, good.nonces[0] ?? '');
  await vi.advanceTimersByTimeAsync(300_000);
  expect(silent.failures).toEqual([expect.stringContaining('no answer to the Mesh of this stream')]);
  expect(good.failures).toEqual([]);
});

it('the sender does not fail the stream of a peer that subscribed again', async () => {
  await readStore();
  vi.useFakeTimers();
  const { sender, nonces, failures } = open();
  const request = firstRequest('Mesh', { features: [] });
  sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  expect(nonces).toHaveLength(2);
  acknowledge(sender, request, nonces[1] ?? '');
  await vi.advanceTimersByTimeAsync(300_000);
  expect(failures).toEqual([]);
});

it('the sender reports withheld resources only when they change', async () => {
  const put = async (name: string, length: number): Promise<void> => {
    const key = { type: 'MeshTimeout', mesh: 'default', name };
    await store.write({ op: 'put', key, labels: {}, spec: { a: 'x'.repeat(length) } });
  };
  await put('first', 3_000);
  await readStore();
  const reports: string[][] = [];
  const sent: string[] = [];
  const request = firstRequest('MeshTimeout');
  const { sender }: Stream = open({
    maxMessageBytes: 2_000,
    observe: (event) =>
      void (event.kind === 'withheld' && reports.push([...event.resources.keys()].map((name) => name.slice(0, 6)))),
    send(message) {
      const { nonce } = decodeDeltaResponse(message);
      sent.push(nonce);
      acknowledge(sender, request, nonce);
    },
  });
  sender.handle(request);
  await vi.waitFor(() => expect(reports).toEqual([['first-']]));
  await put('first', 1);
  await put('second', 3_000);
  await vi.waitFor(() => expect(reports.at(-1)).toEqual(['second']));
  const before = reports.length;
  await put('third', 1);
  await vi.waitFor(() => expect(changelog.logOf('MeshTimeout')?.size).toBe(3));
  const responses = sent.length;
  await put('third', 2);
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(responses));
  expect(reports.length).toBe(before);
});
