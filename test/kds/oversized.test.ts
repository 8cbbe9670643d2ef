// A full state over the message limit must never be followed by a smaller response: a Kuma peer would prune by it.
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalSendRules, zoneReceiveRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { TinyStore } from '../support/tiny-store.ts';

it('the sender stops a type with a full state over the limit, and reports it', async () => {
  const log = createLogger('silent');
  const store = new TinyStore();
  const put = async (name: string, spec: { a: string }): Promise<void> => {
    await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {}, spec });
  };
  const remove = async (name: string): Promise<void> => {
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name } });
  };
  for (let i = 0; i < 4; i += 1) await put(`large-${String(i)}`, { a: 'x'.repeat(1_000) });
  const stop = new AbortController();
  const changelog = new Changelog(store, globalSendRules(), log);
  const running = changelog.run(stop.signal);
  const sent: Buffer[] = [];
  const reasons: (string | null)[] = [];
  const counts: number[] = [];
  const sender = new Sender({
    peer: 'east',
    streamId: 's',
    identifier: 'global',
    changelog,
    initialSyncLimiter: new InitialSyncLimiter(systemClock),
    fail: () => undefined,
    zones: null,
    maxMessageBytes: 3_000,
    send: (message) => void sent.push(message),
    observe: (event) => void (event.kind === 'withheld' && reasons.push(event.all) && counts.push(event.count)),
    log,
    clock: systemClock,
  });
  const none = {
    subscribe: ['*'],
    unsubscribe: [],
    initialResourceVersions: new Map<string, string>(),
    responseNonce: '',
    errorDetail: null,
  };
  sender.handle({ ...none, node: { id: 'east', metadata: encodeStruct({ features: ['hash-suffix'] }) }, typeUrl: 'MeshTimeout' });
  await vi.waitFor(() => expect(reasons).toHaveLength(1));
  await put('small', { a: 'y' });
  await vi.waitFor(() => expect(changelog.logOf('MeshTimeout')?.size).toBe(5));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(sent).toEqual([]);
  // The report follows the state: another number of resources is withheld now.
  expect(counts).toEqual([4, 5]);
  expect(reasons).toEqual(Array(2).fill(expect.stringMatching(/MeshTimeout is \d+ bytes/)));
  // Once it has shrunk, the same stream brings it, whole.
  for (const name of ['large-0', 'large-1']) await remove(name);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const { resources, nonce } = decodeDeltaResponse(sent[0] ?? Buffer.alloc(0));
  expect(resources).toHaveLength(3);
  expect(reasons.at(-1)).toBeNull();
  await put('small', { a: 'z' });
  sender.handle({ ...none, node: { id: 'east' }, typeUrl: 'MeshTimeout', responseNonce: nonce });
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(decodeDeltaResponse(sent[1] ?? Buffer.alloc(0)).resources).toHaveLength(1);
  sender.close();
  stop.abort();
  await running;
});

it('the sender splits a full state over the limit for a Meridian peer, which prunes after the last part', async () => {
  const log = createLogger('silent');
  const stop = new AbortController();
  const [global, zone] = [new TinyStore(), new TinyStore()];
  const names = Array.from({ length: 50 }, (_, index) => `t${String(index)}`);
  for (const name of names)
    await global.write({
      ...{ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {}, spec: { a: 'x'.repeat(300) } },
    });
  const stale = { type: 'MeshTimeout', mesh: 'default', name: 'stale' };
  await zone.write({ op: 'put', key: stale, labels: { 'kuma.io/origin': 'global' }, spec: {}, syncVersion: 'old' });
  const changelog = new Changelog(global, globalSendRules(), log);
  const running = changelog.run(stop.signal);
  await changelog.ready;
  const common = { peer: 'east', streamId: 's', maxMessageBytes: 4_096, observe: () => undefined, log, clock: systemClock };
  let work = Promise.resolve();
  let [parts, largest, rowsAtPart] = [0, 0, 0];
  const sender: Sender = new Sender({
    ...common,
    ...{
      identifier: 'global',
      changelog,
      initialSyncLimiter: new InitialSyncLimiter(systemClock),
      fail: () => undefined,
      zones: null,
    },
    send(message) {
      work = work.then(async () => {
        const response = decodeDeltaResponse(message);
        largest = Math.max(largest, message.length);
        await receiver.handle(response);
        if (!response.isPartial) return;
        parts += 1;
        if (zone.rows.has(JSON.stringify(Object.values(stale)))) rowsAtPart += 1;
      });
    },
  });
  const timeouts = zoneReceiveRules().types.filter(({ name }) => name === 'MeshTimeout');
  const receiver: Receiver = new Receiver({
    ...common,
    ...{ zone: 'east', rules: { ...zoneReceiveRules(), types: timeouts }, store: zone, resume: false },
    node: { version: '0', instanceId: 'i', config: '' },
    validate: () => [],
    send: (message) => sender.handle(decodeDeltaRequest(message)),
  });
  await receiver.start();
  await vi.waitFor(() => expect(zone.rows.size).toBe(names.length));
  expect(zone.rows.has(JSON.stringify(Object.values(stale)))).toBe(false);
  expect(parts).toBeGreaterThan(2);
  expect(rowsAtPart).toBe(parts);
  expect(largest).toBeLessThanOrEqual(common.maxMessageBytes);
  sender.close();
  stop.abort();
  await running;
});
