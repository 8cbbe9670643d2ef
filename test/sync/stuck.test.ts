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
