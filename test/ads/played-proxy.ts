// A proxy that speaks delta xDS as Envoy does: it subscribes to all clusters and listeners, to the endpoints of its clusters and the
// routes and filters of its listeners, and accepts clusters when they are warm. What it holds survives a stream, so it can come back with it.
import {
  credentials,
  Client,
  Metadata,
  type ChannelCredentials,
  type ClientDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js';
import { XDS_MESSAGES } from '../../src/ads/encode-resources.ts';
import { routesInListener } from './routes-in-listener.ts';
import { XDS_TYPES, type XdsType } from '../../src/ads/session-messages.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TYPE_URL_PREFIX } from '../../src/wire/any.ts';
import { envoyBinaryToJson } from '../../src/wire/binary-to-json.ts';
import { lengthTag, readFields, readText } from '../../src/wire/fields.ts';
import { decodeDeltaResponse, encodeDeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { encodeStruct, type StructObject } from '../../src/wire/struct.ts';
import { DRAIN_SECONDS } from '../../src/resource/drain-seconds.ts';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const ASKED = ['Cluster', 'ClusterLoadAssignment', 'Listener', 'TypedExtensionConfig', 'RouteConfiguration'] as const;
/** It has no connections that end later. */
const NO_DRAIN = { dynamicMetadata: { [DRAIN_SECONDS]: '0' } };
/** Type of a cluster. */
const EDS = 3;
const NO_BYTES = new Uint8Array();
const same = (bytes: Buffer): Buffer => bytes;
const typeOf = (typeUrl: string): XdsType => {
  const type = XDS_TYPES.find((known) => TYPE_URL_PREFIX + XDS_MESSAGES[known] === typeUrl);
  if (type === undefined) throw new Error(`a response of unknown type ${typeUrl}`);
  return type;
};

export type PlayedProxyOptions = {
  /** `host:port` */
  readonly address: string;
  readonly credentials?: ChannelCredentials;
  readonly mesh: string;
  readonly name: string;
  readonly token?: string;
  readonly metadata?: StructObject;
  /** Why a response is refused; null for an acceptance. */
  readonly refuse?: (type: XdsType, names: readonly string[]) => string | null;
  /** False: only versions are held, as a thousand proxies in one process must. True if left out. */
  readonly keepsBytes?: boolean;
  /** Called after each response. */
  readonly onResponse?: (type: XdsType, names: readonly string[], removed: readonly string[]) => void;
};

export class PlayedProxy {
  /** Versions and bytes by type and name. */
  readonly held = new Map<XdsType, Map<string, { readonly version: string; readonly resource: Uint8Array }>>(
    XDS_TYPES.map((type) => [type, new Map()]),
  );
  /** Resources received since the proxy was made, also those that it held already. */
  received = 0;
  /** The status with which the last stream ended; null while one is open. */
  ended: ServiceError | { readonly code: 0 } | null = null;
  readonly #options: PlayedProxyOptions;
  #client: Client | null = null;
  #call: ClientDuplexStream<Buffer, Buffer> | null = null;
  #isFirst = true;
  /** Names of route configurations by listener. */
  readonly #routes = new Map<string, readonly string[]>();
  /** Names of assignments by cluster. */
  readonly #assignments = new Map<string, readonly string[]>();
  /** Assignments that a cluster waits for. */
  readonly #warming = new Set<string>();
  /** Names of filters by listener. */
  readonly #filters = new Map<string, readonly string[]>();
  /** The response with clusters that are not warm yet. */
  #waiting: DeltaResponse | null = null;

  constructor(options: PlayedProxyOptions) {
    this.#options = options;
  }

  /** Opens a stream, and says what it holds. */
  connect(): void {
    const { address, token, credentials: channel = credentials.createInsecure() } = this.#options;
    this.#client = new Client(address, channel, { 'grpc.use_local_subchannel_pool': 1 });
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', token);
    const call = this.#client.makeBidiStreamRequest(METHOD, same, same, metadata);
    this.#call = call;
    this.#isFirst = true;
    this.#waiting = null;
    this.#warming.clear();
    this.ended = null;
    call.on('data', (bytes: Buffer) => this.#take(decodeDeltaResponse(bytes)));
    call.on('error', (error: ServiceError) => (this.ended = error));
    call.on('end', () => (this.ended ??= { code: 0 }));
    for (const type of ASKED) {
      const held = this.#heldOf(type);
      const follows = type !== 'Cluster' && type !== 'Listener';
      if (!follows || held.size > 0) this.#ask(type, { subscribe: follows ? [...held.keys()] : [], isInitial: true });
    }
  }

  /** Ends the stream and its connection. */
  disconnect(): void {
    this.#call?.cancel();
    this.#client?.close();
    this.#call = null;
  }

  /** Subscribes to all resources of a type, whatever it is. */
  askFor(typeUrl: string): void {
    const nothing = { subscribe: [], unsubscribe: [], initialResourceVersions: new Map<string, string>() };
    this.#call?.write(encodeDeltaRequest({ node: { id: '' }, typeUrl, ...nothing, responseNonce: '', errorDetail: null }));
  }

  /** Asks for a resource, also for one that it holds. */
  subscribe(type: XdsType, name: string): void {
    this.#ask(type, { subscribe: [name] });
  }

  names(type: XdsType): string[] {
    return [...this.#heldOf(type).keys()].sort();
  }

  /** True when it has an answer to all that it has asked for. */
  get isWarm(): boolean {
    return this.#warming.size === 0 && this.names('Listener').length > 0;
  }

  #ask(
    type: XdsType,
    given: {
      readonly subscribe?: readonly string[];
      readonly unsubscribe?: readonly string[];
      readonly nonce?: string;
      readonly error?: string | null;
      readonly isInitial?: boolean;
    },
  ): void {
    const { mesh, name, metadata = {} } = this.#options;
    const initial = given.isInitial === true ? this.#heldOf(type) : new Map<string, { version: string }>();
    const request = encodeDeltaRequest({
      node: this.#isFirst ? { id: `${mesh}.${name}`, metadata: encodeStruct({ ...NO_DRAIN, ...metadata }) } : { id: '' },
      typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type],
      subscribe: given.subscribe ?? [],
      unsubscribe: given.unsubscribe ?? [],
      initialResourceVersions: new Map([...initial].map(([key, { version }]) => [key, version])),
      responseNonce: given.nonce ?? '',
      errorDetail: given.error === undefined || given.error === null ? null : { code: 3, message: given.error, details: [] },
    });
    this.#isFirst = false;
    this.#call?.write(request);
  }

  #take(response: DeltaResponse): void {
    const type = typeOf(response.typeUrl);
    const names = response.resources.map(({ name }) => name);
    const refusal = this.#options.refuse?.(type, names) ?? null;
    this.received += names.length;
    if (refusal === null) this.#hold(type, response);
    if (type === 'Cluster' && refusal === null) this.#waiting = response;
    else this.#ask(type, { nonce: response.nonce, error: refusal });
    this.#acceptWarm();
    this.#options.onResponse?.(type, names, response.removedResources);
  }

  #hold(type: XdsType, response: DeltaResponse): void {
    const { resources, removedResources } = response;
    const held = this.#heldOf(type);
    for (const name of removedResources) held.delete(name);
    const bytesOf = (resource: Uint8Array): Uint8Array => (this.#options.keepsBytes === false ? NO_BYTES : resource);
    for (const { name, version, resource } of resources) held.set(name, { version, resource: bytesOf(resource) });
    if (type === 'Listener') return this.#followListeners(response);
    if (type === 'ClusterLoadAssignment') for (const { name } of resources) this.#warming.delete(name);
    if (type !== 'Cluster') return;
    for (const { resource } of resources) for (const name of assignmentsIn(resource)) this.#warming.add(name);
    this.#followNames('ClusterLoadAssignment', this.#assignments, resources, removedResources, assignmentsIn);
    const followed = new Set([...this.#assignments.values()].flat());
    for (const name of this.#warming) if (!followed.has(name)) this.#warming.delete(name);
  }

  #follow(type: XdsType, added: readonly string[], gone: readonly string[]): void {
    if (added.length + gone.length === 0) return;
    for (const name of gone) this.#heldOf(type).delete(name);
    this.#ask(type, { subscribe: added, unsubscribe: gone });
  }

  /** A listener names the filters and the routes that it discovers. */
  #followListeners({ resources, removedResources }: DeltaResponse): void {
    this.#followNames('TypedExtensionConfig', this.#filters, resources, removedResources, filtersOf);
    this.#followNames('RouteConfiguration', this.#routes, resources, removedResources, routesInListener);
  }

  #followNames(
    type: XdsType,
    known: Map<string, readonly string[]>,
    resources: DeltaResponse['resources'],
    gone: readonly string[],
    namesIn: (resource: Uint8Array) => readonly string[],
  ): void {
    const before = new Set([...known.values()].flat());
    for (const name of gone) known.delete(name);
    for (const { name, resource } of resources) known.set(name, namesIn(resource));
    const now = new Set([...known.values()].flat());
    const [added, left] = [[...now].filter((name) => !before.has(name)), [...before].filter((name) => !now.has(name))];
    this.#follow(type, added, left);
  }

  #acceptWarm(): void {
    if (this.#waiting === null || this.#warming.size > 0) return;
    const { nonce } = this.#waiting;
    this.#waiting = null;
    this.#ask('Cluster', { nonce });
  }

  #heldOf(type: XdsType): Map<string, { readonly version: string; readonly resource: Uint8Array }> {
    const held = this.held.get(type) ?? new Map<string, { version: string; resource: Uint8Array }>();
    this.held.set(type, held);
    return held;
  }
}

