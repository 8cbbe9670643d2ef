// A zone without a database that stays connected as a Meridian zone does: it remembers the version of each resource, connects again when
// its streams end, and says then what it has. It counts what it is sent although it has it. It may refuse everything, and have a service.
import { hash } from 'node:crypto';
import { connect } from 'node:net';
import { MAX_LATE, reconnectPauseMs } from '../src/kds/client/client.ts';
import { zoneHeaderFeatures } from '../src/kds/protocol/features.ts';
import { nodeMetadata } from '../src/kds/protocol/node.ts';
import { STORE_ID_HEADER } from '../src/kds/protocol/peer-metadata.ts';
import { zoneConsumes } from '../src/kds/protocol/rules.ts';
import { globalService, syncService } from '../src/kds/protocol/services.ts';
import { encodeHealthCheckRequest } from '../src/wire/global-service-messages.ts';
import type { ErrorDetail } from '../src/wire/error-detail.ts';
import { decodeInStep, isInStep } from '../src/wire/in-step.ts';
import { encodeDeltaRequest } from '../src/wire/kds-messages.ts';
import { openBundled, type BundledCall } from './bundled-call.ts';
import { GrpcConnection, type GrpcCall } from './grpc-connection.ts';
import { TYPE } from './policies.ts';
import { scanRequest, scanResources } from './response-scan.ts';
import { SERVICE_TYPE, ZoneService } from './zone-service.ts';

const NODE = { version: 'bench', instanceId: 'bench', config: '{"store":{"type":"postgres"}}' };
const METADATA = nodeMetadata(NODE, true);
/** As a zone has it for its health check. */
const ANSWER_MS = 30_000;
const REFUSAL = { code: 3, message: 'this zone refuses everything', details: [] };

/** Names and versions that all zones of the process have in common. */
const texts = new Map<string, string>();
function shared(text: string): string {
  const known = texts.get(text);
  if (known === undefined) texts.set(text, text);
  return known ?? text;
}

export type ZoneEvents = {
  /** The address for the next connection. */
  readonly choose: () => string;
  /** Something that the counters of the zone show has changed. */
  readonly changed: () => void;
};

export class ResumingZone {
  readonly #name: string;
  readonly #events: ZoneEvents;
  /** Type → wire name → version. */
  readonly #held = new Map<string, Map<string, string>>();
  readonly #answered = new Set<string>();
  #connection: GrpcConnection | null = null;
  #up: GrpcCall | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Health checks without an answer, one after the other: the pause doubles with each. */
  #late = 0;
  readonly #service: ZoneService;
  /** The replica that it is connected to, or tries; empty while it waits. */
  address = '';
  /** MeshTimeouts that it got and did not have in this version. */
  received = 0;
  /** Resources that it got and had in this version. */
  again = 0;
  /** Failed connections, ended streams included. */
  failures = 0;
  /** It refuses each response, and takes nothing of it. */
  isRefusing = false;
  /** Responses that it refused. */
  refused = 0;
  /** Responses of its own that global refused. */
  refusedByPeer = 0;

  constructor(name: string, events: ZoneEvents) {
    this.#name = name;
    this.#events = events;
    this.#service = new ZoneService(name);
  }

  /** Every type was answered on this connection. */
  get isUp(): boolean {
    return this.#answered.size === zoneConsumes.length;
  }

  /** Type → wire name → version. */
  get held(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    return this.#held;
  }

  /** Null where it has no service. */
  get servicePort(): number | null {
    return this.#service.port;
  }

  /** @param port null removes its service */
  putService(port: number | null): void {
    const response = this.#service.put(port);
    if (response !== null) this.#up?.write(response);
  }

