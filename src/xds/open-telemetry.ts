// OpenTelemetry collectors: the backends of MeshAccessLog and MeshTrace, and the clusters that lead there (xds 3.3).
import { isIP } from 'node:net';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Place } from '../policy/parse-policy.ts';
import { targetRefOf } from '../policy/target-ref.ts';
import { COLLECTOR_PORT, parseCollectorEndpoint } from '../schema/collector-endpoint.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { isObject, numberOf, objectOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { socketAddress, typed } from '../envoy/proto-json.ts';
import type { ProxyFeatures } from './proxy-features.ts';

/** Ports of collectors that name none. */
const PORTS = { grpc: COLLECTOR_PORT, http: 4318 } as const;
/** A backend without an address is on the machine of the proxy. */
const LOCAL = '127.0.0.1';

export type Collector = {
  /** Display name of the MeshOpenTelemetryBackend, its KRI where another one has this name (`isFirstOfName`), or the old address with its port. */
  readonly name: string;
  readonly protocol: 'grpc' | 'http';
  readonly address: string;
  readonly port: number;
  /** In front of the paths of the signals, `''` for none. With protocol http. */
  readonly path: string;
  /** The pipe of the program beside the proxy that sends for it, else null. The program knows collectors by display name. */
  readonly pipe: string | null;
};

/** How a backend names its collector. */
export type CollectorName = {
  readonly backendRef?: object | undefined;
  /** The old form. */
  readonly endpoint?: string | undefined;
};

/** How the `openTelemetry` of a backend that no check has seen names its collector. */
export function collectorNameOf(openTelemetry: Json | undefined): CollectorName {
  const { backendRef, endpoint } = objectOf(openTelemetry);
  return { backendRef: isObject(backendRef) ? backendRef : undefined, endpoint: textOf(endpoint) };
}

/**
 * The collector that a backend names; null where the reference means nothing or the address cannot be read. Of several
 * MeshOpenTelemetryBackends the oldest counts.
 * @param from place of the policy
 */
export function collectorOf(
  index: MeshIndex,
  { backendRef, endpoint = '' }: CollectorName,
  from: Place,
  zone: string,
  { companion }: Pick<ProxyFeatures, 'companion'>,
): Collector | null {
  if (backendRef === undefined) return collectorAt(endpoint);
  const found = index.resolveOldest({ ...targetRefOf(backendRef), kind: 'MeshOpenTelemetryBackend' }, from, zone);
  if (found === undefined) return null;
  const { spec } = found;
  const { address, port, path } = objectOf(spec['endpoint']);
  const protocol = spec['protocol'] === 'http' ? 'http' : 'grpc';
  const displayName = displayNameOf(found);
  const isFirst = isFirstOfName(index, found, from, zone);
  return {
    name: isFirst ? displayName : index.kriOf(found),
    protocol,
    address: textOf(address) || LOCAL,
    port: numberOf(port) || PORTS[protocol],
    path: protocol === 'http' ? withoutEndSlashes(textOf(path)) : '',
    pipe: companion === null || !isFirst ? null : `${companion}/kuma-otel-${displayName}.sock`,
  };
}

/**
 * Backends of global and of the zone may have one display name: clusters of two collectors have two names. The one that a reference by this name
 * means has it, else the oldest.
 */
function isFirstOfName(index: MeshIndex, backend: Resource, from: Place, zone: string): boolean {
  const { type: kind } = backend;
  const name = displayNameOf(backend);
  const labels = { [label.displayName]: name };
  const first =
    index.resolveOldest(targetRefOf({ kind, name }), from, zone) ??
    index.resolveOldest(targetRefOf({ kind, labels }), from, zone);
  return first === undefined || index.kriOf(first) === index.kriOf(backend);
}

/** Invariant: every address that the checks of a write take is a collector. */
function collectorAt(endpoint: string): Collector | null {
  const found = parseCollectorEndpoint(endpoint);
  if (found === null) return null;
  const { host: address, port } = found;
  return {
    name: `${address.includes(':') ? `[${address}]` : address}:${String(port)}`,
    protocol: 'grpc',
    address,
    port,
    path: '',
    pipe: null,
  };
}

/** Name of the cluster of a signal: collectors of two signals are two clusters. */
export function collectorCluster(signal: 'meshaccesslog' | 'meshtrace', { name }: Collector): string {
  return `system_${signal}_otel_${name}`;
}

/** The cluster that leads to a collector. */
export function clusterOfCollector(name: string, { protocol, address, port, pipe }: Collector): JsonObject {
  const options = pipe !== null || protocol === 'grpc' ? { http2ProtocolOptions: {} } : { httpProtocolOptions: {} };
  return {
    ...backendCluster(name, pipe === null ? { address, port } : { pipe }),
    typedExtensionProtocolOptions: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': typed('extensions.upstreams.http.v3.HttpProtocolOptions', {
        explicitHttpConfig: options,
      }),
    },
  };
}

/** A cluster of one address: a name is resolved by the proxy. */
export function backendCluster(name: string, at: { address: string; port: number } | { pipe: string }): JsonObject {
  const isNamed = 'address' in at && isIP(at.address) === 0;
  const address = 'pipe' in at ? { pipe: { path: at.pipe } } : socketAddress(at.address, at.port);
  return {
    name,
    type: isNamed ? 'STRICT_DNS' : 'STATIC',
    connectTimeout: '5s',
    loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints: [{ endpoint: { address } }] }] },
    circuitBreakers: { thresholds: [{ trackRemaining: true }] },
  };
}

/** Without a regular expression: one for this takes time quadratic in the number of slashes. */
function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
