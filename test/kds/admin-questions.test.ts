// A query about a proxy on global goes over gRPC to its zone, and the REST API returns the answer or the reason for its absence.
import { status, type StatusObject } from '@grpc/grpc-js';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProxyAdmin } from '../../src/global/proxy-admin.ts';
import type { AdminKind } from '../../src/kds/protocol/admin-streams.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import { globalService } from '../../src/kds/protocol/services.ts';
import { decodeAdminRequest, encodeAdminResponse, type AdminRequest } from '../../src/wire/global-service-messages.ts';
import { testApi } from '../api/test-api.ts';
import { ending, open, serverUnderAttack, takenIn, type Call } from './server-under-attack.ts';

const methods: Readonly<Record<AdminKind, { readonly path: string }>> = {
  configDump: globalService.streamXDSConfigs,
  stats: globalService.streamStats,
  clusters: globalService.streamClusters,
};
const kinds: readonly (readonly [path: string, AdminKind])[] = [
  ['xds', 'configDump'],
  ['stats', 'stats'],
  ['clusters', 'clusters'],
];
const labels = { 'kuma.io/zone': 'east', 'kuma.io/display-name': 'dp', 'kuma.io/origin': 'zone' };
const online = { subscriptions: [{ id: '1', connectTime: '2026-01-01T00:00:00Z' }] };
/** A zone gives up after 10 s and says so (kds-wire 2.7). */
const PATIENCE_MS = 12_000;

