// Global queries a zone over the stream that the zone opened, with every kind of failure (kds-wire 2.7).
import { duplexPair, type Duplex } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createProxyAdmin } from '../../src/global/proxy-admin.ts';
import { adminKinds, answerAdminRequests, AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import type { Resource } from '../../src/resource/types.ts';
import {
  decodeAdminRequest,
  decodeAdminResponse,
  encodeAdminRequest,
  encodeAdminResponse,
  type AdminRequest,
} from '../../src/wire/global-service-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

/** A stream between two ends in this process, message by message. */
function connect(): { zone: Duplex; global: Duplex } {
  const [zone, global] = duplexPair({ objectMode: true });
  return { zone, global };
}

const question = { resourceName: 'dp', resourceMesh: 'default', option: 1, usedOnly: false };

async function storeWith(insight: Resource['spec']): Promise<TinyStore> {
  const store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec: insight });
  return store;
}

const dataplane: Resource = {
  ...{ type: 'Dataplane', mesh: 'default', name: 'dp-hashed', version: 0, spec: {}, status: {}, owner: null, syncVersion: 'v' },
  labels: { 'kuma.io/zone': 'east', 'kuma.io/display-name': 'dp', 'k8s.kuma.io/namespace': 'ns' },
  creationTime: new Date(0),
  modificationTime: new Date(0),
};
const online = (store: string) => ({
  subscriptions: [{ id: '1', connectTime: '2026-01-01T00:00:00Z', config: JSON.stringify({ store: { type: store } }) }],
  kdsStreams: { stats: { globalInstanceId: 'replica-b' } },
});
const options = { json: false, usedOnly: true, includeEds: false };

describe('the admin streams', () => {
  it('carry a query to the zone and its answer back, in any order', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'clusters', global);
    const asked: AdminRequest[] = [];
    zone.on('data', (bytes: Buffer) => {
      asked.push(decodeAdminRequest(bytes));
      if (asked.length < 2) return;
      for (const { requestId, resourceName } of asked.toReversed())
        zone.write(encodeAdminResponse({ requestId, payload: Buffer.from(resourceName) }));
    });
    const answers = await Promise.all(
      ['one', 'two'].map((resourceName) => streams.ask('east', 'clusters', { ...question, resourceName })),
    );
    expect(answers.map((bytes) => Buffer.from(bytes).toString())).toEqual(['one', 'two']);
    expect(asked[0]).toMatchObject({ resourceType: 'Dataplane', resourceMesh: 'default', option: 1 });
  });

  it('return the error of the zone', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'stats', global);
    void answerAdminRequests(zone, 'stats', () => Promise.reject(new Error('no proxy of Dataplane "dp"')));
    await expect(streams.ask('east', 'stats', question)).rejects.toThrow('no proxy of Dataplane "dp"');
  });

  it('return what the zone got from its proxy, each request for itself', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'clusters', global);
    const first = Promise.withResolvers<Uint8Array>();
    void answerAdminRequests(zone, 'clusters', async (kind, { resourceName }) =>
      resourceName === 'slow' ? await first.promise : Buffer.from(`${kind} of ${resourceName}`),
    );
    const slow = streams.ask('east', 'clusters', { ...question, resourceName: 'slow' });
    const fast = await streams.ask('east', 'clusters', { ...question, resourceName: 'fast' });
    expect(Buffer.from(fast).toString()).toBe('clusters of fast');
    first.resolve(Buffer.from('late'));
    expect(Buffer.from(await slow).toString()).toBe('late');
  });

  it('of all kinds are one stream of a zone that opens no other', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'configDump', global, true);
    void answerAdminRequests(zone, 'configDump', async (kind) => Buffer.from(`${kind} of a proxy`));
    for (const kind of adminKinds)
      expect(Buffer.from(await streams.ask('east', kind, question)).toString()).toBe(`${kind} of a proxy`);
    zone.end();
    await vi.waitFor(() => expect(adminKinds.map((kind) => streams.has('east', kind))).toEqual([false, false, false]));
  });

  it('say which kinds there are when a zone knows no other', async () => {
    const { zone, global } = connect();
    void answerAdminRequests(zone, 'configDump', async () => Buffer.alloc(0));
    const answered = new Promise<Buffer>((resolve) => global.once('data', resolve));
    global.write(encodeAdminRequest({ requestId: '1', resourceType: 'Dataplane', ...question, kind: 'heapDump' }));
    expect(decodeAdminResponse(await answered)).toEqual({
      requestId: '1',
      error: 'this zone answers no request of the kind "heapDump": configDump, stats, clusters',
    });
  });

  it('are refused by a zone that waits for too many proxies', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'clusters', global);
    const stuck = Promise.withResolvers<Uint8Array>();
    void answerAdminRequests(zone, 'clusters', () => stuck.promise);
    const waiting = Array.from({ length: 16 }, () => streams.ask('east', 'clusters', question));
    await expect(streams.ask('east', 'clusters', question)).rejects.toThrow('busy');
    stuck.resolve(Buffer.from('now'));
    expect((await Promise.all(waiting)).map((bytes) => Buffer.from(bytes).toString())).toEqual(waiting.map(() => 'now'));
  });

  it('fail pending and later queries when the zone disconnects', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    const served = streams.serve('east', 'stats', global);
    const answer = streams.ask('east', 'stats', question);
    zone.on('data', () => zone.end());
    await expect(answer).rejects.toThrow('disconnected before it answered');
    await served;
    await expect(streams.ask('east', 'stats', question)).rejects.toThrow('has no stats stream');
  });

  it('end at an answer without a pending request', async () => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    const served = streams.serve('east', 'stats', global);
    zone.write(encodeAdminResponse({ requestId: 'unknown' }));
    await expect(served).rejects.toMatchObject({ code: 'bad_request' });
  });

  it.each([
    ['postgres', 'dp'],
    ['kubernetes', 'dp.ns'],
  ])('call a Dataplane of a zone on %s %s', async (store, name) => {
    const streams = new AdminStreams(systemClock);
    const { zone, global } = connect();
    void streams.serve('east', 'stats', global);
    zone.on('data', (bytes: Buffer) => {
      const { requestId, resourceName, usedOnly } = decodeAdminRequest(bytes);
      zone.write(encodeAdminResponse({ requestId, payload: Buffer.from(`${resourceName} ${String(usedOnly)}`) }));
    });
    const ask = createProxyAdmin(await storeWith(online(store)), streams);
    expect(Buffer.from(await ask(dataplane, 'stats', options)).toString()).toBe(`${name} true`);
  });

  it('report that the zone is offline, or which replica has its stream', async () => {
    const streams = new AdminStreams(systemClock);
    await expect(createProxyAdmin(await storeWith({}), streams)(dataplane, 'stats', options)).rejects.toThrow('is offline');
    const ask = createProxyAdmin(await storeWith(online('postgres')), streams);
    await expect(ask(dataplane, 'stats', options)).rejects.toThrow('replica-b holds it');
  });
});