  /** The same for two zones that hold the same. */
  digest(): string {
    const lines = [...this.#held].flatMap(([type, held]) => [...held].map(([name, version]) => `${type} ${name} ${version}`));
    return hash('sha256', lines.toSorted().join('\n'));
  }

  connect(): void {
    this.address = this.#events.choose();
    const [host = '', port = ''] = this.address.split(':');
    const connection = new GrpcConnection(connect({ host, port: Number(port) }), 'http');
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

  end(): void {
    clearTimeout(this.#timer);
    this.#forgetConnection();
  }

  #lost(connection: GrpcConnection): void {
    if (connection !== this.#connection) return;
    this.failures += 1;
    this.#forgetConnection();
    this.#timer = setTimeout(() => this.connect(), reconnectPauseMs() * 2 ** this.#late);
    this.#events.changed();
  }

  #forgetConnection(): void {
    const connection = this.#connection;
    this.#connection = null;
    this.#up = null;
    this.#service.forget();
    this.address = '';
    this.#answered.clear();
    connection?.destroy();
  }

  #openStreams(connection: GrpcConnection): void {
    const down = this.#open(connection, syncService.globalToZoneSync.path, (bytes) => this.#receive(down, bytes));
    for (const [index, { name }] of zoneConsumes.entries()) this.#subscribe(down, name, index === 0);
    const up = this.#open(connection, syncService.zoneToGlobalSync.path, (bytes) => this.#answer(up, bytes));
    this.#up = up;
    // One admin stream for all kinds, as global knows it.
    this.#open(connection, globalService.streamXDSConfigs.path, () => undefined);
  }

  #receive(stream: GrpcCall, bytes: Buffer): void {
    if (isInStep(bytes)) {
      for (const type of decodeInStep(bytes)) this.#answered.add(type);
      this.#events.changed();
      return;
    }
    const { typeUrl: type, nonce, resources, removed } = scanResources(bytes);
    if (this.isRefusing) {
      this.refused += 1;
      this.#events.changed();
      stream.write(this.#request(type, nonce, new Map(), { errorDetail: REFUSAL }));
      return;
    }
    const held = this.#held.get(type) ?? new Map<string, string>();
    this.#held.set(shared(type), held);
    for (const { name, version } of resources) {
      if (held.get(name) === version) this.again += 1;
      else if (type === TYPE) this.received += 1;
      held.set(shared(name), shared(version));
    }
    for (const name of removed) held.delete(name);
    this.#answered.add(type);
    this.#events.changed();
    stream.write(this.#request(type, nonce, new Map()));
  }

  /** @param isFirst global remembers the metadata of the first request */
  #subscribe(stream: GrpcCall, type: string, isFirst: boolean): void {
    const metadata = isFirst ? METADATA : undefined;
    stream.write(this.#request(type, '', this.#held.get(type) ?? new Map(), { metadata }));
  }

  #request(
    type: string,
    nonce: string,
    held: ReadonlyMap<string, string>,
    {
      metadata,
      errorDetail = null,
    }: { readonly metadata?: Uint8Array | undefined; readonly errorDetail?: ErrorDetail | null } = {},
  ): Buffer {
    return encodeDeltaRequest({
      node: { id: this.#name, ...(metadata !== undefined && { metadata }) },
      typeUrl: type,
      subscribe: nonce === '' ? ['*'] : [],
      unsubscribe: [],
      initialResourceVersions: held,
      responseNonce: nonce,
      errorDetail,
    });
  }

  /** The zone has no more of its own than its service: of each other type global has everything. */
  #answer(stream: BundledCall, bytes: Buffer): void {
    const { type, nonce } = scanRequest(bytes);
    if (type === SERVICE_TYPE) {
      const { response, isRefused, isInStep } = this.#service.take(bytes);
      if (isRefused) this.refusedByPeer += 1;
      if (isInStep) stream.sayInStep(type);
      if (response !== null) stream.write(response);
      this.#events.changed();
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
    return [
      ['client-id', this.#name],
      [STORE_ID_HEADER, `store-of-${this.#name}`],
      ['kds-version', 'v3'],
      ['version', NODE.version],
      ...zoneHeaderFeatures.map((name): [string, string] => ['features', name]),
    ];
  }
}
