// A global and its zones in one process: a store and a REST API each, and between them the real senders and receivers, which
// exchange encoded messages. Invariant: every promise of this file resolves when nothing is in flight.
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { systemClock } from '../../src/base/clock.ts';
import { following } from '../support/following.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createLogger } from '../../src/base/log.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { Receiver, type ReceiverOptions } from '../../src/kds/receiver/receiver.ts';
import {
  globalReceiveRules,
  globalSendRules,
  zoneReceiveRules,
  zoneSendRules,
  type SendRules,
} from '../../src/kds/protocol/rules.ts';
import { Sender, type SenderOptions } from '../../src/kds/sender/sender.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { createZoneDefaults } from '../../src/defaults/zone-defaults.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { Traffic } from './traffic.ts';

export const zones = ['east', 'west'] as const;
export type Zone = (typeof zones)[number];
export const sides = ['global', ...zones] as const;
export type Side = (typeof sides)[number];

/** The resources that a control plane refused, from any peer. */
export type Refusal = { readonly by: Side; readonly over: 'KDS' | 'REST'; readonly type: string; readonly message: string };

type Stream = { readonly zone: Zone; readonly sender: Sender; readonly cut: () => void };

const log = createLogger('silent');
const NO_DEFAULTS = { skipTenantResources: true, skipMeshCreation: true, skipHostnameGenerators: true };

export class ControlPlanes {
  readonly stores: Readonly<Record<Side, TinyStore>> = { global: new TinyStore(), east: new TinyStore(), west: new TinyStore() };
  readonly refusals: Refusal[] = [];
  /** Those that were called: an API costs more than most cases. */
  readonly #apis = new Map<Side, FastifyInstance>();
  readonly #traffic = new Traffic();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #registry: KnownZones;
  readonly #changelogs: Readonly<Record<Side, Changelog>>;
  readonly #initialSyncLimiter = new InitialSyncLimiter(systemClock);
  readonly #resume: boolean;
  readonly #received = new Map<Side, number>();
  #streams: Stream[] = [];

  /** `resume`: receivers send their versions and get differences; without it they get the full state and prune (D29). */
  constructor({ resume }: { resume: boolean }) {
    this.#resume = resume;
    for (const side of sides) this.#traffic.watch(this.stores[side]);
    this.#registry = new KnownZones(this.stores.global, following);
    const changelogOf = (side: Side): Changelog => new Changelog(this.stores[side], rulesOf(side), log);
    this.#changelogs = { global: changelogOf('global'), east: changelogOf('east'), west: changelogOf('west') };
  }

