// A stream whose peer never answers is found and ended, so that the peer makes it anew (pain 13624 of Kuma's users).
import { afterEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sourceOf } from '../../src/control-plane/store-ports.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { FirstStates } from '../../src/kds/first-states.ts';
import { globalSendRules } from '../../src/kds/rules.ts';
import { Sender } from '../../src/kds/sender.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

afterEach(() => vi.useRealTimers());

it('3545, 13624: fails a stream whose peer does not answer, and no stream whose peer does', async () => {
  const log = createLogger('silent');
  const stop = new AbortController();
  const changelog = new Changelog(sourceOf(new TinyStore()), globalSendRules(), log);
  const running = changelog.run(stop.signal);
  await changelog.ready;
  vi.useFakeTimers();
  const peers = ['silent', 'good'].map((peer) => {
    const state = { failures: [] as string[], nonces: [] as string[] };
    const sender = new Sender({
      ...{ peer, streamId: peer, identifier: 'global', changelog, firstStates: new FirstStates(), zones: null, log },
      ...{ maxMessageBytes: 10_000, observe: () => undefined, now: () => 0 },
      send: (message) => void state.nonces.push(decodeDeltaResponse(message).nonce),
      fail: (error) => void state.failures.push(error.message),
    });
    return { sender, state };
  });
  const request: DeltaRequest = {
    ...{ node: { id: 'z', metadata: { features: [] } }, typeUrl: 'Mesh', subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
  };
  const [silent, good] = peers as [(typeof peers)[0], (typeof peers)[0]];
  for (const { sender } of peers) sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  good.sender.handle({ ...request, node: { id: 'z' }, responseNonce: good.state.nonces[0] ?? '' });
  await vi.advanceTimersByTimeAsync(300_000);
  expect(silent.state.failures).toEqual([expect.stringContaining('no answer to the Mesh of this stream')]);
  expect(good.state.failures).toEqual([]);
  for (const { sender } of peers) sender.close();
  stop.abort();
  vi.useRealTimers();
  await running;
});

it('does not hold an answer against a peer that has asked anew since', async () => {
  const log = createLogger('silent');
  const stop = new AbortController();
  const changelog = new Changelog(sourceOf(new TinyStore()), globalSendRules(), log);
  const running = changelog.run(stop.signal);
  await changelog.ready;
  vi.useFakeTimers();
  const failures: string[] = [];
  const nonces: string[] = [];
  const sender = new Sender({
    ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, firstStates: new FirstStates(), zones: null, log },
    ...{ maxMessageBytes: 10_000, observe: () => undefined, now: () => 0 },
    send: (message) => void nonces.push(decodeDeltaResponse(message).nonce),
    fail: (error) => void failures.push(error.message),
  });
  const request: DeltaRequest = {
    ...{ node: { id: 'z', metadata: { features: [] } }, typeUrl: 'Mesh', subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
  };
  sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  sender.handle(request);
  await vi.advanceTimersByTimeAsync(1);
  expect(nonces).toEqual(['1', '2']);
  sender.handle({ ...request, node: { id: 'z' }, responseNonce: '2' });
  await vi.advanceTimersByTimeAsync(300_000);
  expect(failures).toEqual([]);
  sender.close();
  stop.abort();
  vi.useRealTimers();
  await running;
});

it('tells of what it withholds whenever that is something else, and of no more', async () => {
  const log = createLogger('silent');
  const stop = new AbortController();
  const store = new TinyStore();
  const put = async (name: string, length: number): Promise<void> => {
    const key = { type: 'MeshTimeout', mesh: 'default', name };
    await store.write({ op: 'put', key, labels: {}, spec: { a: 'x'.repeat(length) } });
  };
  const changelog = new Changelog(sourceOf(store), globalSendRules(), log);
  await put('first', 3_000);
  const running = changelog.run(stop.signal);
  await changelog.ready;
  const told: string[][] = [];
  const sent: string[] = [];
  const sender = new Sender({
    ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, firstStates: new FirstStates(), zones: null, log },
    ...{ maxMessageBytes: 2_000, now: () => 0, fail: () => undefined },
    observe: (event) =>
      void (event.kind === 'withheld' && told.push([...event.resources.keys()].map((name) => name.slice(0, 6)))),
    send(message) {
      const { nonce } = decodeDeltaResponse(message);
      sent.push(nonce);
      sender.handle({ ...request, node: { id: 'z' }, responseNonce: nonce });
    },
  });
  const request: DeltaRequest = {
    ...{ node: { id: 'z', metadata: { features: ['hash-suffix'] } }, typeUrl: 'MeshTimeout', subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
  };
  sender.handle(request);
  await vi.waitFor(() => expect(told).toEqual([['first-']]));
  await put('first', 1);
  await put('second', 3_000);
  await vi.waitFor(() => expect(told.at(-1)).toEqual(['second']));
  const before = told.length;
  await put('third', 1);
  await vi.waitFor(() => expect(changelog.logOf('MeshTimeout')?.size).toBe(3));
  const responses = sent.length;
  await put('third', 2);
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(responses));
  expect(told.length).toBe(before);
  sender.close();
  stop.abort();
  await running;
});