/** Names of the network filters and HTTP filters that a listener discovers. */
function filtersOf(listener: Uint8Array): string[] {
  const { filterChains } = envoyBinaryToJson('envoy.config.listener.v3.Listener', listener);
  const named = (filters: unknown): string[] =>
    objectsOf(filters as JsonObject[]).flatMap(({ name, configDiscovery, typedConfig }) => [
      ...(configDiscovery === undefined ? [] : [textOf(name)]),
      ...named(objectOf(typedConfig)['httpFilters']),
    ]);
  return objectsOf(filterChains).flatMap(({ filters }) => named(filters));
}

/** The assignment of a cluster with endpoints by EDS. Field 2 of a Cluster is its type, and 3 says how it discovers: under which name. */
function assignmentsIn(cluster: Uint8Array): string[] {
  let [name, type, other] = ['', 0, ''];
  readFields(cluster, (tag, reader) => {
    if (tag === lengthTag(1)) name = readText(reader);
    else if (tag === 2 << 3) type = reader.uint32();
    else if (tag === lengthTag(3)) other = serviceNameIn(reader.bytes());
    else return false;
    return true;
  });
  return type === EDS ? [other || name] : [];
}

function serviceNameIn(discovery: Uint8Array): string {
  let name = '';
  readFields(discovery, (tag, reader) => {
    if (tag !== lengthTag(2)) return false;
    name = readText(reader);
    return true;
  });
  return name;
}
