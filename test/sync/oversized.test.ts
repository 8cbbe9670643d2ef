// A full state over the message limit must never be followed by a smaller response: a Kuma peer would prune by it.
import { expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sourceOf } from '../../src/control-plane/store-ports.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { FirstStates } from '../../src/kds/first-states.ts';
import { globalSendRules } from '../../src/kds/rules.ts';
import { Sender } from '../../src/kds/sender.ts';
import { TinyStore } from '../support/tiny-store.ts';

it('stands still for a type whose full state is too large, and says so', async () => {
  const log = createLogger('silent');
  const store = new TinyStore();
  const put = async (name: string, spec: { a: string }): Promise<void> => {
    await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {}, spec });
  };
  await put('large', { a: 'x'.repeat(2_000) });
  const stop = new AbortController();
  const changelog = new Changelog(sourceOf(store), globalSendRules(), log);
  const running = changelog.run(stop.signal);
  const sent: Buffer[] = [];
  const rejected: string[] = [];
  const sender = new Sender({
    peer: 'east',
    streamId: 's',
    identifier: 'global',
    changelog,
    firstStates: new FirstStates(),
    zones: null,
    maxMessageBytes: 1_000,
    send: (message) => void sent.push(message),
    observe: (event) => void (event.kind === 'rejected' && rejected.push(event.message)),
    log,
    now: () => 0,
  });
  const none = {
    subscribe: ['*'],
    unsubscribe: [],
    initialResourceVersions: new Map<string, string>(),
    responseNonce: '',
    errorDetail: null,
  };
  sender.handle({ ...none, node: { id: 'east', metadata: { features: ['hash-suffix'] } }, typeUrl: 'MeshTimeout' });
  await vi.waitFor(() => expect(rejected).toHaveLength(1));
  await put('small', { a: 'y' });
  await vi.waitFor(() => expect(changelog.logOf('MeshTimeout')?.size).toBe(2));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(sent).toEqual([]);
  expect(rejected[0]).toMatch(/MeshTimeout is \d+ bytes/);
  sender.close();
  stop.abort();
  await running;
});
