// How often a zone asks whether global is well is what global says, within reason.
import { Server, ServerCredentials, type ServerDuplexStream, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { sinkOf, sourceOf } from '../../src/control-plane/store-ports.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { runKdsClient } from '../../src/kds/client.ts';
import { zoneSendRules } from '../../src/kds/rules.ts';
import { globalService, syncService } from '../../src/kds/services.ts';
import { encodeHealthCheckResponse } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const log = createLogger('silent');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let stop: AbortController;
let running: Promise<void>[];

beforeEach(() => {
  stop = new AbortController();
  running = [];
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

/** A global that answers health checks with a period, and a zone that is connected to it. Counts what it is asked. */
async function askedBy(intervalMs: number): Promise<{ checks: () => number; streams: () => number }> {
  let checks = 0;
  let streams = 0;
  const idle = (call: ServerDuplexStream<Buffer, Buffer>): void => {
    streams += 1;
    call.on('error', () => undefined);
    call.resume();
  };
  const server = new Server();
  server.addService(syncService, { globalToZoneSync: idle, zoneToGlobalSync: idle });
  server.addService(globalService, {
    ...{ streamXDSConfigs: idle, streamStats: idle, streamClusters: idle },
    healthCheck: (_call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
      checks += 1;
      answer(null, encodeHealthCheckResponse({ intervalMs }));
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  stop.signal.addEventListener('abort', () => server.forceShutdown());
  const store = new TinyStore();
  const changelog = new Changelog(sourceOf(store), zoneSendRules({ zone: 'east' }), log);
  const client = runKdsClient(
    {
      ...{ zone: 'east', address: `127.0.0.1:${String(port)}`, tls: null, maxMessageBytes: 10_485_760, changelog, log },
      node: { version: '0', instanceId: 'zone-1', config: '{}' },
      sink: sinkOf(store, 'global'),
      admission: async () => null,
      validate: () => [],
      observe: () => undefined,
    },
    stop.signal,
  );
  running.push(changelog.run(stop.signal), client);
  await vi.waitFor(() => expect(streams).toBe(5));
  return { checks: () => checks, streams: () => streams };
}

it('is the period of global', async () => {
  const { checks } = await askedBy(10);
  await vi.waitFor(() => expect(checks()).toBeGreaterThan(3));
});

it('is not all the time where that is longer than a timer can run', async () => {
  const busy = await askedBy(30 * DAY);
  const other = await askedBy(10);
  await vi.waitFor(() => expect(other.checks()).toBeGreaterThan(20), 10_000);
  expect(busy.checks()).toBe(1);
});
