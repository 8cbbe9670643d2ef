// The messages of health discovery: the reports of an Envoy, and the probes that it is asked for (xds 1, HDS).
import { decoding, lengthTag, readFields, readText, toBuffer } from './fields.ts';
import { envoyJsonToBinary } from './json-to-binary.ts';
import { decodeNode, type DeltaRequest } from './kds-messages.ts';
import type { StructObject } from './struct.ts';

const REQUEST = 'a HealthCheckRequestOrEndpointHealthResponse';
/** The key of a number. */
const HEALTH_STATUS = 2 << 3;
/** envoy.config.core.v3.HealthStatus: HEALTHY and DEGRADED take requests. */
const TAKES_REQUESTS: ReadonlySet<number> = new Set([1, 5]);

/** A first message has `node`. A report has `clusters`: whether all endpoints of a cluster take requests, by its name. */
export type HealthMessage = {
  readonly node: DeltaRequest['node'] | null;
  readonly clusters: ReadonlyMap<string, boolean>;
};

/** @throws Error on bytes that are no such message */
export function decodeHealthMessage(bytes: Uint8Array): HealthMessage {
  let node: HealthMessage['node'] = null;
  const clusters = new Map<string, boolean>();
  return decoding(REQUEST, () => {
    readFields(bytes, (tag, reader) => {
      if (tag === lengthTag(1))
        eachMessage(reader.bytes(), 1, (found) => {
          node = decodeNode(found);
        });
      else if (tag === lengthTag(2)) eachMessage(reader.bytes(), 2, (cluster) => readCluster(cluster, clusters));
      else return false;
      return true;
    });
    return { node, clusters };
  });
}

/** Encodes an envoy.service.health.v3.HealthCheckSpecifier. @throws ProtoJsonError */
export function encodeHealthCheckSpecifier(json: StructObject): Buffer {
  return toBuffer(envoyJsonToBinary('envoy.service.health.v3.HealthCheckSpecifier', json));
}

/** Reads a ClusterEndpointsHealth. */
function readCluster(bytes: Uint8Array, clusters: Map<string, boolean>): void {
  let name = '';
  const states: number[] = [];
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) name = readText(reader);
    else if (tag === lengthTag(2)) eachMessage(reader.bytes(), 2, (endpoint) => states.push(readStatus(endpoint)));
    else return false;
    return true;
  });
  if (states.length > 0)
    clusters.set(
      name,
      states.every((state) => TAKES_REQUESTS.has(state)),
    );
}

function readStatus(bytes: Uint8Array): number {
  let state = 0;
  readFields(bytes, (tag, reader) => {
    if (tag !== HEALTH_STATUS) return false;
    state = reader.int32();
    return true;
  });
  return state;
}

/** Calls `take` with each message of a field. */
function eachMessage(bytes: Uint8Array, field: number, take: (message: Uint8Array) => void): void {
  readFields(bytes, (tag, reader) => {
    if (tag !== lengthTag(field)) return false;
    take(reader.bytes());
    return true;
  });
}
