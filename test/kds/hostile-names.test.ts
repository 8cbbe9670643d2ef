// Peers without a name, or with an invalid zone name, are refused.
import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { decodeDeltaResponse, encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { firstRequest } from './first-request.ts';
import { ending, open, serverUnderAttack, streams, sync } from './server-under-attack.ts';

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();

  it.each(streams)('ends %s as Kuma does when client-id is missing (kds-wire 2.1)', async (name, method) => {
    const { code, details } = await ending(open(server.dial(), method, undefined));
    const expected = sync.some(([other]) => other === name) ? 'UNKNOWN' : 'INVALID_ARGUMENT';
    expect([status[code], details]).toEqual([expected, '"client-id" is not present in metadata']);
  });

  it('answers a health check without client-id with INVALID_ARGUMENT', async () => {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const code = await new Promise((resolve) => {
      server
        .dial()
        .makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), (error) => resolve(error?.code));
    });
    expect(code).toBe(status.INVALID_ARGUMENT);
  });

  it('answers a health check of an invalid zone name with INVALID_ARGUMENT, and does not record it', async () => {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const before = server.healthChecks.length;
    const answers = await Promise.all(
      ['east.west', 'EAST', 'fine'].map(async (name) => {
        const metadata = new Metadata();
        metadata.set('client-id', name);
        return await new Promise((resolve) => {
          const done = (error: { code: status } | null): void => resolve(error === null ? 'OK' : status[error.code]);
          server.dial().makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), metadata, done);
        });
      }),
    );
    expect(answers).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'OK']);
    expect(server.healthChecks.slice(before)).toEqual(['fine']);
    expect(await server.store.get({ type: 'Zone', mesh: '', name: 'fine' })).toBeDefined();
  });

  it.each([
    'east.west',
    '../east',
    'a/b',
    '"east"',
    "east'; drop table resources; --",
    'EAST',
    '__proto__',
    'a'.repeat(64),
    'east, west',
  ])('refuses the zone name %j', async (name) => {
    const client = server.dial();
    for (const [, method] of streams) {
      const { code, details } = await ending(open(client, method, name));
      expect(status[code]).toBe('INTERNAL');
      expect(details).toContain(JSON.stringify(name));
    }
  });

  it.each([
    ['east', 'west', ['cart']],
    ['west', 'east', []],
  ])('identifies %s by its client-id, although its messages name %s', async (zone, node, sees) => {
    const key = { type: 'MeshService', mesh: 'default', name: hashName({ mesh: 'default', name: 'cart', zone: 'west' }) };
    const labels = { 'kuma.io/zone': 'west', 'kuma.io/origin': 'zone', 'kuma.io/display-name': 'cart' };
    const owner = { type: 'Zone', mesh: '', name: 'west' };
    await server.store.write({ op: 'put', key: owner, labels: {}, spec: { enabled: true } });
    await server.store.write({ op: 'put', key, labels, spec: {}, owner, syncVersion: 'v' });
    const call = open(server.dial(), syncService.globalToZoneSync, zone);
    const answer = new Promise<Buffer>((resolve) => call.once('data', resolve));
    call.write(encodeDeltaRequest(firstRequest('MeshService', { node })));
    const { resources } = decodeDeltaResponse(await answer);
    expect(resources.map(({ name }) => name)).toEqual(sees.map(() => `${key.name}.default`));
    call.end();
    await ending(call);
    const closed = (): (string | undefined)[] =>
      server.logged.flatMap((line) => {
        const { msg, zone: about } = JSON.parse(line) as { zone?: string; msg: string };
        return msg === 'stream closed' ? [about] : [];
      });
    await vi.waitFor(() => expect(closed().at(-1)).toBe(zone));
  });
});
