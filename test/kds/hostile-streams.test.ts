// Thousands of idle, greedy and cancelled streams: another zone is still served.
import { status, type StatusObject } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { DEFAULT_QUOTAS } from '../../src/kds/admission/quotas.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { sized } from '../support/test-size.ts';
import { firstRequest } from './first-request.ts';
import { SLOW, ending, open, serverUnderAttack, streams, takenIn, type Call } from './server-under-attack.ts';

/** Each opens a hundred streams, as many as a connection may have. */
const CONNECTIONS = sized({ push: 30, full: 100 });

/** The text of a gRPC client for ENHANCE_YOUR_CALM. */
const REFUSED_BY_HTTP2 = 'Bandwidth exhausted or memory limit exceeded';

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();

  it('keeps a hundred idle streams of each of many connections open, and serves another stream', async () => {
    const clients = Array.from({ length: CONNECTIONS }, () => server.dial());
    const calls = Array.from({ length: CONNECTIONS * 100 }, (_, n) => {
      const [, method] = streams[n % streams.length] ?? ['globalToZoneSync', syncService.globalToZoneSync];
      return open(clients[n % CONNECTIONS] ?? server.dial(), method, `zone-${String(Math.trunc(n / 40))}`, Infinity);
    });
    await Promise.all(calls.map(takenIn));
    expect(await server.firstState()).toEqual([SLOW]);
    for (const call of calls) call.cancel();
  });

  /** Opens streams that subscribe and never acknowledge, and has another zone served beside them. */
  async function serveBeside(count: number, zoneOf: (n: number) => string): Promise<void> {
    const client = server.dial();
    const calls = Array.from({ length: count }, (_, n) => open(client, syncService.globalToZoneSync, zoneOf(n), Infinity));
    for (const call of calls) call.write(encodeDeltaRequest(firstRequest('MeshTimeout')));
    await Promise.all(calls.map(takenIn));
    try {
      expect(await server.firstState()).toEqual([SLOW]);
    } finally {
      for (const call of calls) call.cancel();
    }
  }

  it('accepts only a bounded number of streams of a connection', async () => {
    const client = server.dial();
    const calls = Array.from({ length: 150 }, (_, n) =>
      open(client, syncService.globalToZoneSync, `zone-${String(n)}`, Infinity),
    );
    let taken = 0;
    for (const call of calls) call.once('metadata', () => (taken += 1)).resume();
    await vi.waitFor(() => expect(taken).toBe(100));
    expect(await server.firstState()).toEqual([SLOW]);
    expect(taken).toBe(100);
    for (const call of calls.slice(0, 10)) call.cancel();
    await vi.waitFor(() => expect(taken).toBe(110));
    for (const call of calls) call.cancel();
  });

  it('serves a zone while another subscribes on 2,000 streams: it refuses those over the quota, and names the quota', async () => {
    const clients = Array.from({ length: 20 }, () => server.dial());
    const calls = Array.from({ length: 2_000 }, (_, n) =>
      open(clients[n % 20] ?? server.dial(), syncService.globalToZoneSync, 'east', Infinity),
    );
    for (const call of calls) call.write(encodeDeltaRequest(firstRequest('MeshTimeout')));
    const refused: StatusObject[] = [];
    for (const call of calls) call.resume().once('status', (ended) => refused.push(ended));
    await vi.waitFor(() => expect(refused).toHaveLength(2_000 - DEFAULT_QUOTAS.streams));
    expect(await server.firstState()).toEqual([SLOW]);
    expect(new Set(refused.map(({ code }) => status[code]))).toEqual(new Set(['RESOURCE_EXHAUSTED']));
    // A connection that waited for its turn has few streams. HTTP/2 itself refuses one that is opened before the server has released the last.
    const byQuota = refused.filter(({ details }) => details !== REFUSED_BY_HTTP2);
    expect(byQuota).not.toHaveLength(0);
    for (const { details } of byQuota)
      expect(details).toMatch(/^the zone has 8 open streams of globalToZone, .*multizone\.global\.kds\.quotas\.streams/);
    for (const call of calls) call.cancel();
  });

  it('admits a zone again when its streams over the quota have ended', async () => {
    const client = server.dial();
    const calls = Array.from({ length: DEFAULT_QUOTAS.streams }, () =>
      open(client, syncService.globalToZoneSync, 'east', Infinity),
    );
    await Promise.all(calls.map(takenIn));
    expect(status[(await ending(open(client, syncService.globalToZoneSync, 'east'))).code]).toBe('RESOURCE_EXHAUSTED');
    for (const call of calls) call.cancel();
    await vi.waitFor(async () => expect(await server.firstState('east')).toEqual([SLOW]));
  });

  it('delays a zone that opens streams continuously, and refuses its streams meanwhile', async () => {
    const client = server.dial();
    const call = (): Call => open(client, syncService.globalToZoneSync, 'restless');
    for (let n = 0; n < 20; n += 1) {
      const one = call();
      await takenIn(one);
      one.cancel();
    }
    const calls = Array.from({ length: 40 }, call);
    const endings = calls.map(ending);
    const { code, details } = await Promise.race(endings);
    expect(status[code]).toBe('RESOURCE_EXHAUSTED');
    expect(details).toMatch(/^the zone opens streams of globalToZone too often: 2 a second are admitted/);
    expect(await server.firstState()).toEqual([SLOW]);
    for (const one of calls) one.cancel();
  });

  it('serves a zone while 40 others subscribe and acknowledge nothing', async () => {
    await serveBeside(40, (n) => `silent-${String(n)}`);
  });

  it('keeps nothing for 500 streams that are cancelled at once', async () => {
    const clients = Array.from({ length: 5 }, () => server.dial());
    const calls = Array.from({ length: 500 }, (_, n) => {
      const call = open(clients[n % 5] ?? server.dial(), syncService.globalToZoneSync, `zone-${String(n)}`);
      call.write(encodeDeltaRequest(firstRequest('MeshTimeout')));
      return call;
    });
    await Promise.all(calls.map(takenIn));
    const ended = calls.map(ending);
    for (const call of calls) call.cancel();
    for (const { code } of await Promise.all(ended)) expect(status[code]).toBe('CANCELLED');
  });
});
