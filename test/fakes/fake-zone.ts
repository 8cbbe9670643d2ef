// A zone without a database: it joins as a Meridian zone does, answers every response as its manners are, and connects again when its
// connection is lost. One that remembers holds the version of each resource and says on the next connection what it has; another counts
// MeshTimeouts alone, from the start on each connection, so that fifty of them cost the machine little. It may have a service of its own.
import { hash } from 'node:crypto';
import { connect } from 'node:net';
import { MAX_LATE, reconnectPauseMs } from '../../src/kds/client/client.ts';
import { zoneHeaderFeatures } from '../../src/kds/protocol/features.ts';
import { nodeMetadata } from '../../src/kds/protocol/node.ts';
import { STORE_ID_HEADER } from '../../src/kds/protocol/peer-metadata.ts';
import { zoneConsumes } from '../../src/kds/protocol/rules.ts';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { encodeHealthCheckRequest } from '../../src/wire/global-service-messages.ts';
import { decodeInStep, isInStep } from '../../src/wire/in-step.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { openBundled, type BundledCall } from './bundled-call.ts';
import { GrpcConnection, type GrpcCall } from './grpc-connection.ts';
import { scanRequest, scanResources, scanResponse } from './response-scan.ts';

const NODE = { version: 'bench', instanceId: 'bench', config: '{"store":{"type":"postgres"}}' };
const METADATA = nodeMetadata(NODE, true);
/** As a zone has it for its health check. */
const ANSWER_MS = 30_000;
/** The type of which it counts the resources. */
const COUNTED = 'MeshTimeout';
const REFUSAL = { code: 3, message: 'this zone refuses everything', details: [] };

/**
 * What a zone does with a response: `good` acknowledges it, `silent` says nothing, `refusing` refuses it and takes nothing of it, `deaf`
 * does not even read it. A `restless` one acknowledges it, and leaves and joins again and again.
 */
export type Manners = 'good' | 'silent' | 'refusing' | 'deaf' | 'restless';

/** What a zone sends of its own. */
export type OwnService = {
  readonly type: string;
  /** A subscription of global to the type, or its answer to a response. @returns what to send */
  readonly take: (bytes: Buffer) => { readonly response: Buffer | null; readonly isRefused: boolean; readonly isInStep: boolean };
  /** The connection was lost. */
  readonly forget: () => void;
};

export type FakeZoneOptions = {
  readonly name: string;
  readonly remembers: boolean;
  readonly manners: Manners;
  /** The address for the next connection. */
  readonly choose: () => string;
  /** Something that the counters of the zone show has changed. */
  readonly changed: () => void;
  /** Its connection was lost, after so many MeshTimeouts. @returns whether it connects again */
  readonly mayConnect?: (received: number) => boolean;
  readonly service?: OwnService;
};

/** Names and versions that all zones of the process have in common. */
const texts = new Map<string, string>();
function shared(text: string): string {
  const known = texts.get(text);
  if (known === undefined) texts.set(text, text);
  return known ?? text;
}

export class FakeZone {
  readonly #options: FakeZoneOptions;
  /** Type → wire name → version. */
  readonly #held = new Map<string, Map<string, string>>();
  readonly #answered = new Set<string>();
  /** Null before the first connection, between two, and after the last. */
  #connection: GrpcConnection | null = null;
  #up: GrpcCall | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Health checks without an answer, one after the other: the pause doubles with each. */
  #late = 0;
  #policies = 0;
  manners: Manners;
  /** The replica that it is connected to, or tries; empty while it waits. */
  address = '';
  /** Resources that it got and had in this version. */
  again = 0;
  /** Failed connections, ended streams included. */
  failures = 0;
  /** Responses that it refused. */
  refused = 0;
  /** Responses of its own that global refused. */
  refusedByPeer = 0;

  constructor(options: FakeZoneOptions) {
    this.#options = options;
    this.manners = options.manners;
  }

  /** Every type was answered on this connection. */
  get isUp(): boolean {
    return this.#answered.size === zoneConsumes.length;
  }

  /**
   * MeshTimeouts that it got, a changed one again; one that it remembers does not count again. −1 for a zone that remembers none and is not
   * up.
   */
  get received(): number {
    return this.#options.remembers || this.isUp ? this.#policies : -1;
  }

  /** Type → wire name → version. */
  get held(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    return this.#held;
  }

