// One fake proxy: it speaks delta xDS as Envoy does and holds versions alone. It subscribes to all clusters and listeners, to the
// endpoints of its clusters, and the routes and filters of its listeners, and accepts clusters when they are warm.
import { connect, createSecureContext } from 'node:tls';
import { XDS_MESSAGES } from '../../src/ads/encode-resources.ts';
import { XDS_TYPES, type XdsType } from '../../src/ads/session-messages.ts';
import { TYPE_URL_PREFIX } from '../../src/wire/any.ts';
import { servesOthers } from '../../src/xds/names.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { GrpcConnection, type GrpcCall } from './grpc-connection.ts';
import { scanResources, type ScannedResource } from './response-scan.ts';

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const ASKED = ['Cluster', 'ClusterLoadAssignment', 'Listener', 'TypedExtensionConfig', 'RouteConfiguration'] as const;
const TYPES: ReadonlyMap<string, XdsType> = new Map(XDS_TYPES.map((type) => [TYPE_URL_PREFIX + XDS_MESSAGES[type], type]));
/** Until a proxy connects again whose stream has ended. */
const RETRY_MS = 500;
const FEATURES = { features: ['feature-reuse-port'] };
const METADATA = encodeStruct(FEATURES);
/** As Envoy 1.40 connects by default. Shared: the roots of a context are read when it is made. */
const secureContext = createSecureContext({ maxVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' });

export type FakeProxyOptions = {
  readonly mesh: string;
  readonly name: string;
  /** The Dataplane that it brings, as JSON; null where it exists. */
  readonly dataplane: string | null;
  /** Called after each response. */
  readonly onResponse: (type: XdsType, resources: readonly ScannedResource[]) => void;
};

/** @property initial what the proxy says that it holds @property nonce of the response that is accepted */
type Asked = {
  readonly subscribe?: readonly string[];
  readonly unsubscribe?: readonly string[];
  readonly initial?: ReadonlyMap<string, string>;
  readonly nonce?: string;
};

export class FakeProxy {
  /** Resources received since the proxy was made to connect. */
  received = 0;
  readonly #options: FakeProxyOptions;
  /** Versions by name. */
  readonly #held = new Map<XdsType, Map<string, string>>(XDS_TYPES.map((type) => [type, new Map()]));
  #connection: GrpcConnection | null = null;
  #stream: GrpcCall | null = null;
  #retry: NodeJS.Timeout | undefined;
  #isFirst = true;
  /** Types that have had no response on this stream. */
  readonly #unanswered = new Set<XdsType>();
  readonly #warming = new Set<string>();
  /** Of the response with clusters that are not warm yet. */
  #waiting: string | null = null;

  constructor(options: FakeProxyOptions) {
    this.#options = options;
  }

  /** Connects to this port from now on. */
  connect(port: number): void {
    clearTimeout(this.#retry);
    this.#connection?.destroy();
    this.received = 0;
    this.#open(port);
  }

  /** Opens a stream, and says what it holds. */
  #open(port: number): void {
    // With any certificate of `localhost`.
    const name = { host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false };
    const connection = new GrpcConnection(connect({ ...name, secureContext, ALPNProtocols: ['h2'] }), 'https');
    const onEnd = (): void => {
      connection.destroy();
      this.#retry = setTimeout(() => this.#open(port), RETRY_MS);
    };
    this.#connection = connection;
    this.#stream = connection.open({ path: PATH, onMessage: (bytes) => this.#take(bytes), onEnd });
    this.#isFirst = true;
    this.#waiting = null;
    this.#warming.clear();
    for (const type of ASKED) {
      this.#unanswered.add(type);
      const held = this.#heldOf(type);
      const follows = type !== 'Cluster' && type !== 'Listener';
      if (!follows || held.size > 0) this.#ask(type, { subscribe: follows ? [...held.keys()] : [], initial: held });
    }
  }

  /** True when each type was answered, and each cluster has its endpoints. */
  get isWarm(): boolean {
    return this.#unanswered.size === 0 && this.#warming.size === 0;
  }

  #ask(type: XdsType, { subscribe = [], unsubscribe = [], initial = new Map(), nonce = '' }: Asked): void {
    const { mesh, name, dataplane } = this.#options;
    const metadata = (): Uint8Array =>
      dataplane === null ? METADATA : encodeStruct({ ...FEATURES, 'dataplane.resource': dataplane });
    const request = encodeDeltaRequest({
      ...{ node: this.#isFirst ? { id: `${mesh}.${name}`, metadata: metadata() } : { id: '' }, errorDetail: null },
      ...{ typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type], subscribe, unsubscribe },
      ...{ initialResourceVersions: initial, responseNonce: nonce },
    });
    this.#isFirst = false;
    this.#stream?.write(request);
  }

  #take(bytes: Buffer): void {
    const { typeUrl, nonce, resources, removed } = scanResources(bytes);
    const type = TYPES.get(typeUrl);
    if (type === undefined) throw new Error(`a response of unknown type ${typeUrl}`);
    this.received += resources.length;
    this.#unanswered.delete(type);
    this.#hold(type, resources, removed);
    if (type === 'Cluster') this.#waiting = nonce;
    else this.#ask(type, { nonce });
    if (this.#waiting !== null && this.#warming.size === 0) {
      this.#ask('Cluster', { nonce: this.#waiting });
      this.#waiting = null;
    }
    this.#options.onResponse(type, resources);
  }

  #hold(type: XdsType, resources: readonly ScannedResource[], removed: readonly string[]): void {
    const held = this.#heldOf(type);
    const added = resources.filter(({ name }) => !held.has(name)).map(({ name }) => name);
    const gone = removed.filter((name) => held.delete(name));
    for (const { name, version } of resources) held.set(name, version);
    if (type === 'ClusterLoadAssignment') for (const { name } of resources) this.#warming.delete(name);
    if (type !== 'Cluster') return;
    for (const { name } of resources) if (hasEndpoints(name)) this.#warming.add(name);
    for (const name of gone) this.#warming.delete(name);
    if (added.length + gone.length === 0) return;
    this.#ask('ClusterLoadAssignment', { subscribe: added.filter(hasEndpoints), unsubscribe: gone });
    // The routes of an inbound or an outbound have the name of its cluster.
    this.#ask('RouteConfiguration', { subscribe: added, unsubscribe: gone });
    const filters = (names: readonly string[]): string[] => names.flatMap(filtersOf);
    if (filters([...added, ...gone]).length > 0)
      this.#ask('TypedExtensionConfig', { subscribe: filters(added), unsubscribe: filters(gone) });
  }

  #heldOf(type: XdsType): Map<string, string> {
    const held = this.#held.get(type) ?? new Map<string, string>();
    this.#held.set(type, held);
    return held;
  }
}

/** The clusters of MeshServices get their endpoints by EDS. */
function hasEndpoints(cluster: string): boolean {
  return cluster.startsWith('kri_msvc_');
}

/** The filters that a listener for HTTP discovers. */
function filtersOf(listener: string): string[] {
  return servesOthers(listener) ? ['fault 0', 'fault 1', 'connections'].map((filter) => `${listener} ${filter}`) : [];
}
