// The node in the first request of a stream: the Dataplane of the proxy and its features (xds 1).
import { status } from '@grpc/grpc-js';
import { storedNameOfGiven } from '../resource/given-name.ts';
import { StatusError } from '../grpc/status.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import { isStorable } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';
import type { DeltaRequest } from '../wire/kds-messages.ts';
import { decodeStruct } from '../wire/struct.ts';
import { DRAIN_SECONDS } from '../resource/drain-seconds.ts';
import { MESH, RUN } from '../xds/bootstrap.ts';
import { proxyFeatures, type ProxyFeatures } from '../xds/proxy-features.ts';

export type ProxyNode = {
  readonly mesh: string;
  /** Of the Dataplane, as it is stored. */
  readonly name: string;
  /** By which the proxy knows its Dataplane: without the namespace in the document that it brings. */
  readonly ownName: string;
  readonly features: ProxyFeatures;
  /** How long its Envoy keeps connections of a listener that was replaced or removed. */
  readonly drainMs: number;
  /** The Dataplane that the proxy brings, as JSON text; `''` where it must exist already. */
  readonly dataplane: string;
  /** Names the bootstrap with which the Envoy started; `''` for that of another control plane. */
  readonly run: string;
  /** `version` of the metadata: which programs run the proxy. */
  readonly version: JsonObject;
  /** The part of the metadata that says what the proxy can do, and where its admin interface is. */
  readonly metadata: JsonObject;
};

/** Bytes of the metadata; that of a proxy with its Dataplane has a few kilobytes. */
const MAX_METADATA = 1024 * 1024;

const DEFAULT_DRAIN_SECONDS = 30;
const MAX_DRAIN_SECONDS = 3_600;

/** Characters of the name of a bootstrap. */
const MAX_RUN = 100;

/** Characters of a mesh, a dot and a name. */
const MAX_ID = 507;

/** What `proxyFeatures` reads. */
const KEPT: ReadonlySet<string> = new Set([
  ...['features', 'workdir', 'metricsCertPath', 'metricsKeyPath', 'systemCaPath', 'ipv6Enabled'],
  ...['dataplane.admin', 'dataplane.admin.socketPath', 'dataplane.dns.port'],
]);

/** @throws StatusError INVALID_ARGUMENT for a node that names no Dataplane */
export function readProxyNode({ id, metadata }: DeltaRequest['node']): ProxyNode {
  const facts = metadata === undefined ? {} : metadataOf(metadata);
  const { mesh, name: ownName } = partsOf(id, textOf(facts[MESH]));
  if (mesh === '' || ownName === '' || id.length > MAX_ID || !isStorable(id))
    throw invalid(`node.id must be <mesh>.<name of the Dataplane>, not ${JSON.stringify(id.slice(0, 200))}`);
  const dataplane = textOf(facts['dataplane.resource']);
  return {
    ...{ mesh, name: storedNameOfGiven(dataplane, ownName), ownName },
    features: proxyFeatures(facts, { mesh, name: ownName }),
    drainMs: drainMs(objectOf(facts['dynamicMetadata'])[DRAIN_SECONDS]),
    dataplane,
    run: textOf(facts[RUN]).slice(0, MAX_RUN),
    version: objectOf(facts['version']),
    metadata: Object.fromEntries(Object.entries(facts).filter(([key]) => KEPT.has(key))),
  };
}

/** What is no number as text is the drain time of kuma-dp. */
function drainMs(given: unknown): number {
  const seconds = /^\d{1,9}$/.test(textOf(given)) ? Number(given) : DEFAULT_DRAIN_SECONDS;
  return Math.min(seconds, MAX_DRAIN_SECONDS) * 1_000;
}

/** Without a mesh beside it the first dot ends the mesh, as for Kuma. */
function partsOf(id: string, given: string): { mesh: string; name: string } {
  const mesh = given !== '' && id.startsWith(`${given}.`) ? given : id.split('.', 1).join('');
  return { mesh, name: id.slice(mesh.length + 1) };
}

function metadataOf(bytes: Uint8Array): JsonObject {
  if (bytes.length > MAX_METADATA)
    throw invalid(`node.metadata has ${String(bytes.length)} bytes; ${String(MAX_METADATA)} are allowed`);
  try {
    return decodeStruct(bytes);
  } catch (cause) {
    throw invalid('node.metadata is no google.protobuf.Struct', { cause });
  }
}

function invalid(text: string, options?: ErrorOptions): StatusError {
  const error = new StatusError(status.INVALID_ARGUMENT, text);
  return options === undefined ? error : Object.assign(error, options);
}