describe('a question of a proxy', () => {
  const server = serverUnderAttack();
  let api: FastifyInstance;

  beforeAll(async () => {
    const { store, admin } = server;
    await store.write({ op: 'put', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
    await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'default', name: 'dp-hashed' }, labels, spec: {} });
    await store.write({ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec: online });
    api = testApi(store, 'global', { proxyAdmin: createProxyAdmin(store, admin) });
  });

  afterEach(() => void vi.useRealTimers());
  afterAll(() => api.close());

  /** The zone opens its stream of a kind. */
  async function join(kind: AdminKind): Promise<Call> {
    const call = open(server.dial(), methods[kind], 'east');
    await takenIn(call);
    await vi.waitFor(() => expect(server.admin.has('east', kind)).toBe(true));
    return call;
  }

  async function get(path: string): Promise<{ status: number; type: string; text: string }> {
    const response = await api.inject(`/meshes/default/dataplanes/dp-hashed/${path}`);
    return { status: response.statusCode, type: String(response.headers['content-type']), text: response.body };
  }

  /** The next question that reaches the zone. */
  async function asked(call: Call): Promise<AdminRequest> {
    return decodeAdminRequest(await new Promise<Buffer>((resolve) => call.once('data', resolve)));
  }

  const bytes = (requestId: string, text: string): Buffer => encodeAdminResponse({ requestId, payload: Buffer.from(text) });
  const statusOf = (ended: StatusObject): string => status[ended.code] ?? '';

  it.each(kinds)('for %s is sent with all its parameters, and gets the answer of the zone', async (path, kind) => {
    const call = await join(kind);
    const answer = get(`${path}?format=json&usedonly=false&include_eds=true`);
    const { requestId, ...question } = await asked(call);
    expect(question).toMatchObject({ resourceType: 'Dataplane', resourceName: 'dp', resourceMesh: 'default', option: 1 });
    expect([question.usedOnly, question.kind]).toEqual([false, undefined]);
    call.write(bytes(requestId, `{"of":"${kind}"}`));
    expect(await answer).toMatchObject({ status: 200, text: `{"of":"${kind}"}` });
    expect((await answer).type).toContain('application/json');
  });

  it.each(kinds)('for %s fails with the error of the zone', async (path, kind) => {
    const call = await join(kind);
    const answer = get(path);
    call.write(encodeAdminResponse({ requestId: (await asked(call)).requestId, error: 'envoy is not there' }));
    expect(await answer).toMatchObject({ status: 400 });
    expect(JSON.parse((await answer).text)).toMatchObject({ detail: 'envoy is not there' });
  });

  it.each(kinds)('for %s gets its own answer when two answers arrive in reverse order', async (path, kind) => {
    const call = await join(kind);
    const first = get(path);
    const one = await asked(call);
    const second = get(path);
    const two = await asked(call);
    call.write(bytes(two.requestId, 'second'));
    call.write(bytes(one.requestId, 'first'));
    expect([(await first).text, (await second).text]).toEqual(['first', 'second']);
  });

  it.each(kinds)(
    'for %s waits 12 s for its answer; a later answer ends the stream, not the next question',
    async (path, kind) => {
      const call = await join(kind);
      // Timers alone, those of gRPC too: what travels, travels in real time.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true });
      const inTime = get(path);
      const { requestId } = await asked(call);
      vi.advanceTimersByTime(PATIENCE_MS - 1);
      call.write(bytes(requestId, 'in time'));
      expect(await inTime).toMatchObject({ status: 200, text: 'in time' });
      const tooLate = get(path);
      const late = await asked(call);
      vi.advanceTimersByTime(PATIENCE_MS);
      expect(await tooLate).toMatchObject({ status: 400, text: expect.stringContaining('did not answer in 12 s') as string });
      vi.useRealTimers();
      call.write(bytes(late.requestId, 'late'));
      expect(statusOf(await ending(call))).toBe('INVALID_ARGUMENT');
      const again = await join(kind);
      const next = get(path);
      again.write(bytes((await asked(again)).requestId, 'on the next stream'));
      expect(await next).toMatchObject({ status: 200, text: 'on the next stream' });
    },
  );

  it.each(kinds)('for %s gets the first of two answers, and the second ends the stream', async (path, kind) => {
    const call = await join(kind);
    const ended = ending(call);
    const answer = get(path);
    const { requestId } = await asked(call);
    call.write(bytes(requestId, 'once'));
    call.write(bytes(requestId, 'twice'));
    expect(await answer).toMatchObject({ status: 200, text: 'once' });
    expect(statusOf(await ended)).toBe('INVALID_ARGUMENT');
  });

  it.each(kinds)('for %s fails when the zone disconnects before it answers, and is not sent again', async (path, kind) => {
    const call = await join(kind);
    const answer = get(path);
    await asked(call);
    call.end();
    expect(JSON.parse((await answer).text)).toMatchObject({
      status: 400,
      detail: expect.stringContaining('disconnected') as string,
    });
    expect(await get(path)).toMatchObject({ status: 400, text: expect.stringContaining('is not open here') as string });
  });

  it.each(kinds)('for %s is sent on the one stream of a zone that opens no other, and names its kind', async (path, kind) => {
    const call = open(server.dial(), methods.configDump, 'east', undefined, [feature.hashSuffix, feature.oneAdminStream]);
    await takenIn(call);
    await vi.waitFor(() => expect(server.admin.has('east', kind)).toBe(true));
    const answer = get(path);
    const question = await asked(call);
    expect(question).toMatchObject({ kind, resourceName: 'dp' });
    call.write(bytes(question.requestId, 'on one stream'));
    expect(await answer).toMatchObject({ status: 200, text: 'on one stream' });
    call.end();
    await vi.waitFor(() => expect(server.admin.has('east', kind)).toBe(false));
  });

  it('is not sent to a zone that is offline', async () => {
    const call = await join('stats');
    const closed = { subscriptions: [{ ...online.subscriptions[0], disconnectTime: '2026-01-01T01:00:00Z' }] };
    const put = (spec: typeof online | typeof closed) =>
      server.store.write({ op: 'put', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec });
    call.once('data', () => expect.unreachable('the zone was asked'));
    await put(closed);
    try {
      expect(await get('stats')).toMatchObject({ status: 400, text: expect.stringContaining('is offline') as string });
    } finally {
      await put(online);
    }
  });
});