  /** Starts all three with the rows of their stores, and connects the zones. */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    this.#registry.onChange((change) => this.#changelogs.global.touchZone(change));
    this.#running.push(this.#registry.run(signal));
    for (const side of sides) this.#running.push(this.#changelogs[side].run(signal));
    for (const zone of zones) await createZoneDefaults(this.stores[zone], { name: zone, hasGlobal: true }, NO_DEFAULTS);
    await Promise.all([this.#registry.loaded, ...sides.map((side) => this.#changelogs[side].ready)]);
    await this.reconnect();
  }

  /** Cuts the streams of one zone permanently. */
  async disconnect(zone: Zone): Promise<void> {
    const of = this.#streams.filter((stream) => stream.zone === zone);
    for (const { cut } of of) cut();
    this.#streams = this.#streams.filter((stream) => !of.includes(stream));
    await this.rest();
  }

  /** Messages that reached a side so far. */
  received(side: Side): number {
    return this.#received.get(side) ?? 0;
  }

  /** Cuts every stream and opens a new one. */
  async reconnect(): Promise<void> {
    for (const { cut } of this.#streams) cut();
    this.#streams = [];
    for (const zone of zones) {
      await this.#registry.ensure(zone);
      this.#streams.push(this.#down(zone), this.#up(zone));
    }
    await this.rest();
  }

  /** One REST call. @returns its status and the reason for a refusal */
  async call(side: Side, method: 'PUT' | 'DELETE', url: string, body?: unknown): Promise<{ status: number; text: string }> {
    const answer = await this.#api(side).inject({
      method,
      url,
      ...(body !== undefined && { payload: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: answer.statusCode, text: answer.body };
  }

  /** One GET over REST. */
  async ask(side: Side, url: string): Promise<{ status: number; body: unknown }> {
    const answer = await this.#api(side).inject(url);
    return { status: answer.statusCode, body: answer.json() };
  }

  /** @throws Error when the traffic does not end, or a peer then lacks a resource that it did not refuse */
  async rest(): Promise<void> {
    await this.#traffic.rest();
    const refused = new Set(this.refusals.map(({ type }) => type));
    const behind = this.#streams.flatMap(({ sender }) => sender.behind()).filter((type) => !refused.has(type));
    if (behind.length > 0) throw new Error(`at rest, but not all has been sent of ${behind.join(', ')}`);
  }

  async close(): Promise<void> {
    for (const { cut } of this.#streams) cut();
    this.#stop.abort();
    await Promise.all([...this.#running, ...[...this.#apis.values()].map((api) => api.close())]);
  }

  #api(side: Side): FastifyInstance {
    let api = this.#apis.get(side);
    if (api === undefined) this.#apis.set(side, (api = apiOf(this.stores[side], side === 'global' ? null : side)));
    return api;
  }

  /** GlobalToZoneSync. */
  #down(zone: Zone): Stream {
    return this.#stream(
      zone,
      { by: 'global', changelog: this.#changelogs.global, initialSyncLimiter: this.#initialSyncLimiter, zones: this.#registry },
      { by: zone, peer: 'global', rules: zoneReceiveRules(), store: this.stores[zone] },
    );
  }

  /** ZoneToGlobalSync. */
  #up(zone: Zone): Stream {
    const rules = globalReceiveRules(zone, { hashedNames: true });
    return this.#stream(
      zone,
      { by: zone, changelog: this.#changelogs[zone], initialSyncLimiter: new InitialSyncLimiter(systemClock), zones: null },
      { by: 'global', peer: zone, rules, store: this.stores.global },
    );
  }

  #stream(
    zone: Zone,
    from: Pick<SenderOptions, 'changelog' | 'initialSyncLimiter' | 'zones'> & { by: Side },
    to: Pick<ReceiverOptions, 'rules' | 'store' | 'peer'> & { by: Side },
  ): Stream {
    let isCut = false;
    const toReceiver = this.#traffic.queue();
    const toSender = this.#traffic.queue();
    const common = { streamId: zone, maxMessageBytes: 10_485_760, log, clock: systemClock };
    const sender = new Sender({
      ...common,
      fail: () => undefined,
      ...from,
      peer: zone,
      identifier: from.by,
      observe: (event) => this.#keepRefusal(to.by, event),
      send: (message) =>
        toReceiver(async () => {
          if (isCut) return;
          this.#received.set(to.by, this.received(to.by) + 1);
          await receiver.handle(decodeDeltaResponse(message));
        }),
    });
    const receiver = new Receiver({
      ...common,
      ...to,
      zone,
      node: { version: '0-preview', instanceId: to.by, config: '' },
      resume: this.#resume,
      validate: validateResource,
      observe: () => undefined,
      send: (message) =>
        toSender(() => {
          if (!isCut) sender.handle(decodeDeltaRequest(message));
        }),
    });
    toReceiver(() => receiver.start());
    return {
      zone,
      sender,
      cut: () => {
        isCut = true;
        sender.close();
      },
    };
  }

  #keepRefusal(by: Side, event: SyncEvent): void {
    if (event.kind === 'rejected') this.refusals.push({ by, over: 'KDS', type: event.type, message: event.message });
  }
}

function rulesOf(side: Side): SendRules {
  return side === 'global' ? globalSendRules() : zoneSendRules({ zone: side });
}

function apiOf(store: TinyStore, zone: Zone | null): FastifyInstance {
  return createApi({
    store,
    mode: zone === null ? 'global' : 'zone',
    zone,
    federated: zone !== null,
    product: 'Meridian',
    productVersion: '0-preview',
    instanceId: zone ?? 'global',
    clusterId: async () => 'golden',
    readOnly: false,
    config: {},
    metrics: new Registry(),
    clock: systemClock,
    log,
    proxyAdmin: async () => new Uint8Array(),
    meshDefaults: async () => [],
    addRoutes: addPolicyInspect(rulesOf(zone ?? 'global')),
  });
}
