// A zone without a database that stays connected as a Meridian zone does: it remembers the version of each resource, connects again when
// its streams end, and says then what it has. It counts what it is sent although it has it. It may refuse everything, and have a service.
import { hash } from 'node:crypto';
import { Client, Metadata, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { reconnectPauseMs } from '../src/kds/client.ts';
import { zoneHeaderFeatures } from '../src/kds/features.ts';
import { nodeMetadata } from '../src/kds/node.ts';
import { STORE_ID_HEADER } from '../src/kds/peer-metadata.ts';
import { zoneConsumes } from '../src/kds/rules.ts';
import { globalService, syncService } from '../src/kds/services.ts';
import { encodeHealthCheckRequest } from '../src/wire/global-service-messages.ts';
import type { ErrorDetail } from '../src/wire/error-detail.ts';
import { encodeDeltaRequest, encodeDeltaResponse } from '../src/wire/kds-messages.ts';
import { TYPE } from './policies.ts';
import { scanRequest, scanResources } from './response-scan.ts';
import { SERVICE_TYPE, ZoneService } from './zone-service.ts';

type Stream = ClientDuplexStream<Buffer, Buffer>;

const NODE = { version: 'bench', instanceId: 'bench', config: '{"store":{"type":"postgres"}}' };
const METADATA = nodeMetadata(NODE, true);
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** As a zone has it for its health check. */
const ANSWER_MS = 10_000;
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
  #client: Client | null = null;
  #up: Stream | null = null;
  #timer: NodeJS.Timeout | undefined;
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
    const client = new Client(this.address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.keepalive_time_ms': 20_000,
      'grpc.use_local_subchannel_pool': 1,
    });
    this.#client = client;
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      encodeHealthCheckRequest(),
      this.#headers(),
      { deadline: Date.now() + ANSWER_MS },
      (error) => {
        if (error !== null) this.#lost(client);
        else if (client === this.#client) this.#openStreams(client);
      },
    );
  }

  /** Loses its connection, as when a load balancer restarts, and connects again after the pause of a zone. */
  drop(): void {
    if (this.#client !== null) this.#lost(this.#client);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#forgetConnection();
  }

  #lost(client: Client): void {
    if (client !== this.#client) return;
    this.failures += 1;
    this.#forgetConnection();
    this.#timer = setTimeout(() => this.connect(), reconnectPauseMs());
    this.#events.changed();
  }

  #forgetConnection(): void {
    const client = this.#client;
    this.#client = null;
    this.#up = null;
    this.#service.forget();
    this.address = '';
    this.#answered.clear();
    client?.close();
  }

  #openStreams(client: Client): void {
    const down = this.#open(client, syncService.globalToZoneSync.path);
    down.on('data', (bytes: Buffer) => {
      if (client === this.#client) this.#receive(down, bytes);
    });
    for (const { name } of zoneConsumes) this.#subscribe(down, name);
    const up = this.#open(client, syncService.zoneToGlobalSync.path);
    this.#up = up;
    up.on('data', (bytes: Buffer) => {
      if (client === this.#client) this.#answer(up, bytes);
    });
    for (const { path } of [globalService.streamXDSConfigs, globalService.streamStats, globalService.streamClusters])
      this.#open(client, path).resume();
  }

  #receive(stream: Stream, bytes: Buffer): void {
    const { typeUrl: type, nonce, resources, removed } = scanResources(bytes);
    if (this.isRefusing) {
      this.refused += 1;
      this.#events.changed();
      stream.write(this.#request(type, nonce, new Map(), false, REFUSAL));
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
    stream.write(this.#request(type, nonce, new Map(), false));
  }

  #subscribe(stream: Stream, type: string): void {
    stream.write(this.#request(type, '', this.#held.get(type) ?? new Map(), true));
  }

  #request(
    type: string,
    nonce: string,
    held: ReadonlyMap<string, string>,
    isFirst: boolean,
    errorDetail: ErrorDetail | null = null,
  ): Buffer {
    return encodeDeltaRequest({
      node: { id: this.#name, ...(isFirst && { metadata: METADATA }) },
      typeUrl: type,
      subscribe: isFirst ? ['*'] : [],
      unsubscribe: [],
      initialResourceVersions: held,
      responseNonce: nonce,
      errorDetail,
    });
  }

  /** The zone has no more of its own than its service: each other subscription of the global gets one empty response. */
  #answer(stream: Stream, bytes: Buffer): void {
    const { type, nonce } = scanRequest(bytes);
    if (type === SERVICE_TYPE) {
      const { response, isRefused } = this.#service.take(bytes);
      if (isRefused) this.refusedByPeer += 1;
      if (response !== null) stream.write(response);
      this.#events.changed();
    } else if (nonce === '')
      stream.write(encodeDeltaResponse({ typeUrl: type, nonce: type, controlPlane: this.#name, entries: [], removed: [] }));
  }

  #open(client: Client, path: string): Stream {
    const { requestSerialize, responseDeserialize } = syncService.globalToZoneSync;
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.#headers());
    stream.on('error', () => this.#lost(client));
    stream.on('end', () => this.#lost(client));
    return stream;
  }

  #headers(): Metadata {
    const metadata = new Metadata();
    metadata.set('client-id', this.#name);
    metadata.set(STORE_ID_HEADER, `store-of-${this.#name}`);
    metadata.set('kds-version', 'v3');
    metadata.set('version', NODE.version);
    for (const name of zoneHeaderFeatures) metadata.add('features', name);
    return metadata;
  }
}
