// Global watches the health of its zones: it sets the interval of their health checks, and ends stale streams (kds-wire 2.5).
import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { decodeHealthCheckResponse } from '../../src/wire/global-service-messages.ts';
import { ending, open, serverUnderAttack, takenIn } from './server-under-attack.ts';

describe('a server that closes stale streams', () => {
  const server = serverUnderAttack({ pollInterval: 300, timeout: 0, closeStaleConn: true });

  it('requests health checks at its own interval', async () => {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const metadata = new Metadata();
    metadata.set('client-id', 'east');
    const answer = await new Promise<Buffer | undefined>((resolve) =>
      server
        .dial()
        .makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), metadata, (_, bytes) => resolve(bytes)),
    );
    expect(decodeHealthCheckResponse(answer ?? Buffer.alloc(0))).toEqual({ intervalMs: 300 });
  });

  it('ends the older of two streams with CANCELLED, and keeps those of other kinds', async () => {
    const client = server.dial();
    const older = open(client, syncService.globalToZoneSync, 'east');
    const other = open(client, syncService.zoneToGlobalSync, 'east');
    await Promise.all([older, other].map(takenIn));
    const ended = ending(older);
    const newer = open(client, syncService.globalToZoneSync, 'east');
    await takenIn(newer);
    const { code, details } = await ended;
    expect([status[code], details]).toEqual(['CANCELLED', 'stream canceled - stream stopped']);
    for (const call of [newer, other]) expect(call.closed).toBe(false);
  });
});
