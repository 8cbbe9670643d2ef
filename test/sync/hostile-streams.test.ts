// Streams by the thousand, idle, greedy and cancelled: another zone is served all the same.
import { status, type StatusObject } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { DEFAULT_QUOTAS } from '../../src/kds/quotas.ts';
import { syncService } from '../../src/kds/services.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { firstRequest } from './first-request.ts';
import { SLOW, ending, open, serverUnderAttack, streams, takenIn } from './server-under-attack.ts';

describe('a server of hostile peers', () => {
  const server = serverUnderAttack();

  it('keeps 10,000 idle streams of one connection open and serves another', async () => {
    const client = server.dial();
    const calls = Array.from({ length: 10_000 }, (_, n) => {
      const [, method] = streams[n % streams.length] ?? ['globalToZoneSync', syncService.globalToZoneSync];
      return open(client, method, `zone-${String(Math.trunc(n / 40))}`, Infinity);
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

  it('serves a zone while another subscribes on 2,000 streams: it refuses those over the quota, and says which it is', async () => {
    const client = server.dial();
    const calls = Array.from({ length: 2_000 }, () => open(client, syncService.globalToZoneSync, 'east', Infinity));
    for (const call of calls) call.write(encodeDeltaRequest(firstRequest('MeshTimeout')));
    const refused: StatusObject[] = [];
    for (const call of calls) call.resume().once('status', (ended) => refused.push(ended));
    await vi.waitFor(() => expect(refused).toHaveLength(2_000 - DEFAULT_QUOTAS.streams));
    expect(await server.firstState()).toEqual([SLOW]);
    for (const { code, details } of refused) {
      expect(status[code]).toBe('RESOURCE_EXHAUSTED');
      expect(details).toMatch(/^the zone has 8 open streams of globalToZone, .*multizone\.global\.kds\.quotas\.streams/);
    }
    for (const call of calls) call.cancel();
  });

  it('lets a zone in again when its streams over the quota have ended', async () => {
    const client = server.dial();
    const calls = Array.from({ length: DEFAULT_QUOTAS.streams }, () =>
      open(client, syncService.globalToZoneSync, 'east', Infinity),
    );
    await Promise.all(calls.map(takenIn));
    expect(status[(await ending(open(client, syncService.globalToZoneSync, 'east'))).code]).toBe('RESOURCE_EXHAUSTED');
    for (const call of calls) call.cancel();
    await vi.waitFor(async () => expect(await server.firstState('east')).toEqual([SLOW]));
  });

  it('serves a zone while 40 others subscribe and acknowledge nothing', async () => {
    await serveBeside(40, (n) => `silent-${String(n)}`);
  });

  it('forgets 500 streams that are cancelled at once', async () => {
    const client = server.dial();
    const calls = Array.from({ length: 500 }, (_, n) => {
      const call = open(client, syncService.globalToZoneSync, `zone-${String(n)}`);
      call.write(encodeDeltaRequest(firstRequest('MeshTimeout')));
      return call;
    });
    await takenIn(open(client, syncService.globalToZoneSync, 'east'));
    const ended = calls.map(ending);
    for (const call of calls) call.cancel();
    for (const { code } of await Promise.all(ended)) expect(status[code]).toBe('CANCELLED');
  });
});