  /** The same for two zones that hold the same. */
  digest(): string {
    const lines = [...this.#held].flatMap(([type, held]) => [...held].map(([name, version]) => `${type} ${name} ${version}`));
    return hash('sha256', lines.toSorted().join('\n'));
  }

  /** Sends a response of its service, if it is connected. */
  send(response: Buffer): void {
    this.#up?.write(response);
  }

  join(): void {
    this.address = this.#options.choose();
    const [host = '', port = ''] = this.address.split(':');
    const takes = this.manners === 'deaf' ? 'little' : 'all';
    const connection = new GrpcConnection(connect({ host, port: Number(port) }), 'http', takes);
    this.#connection = connection;
    const late = setTimeout(() => {
      this.#late = Math.min(MAX_LATE, this.#late + 1);
      this.#lost(connection);
    }, ANSWER_MS);
    const { path } = globalService.healthCheck;
    connection.ask({ path, metadata: this.#metadata }, encodeHealthCheckRequest(), (answer) => {
      clearTimeout(late);
      this.#late = 0;
      if (answer === null) this.#lost(connection);
      else if (connection === this.#connection) this.#openStreams(connection);
    });
  }

  /** Loses its connection, as when a load balancer restarts, and connects again after the pause of a zone. */
  drop(): void {
    if (this.#connection !== null) this.#lost(this.#connection);
  }

  /** Leaves without a word. */
  leave(): void {
    clearTimeout(this.#timer);
    const connection = this.#connection;
    this.#connection = null;
    this.#up = null;
    this.#options.service?.forget();
    this.address = '';
    this.#answered.clear();
    if (!this.#options.remembers) this.#policies = 0;
    connection?.destroy();
  }

  #lost(connection: GrpcConnection): void {
    if (connection !== this.#connection) return;
    this.failures += 1;
    const { received } = this;
    this.leave();
    if (this.#options.mayConnect?.(received) !== false)
      this.#timer = setTimeout(() => this.join(), reconnectPauseMs() * 2 ** this.#late);
    this.#options.changed();
  }

  #openStreams(connection: GrpcConnection): void {
    const down = this.#open(connection, syncService.globalToZoneSync.path, (bytes) => {
      if (this.manners !== 'deaf') this.#receive(down, bytes);
    });
    for (const [index, { name }] of zoneConsumes.entries()) this.#subscribe(down, name, index === 0);
    const up = this.#open(connection, syncService.zoneToGlobalSync.path, (bytes) => this.#answer(up, bytes));
    this.#up = up;
    // One admin stream for all kinds, as global knows it.
    this.#open(connection, globalService.streamXDSConfigs.path, () => undefined);
  }

  #receive(stream: GrpcCall, bytes: Buffer): void {
    if (isInStep(bytes)) {
      for (const type of decodeInStep(bytes)) this.#answered.add(type);
      this.#options.changed();
      return;
    }
    const { type, nonce } = this.#options.remembers ? this.#remember(bytes) : this.#count(bytes);
    if (this.manners === 'refusing') this.refused += 1;
    if (this.manners !== 'refusing' || !this.#options.remembers) this.#answered.add(type);
    this.#options.changed();
    if (this.manners !== 'silent') stream.write(this.#request(type, nonce));
  }

  #count(bytes: Buffer): { readonly type: string; readonly nonce: string } {
    const response = scanResponse(bytes);
    if (response.type === COUNTED) this.#policies += response.resources;
    return response;
  }

  #remember(bytes: Buffer): { readonly type: string; readonly nonce: string } {
    const { typeUrl: type, nonce, resources, removed } = scanResources(bytes);
    if (this.manners === 'refusing') return { type, nonce };
    const held = this.#held.get(type) ?? new Map<string, string>();
    this.#held.set(shared(type), held);
    for (const { name, version } of resources) {
      if (held.get(name) === version) this.again += 1;
      else if (type === COUNTED) this.#policies += 1;
      held.set(shared(name), shared(version));
    }
    for (const name of removed) held.delete(name);
    return { type, nonce };
  }

  /** @param isFirst global remembers the metadata of the first request */
  #subscribe(stream: GrpcCall, typeUrl: string, isFirst: boolean): void {
    stream.write(
      encodeDeltaRequest({
        node: { id: this.#options.name, ...(isFirst && { metadata: METADATA }) },
        ...{ typeUrl, subscribe: ['*'], unsubscribe: [], responseNonce: '', errorDetail: null },
        initialResourceVersions: this.#held.get(typeUrl) ?? new Map(),
      }),
    );
  }

  /** The answer to a response. */
  #request(typeUrl: string, responseNonce: string): Buffer {
    return encodeDeltaRequest({
      ...{ node: { id: this.#options.name }, typeUrl, subscribe: [], unsubscribe: [], responseNonce },
      ...{ initialResourceVersions: new Map(), errorDetail: this.manners === 'refusing' ? REFUSAL : null },
    });
  }

  /** The zone has no more of its own than its service: of each other type global has everything. */
  #answer(stream: BundledCall, bytes: Buffer): void {
    const { type, nonce } = scanRequest(bytes);
    const { service } = this.#options;
    if (service?.type === type) {
      const { response, isRefused, isInStep: hasAll } = service.take(bytes);
      if (isRefused) this.refusedByPeer += 1;
      if (hasAll) stream.sayInStep(type);
      if (response !== null) stream.write(response);
      this.#options.changed();
    } else if (nonce === '') stream.sayInStep(type);
  }

  #open(connection: GrpcConnection, path: string, take: (bytes: Buffer) => void): BundledCall {
    return openBundled(connection, {
      ...{ path, metadata: this.#metadata },
      onMessage: (bytes) => {
        if (connection === this.#connection) take(bytes);
      },
      onEnd: () => this.#lost(connection),
    });
  }

  get #metadata(): [string, string][] {
    const { name, remembers } = this.#options;
    return [
      ['client-id', name],
      ...(remembers ? [[STORE_ID_HEADER, `store-of-${name}`] as [string, string]] : []),
      ['kds-version', 'v3'],
      ['version', NODE.version],
      ...zoneHeaderFeatures.map((feature): [string, string] => ['features', feature]),
    ];
  }
}
