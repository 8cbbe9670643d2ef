// A KDS server of global with one resource, and the connections and streams of hostile peers.
// Invariant: after every test a correct zone gets its state, and no memory is held for ended streams.
import { Client, credentials, Metadata, status, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { following } from '../support/following.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { AdminStreams } from '../../src/kds/protocol/admin-streams.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import type { SyncObserver } from '../../src/kds/protocol/sync-events.ts';
import { DEFAULT_QUOTAS } from '../../src/kds/admission/quotas.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { OpenSenders } from '../../src/kds/sender/open-senders.ts';
import { KdsServer, type KdsServerOptions } from '../../src/kds/server/server.ts';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { NO_HEALTH_POLICY, type HealthPolicy } from '../../src/kds/server/stale-streams.ts';
import { createSyncMetrics } from '../../src/kds/sync-metrics.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { decodeDeltaResponse, encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { firstRequest } from './first-request.ts';

/** The time limit for an answer of the server. */
const ANSWER_MS = 60_000;

/** Name on the wire of the one MeshTimeout in the store. */
export const SLOW = `${hashName({ mesh: 'default', name: 'slow' })}.default`;

/** The streams of the sync service, by name. */
export const sync = Object.entries(syncService);
/** All streams that a zone opens, by name. */
export const streams = [...sync, ...Object.entries(globalService).filter(([name]) => name !== 'healthCheck')];

export type Call = ClientDuplexStream<Buffer, Buffer>;

/** A server for the tests of the calling block. It starts before them and is checked after each. */
export function serverUnderAttack(health: HealthPolicy = NO_HEALTH_POLICY, gate: Gate = {}): ServerUnderAttack {
  const server = new ServerUnderAttack(health, gate);
  beforeAll(async () => server.start());
  afterEach(async () => server.expectToServe());
  afterAll(async () => server.close());
  return server;
}

/** The admitted peers and their limits. */
type Gate = Pick<Partial<KdsServerOptions>, 'admit' | 'connections' | 'quotas'>;

export class ServerUnderAttack {
  readonly store = new TinyStore();
  readonly registry = new Registry();
  /** Lines of its log. */
  readonly logged: string[] = [];
  /** Peers whose health checks it reported. */
  readonly healthChecks: string[] = [];
  /** Get all events of its streams. */
  readonly observers: SyncObserver[] = [];
  /** The streams for its queries about proxies. */
  readonly admin = new AdminStreams(systemClock);
  port = 0;
  readonly #stop = new AbortController();
  readonly #clients: Client[] = [];
  readonly #running: Promise<void>[] = [];
  #server: KdsServer | undefined;
  readonly #health: HealthPolicy;
  readonly #gate: Gate;

  constructor(health: HealthPolicy = NO_HEALTH_POLICY, gate: Gate = {}) {
    this.#health = health;
    this.#gate = gate;
  }

  async start(): Promise<void> {
    const { store, healthChecks, observers } = this;
    const log = pino({ level: 'info' }, { write: (line: string) => void this.logged.push(line) });
    await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name: 'slow' }, labels: {}, spec: {} });
    const metrics = createSyncMetrics({ registry: this.registry, side: { mode: 'global' }, senders: new OpenSenders() });
    const zones = new KnownZones(store, following);
    const changelog = new Changelog(store, globalSendRules(), log);
    this.#running.push(zones.run(this.#stop.signal), changelog.run(this.#stop.signal));
    await Promise.all([changelog.ready, zones.loaded]);
    this.#server = new KdsServer({
      clock: systemClock,
      host: '127.0.0.1',
      port: 0,
      tls: null,
      // Zones of one name ask for their full state again and again.
      quotas: { ...DEFAULT_QUOTAS, fullStates: 100_000 },
      ...this.#gate,
      maxMessageBytes: 10 * 1024 * 1024,
      health: this.#health,
      node: { version: '0', instanceId: 'global-1', config: '' },
      changelog,
      zones,
      admin: this.admin,
      store,
      validate: validateResource,
      observe(event) {
        metrics.observe(event);
        for (const observe of observers) observe(event);
        if (event.kind === 'healthCheck') healthChecks.push(event.peer);
      },
      log,
    });
    this.port = await this.#server.listen();
  }

  async expectToServe(): Promise<void> {
    this.#hangUp();
    expect(await this.firstState()).toEqual([SLOW]);
    this.#hangUp();
    // Ended streams must use no memory.
    await vi.waitFor(() => expect([...(this.#server?.behind() ?? ['no server'])]).toEqual([]));
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** A separate connection, closed after the test. */
  dial(options: Record<string, number> = {}): Client {
    const client = new Client(`127.0.0.1:${String(this.port)}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  /** The MeshTimeouts that a correct zone gets. */
  async firstState(zone = 'well-behaved'): Promise<string[]> {
    const call = open(this.dial(), syncService.globalToZoneSync, zone);
    const answer = new Promise<Buffer>((resolve, reject) => {
      call.once('data', resolve);
      call.once('status', ({ code, details }) => reject(new Error(`${status[code]}: ${details}`)));
    });
    const request = firstRequest('MeshTimeout', { node: zone });
    call.write(encodeDeltaRequest(request));
    const { nonce, resources: sent } = decodeDeltaResponse(await answer);
    call.write(encodeDeltaRequest({ ...request, node: { id: zone }, subscribe: [], responseNonce: nonce }));
    call.cancel();
    return sent.map(({ name }) => name);
  }

  #hangUp(): void {
    for (const client of this.#clients.splice(0)) client.close();
  }
}

/**
 * A stream as `zone`; without a name the header is missing. A server without an answer gives DEADLINE_EXCEEDED.
 * @param features one header line for each
 */
export function open(
  client: Client,
  method: { path: string },
  zone: string | undefined,
  limitMs = ANSWER_MS,
  features: readonly string[] = ['hash-suffix'],
): Call {
  const metadata = new Metadata();
  if (zone !== undefined) metadata.set('client-id', zone);
  for (const line of features) metadata.add('features', line);
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(method.path, same, same, metadata, { deadline: Date.now() + limitMs });
  call.on('error', () => undefined);
  return call;
}

/** The end of a stream; earlier messages are read and dropped. */
export async function ending(call: Call): Promise<StatusObject> {
  call.resume();
  return await new Promise((resolve) => call.once('status', resolve));
}

/** Resolves when the server has sent its headers. */
export async function takenIn(call: Call): Promise<void> {
  await new Promise((resolve) => call.once('metadata', resolve).resume());
}
