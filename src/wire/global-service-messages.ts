// The messages of GlobalKDSService ⇄ bytes (kds-wire 2.5, 2.7), through their descriptors: they are rare. Only the responses of the
// admin streams are read by hand: they may carry megabytes, which JSON would hold as base64.
import { binaryToProtoJson } from './binary-to-json.ts';
import { createWriter, decoding, finish, lengthTag, readFields, readText, toBuffer, writeText } from './fields.ts';
import { protoJsonToBinary } from './json-to-binary.ts';
import type { StructObject } from './struct.ts';
import { parseDuration } from './well-known.ts';

/** ZoneHealthCheckRequest has no fields. */
export function encodeHealthCheckRequest(): Buffer {
  return Buffer.alloc(0);
}

/** @param response.intervalMs the period of the next calls in milliseconds; 0 leaves the caller's own (kds-wire 2.5) */
export function encodeHealthCheckResponse({ intervalMs }: { intervalMs: number }): Buffer {
  return encode('ZoneHealthCheckResponse', { interval: `${String(intervalMs / 1000)}s` });
}

/** @throws Error on bytes that are no ZoneHealthCheckResponse */
export function decodeHealthCheckResponse(bytes: Uint8Array): { intervalMs: number } {
  const { interval } = decode('ZoneHealthCheckResponse', bytes);
  const { seconds, nanos } = parseDuration(String(interval)) ?? { seconds: 0, nanos: 0 };
  return { intervalMs: seconds * 1000 + nanos / 1e6 };
}

/**
 * A request of global on an admin stream: the fields that XDSConfigRequest, StatsRequest and ClustersRequest share, and fields 5
 * and 6, which mean something else in each.
 */
export type AdminRequest = {
  readonly requestId: string;
  readonly resourceType: string;
  readonly resourceName: string;
  readonly resourceMesh: string;
  /** `include_eds` of XDSConfigRequest (0 or 1), `format` of the others (0 text, 1 JSON). */
  readonly option: number;
  /** It is of StatsRequest only. */
  readonly usedOnly: boolean;
  /**
   * The kind of the request on a stream that carries requests of every kind, between Meridian peers. The default is the kind of
   * the stream.
   */
  readonly kind?: string;
};

/** No request of an admin stream has a field of this number. */
const KIND = 1000;

/** StatsRequest has the fields of the other two. */
export function encodeAdminRequest({ option, kind, ...request }: AdminRequest): Buffer {
  const bytes = encode('StatsRequest', { ...request, format: option });
  if (kind === undefined) return bytes;
  const writer = createWriter();
  writeText(writer, KIND, kind);
  return Buffer.concat([bytes, writer.finish()]);
}

/** @throws Error on bytes that are no request of an admin stream */
export function decodeAdminRequest(bytes: Uint8Array): AdminRequest {
  const { format = 0, ...request } = decode('StatsRequest', bytes);
  let kind: string | undefined;
  readFields(bytes, (tag, reader) => {
    if (tag !== lengthTag(KIND)) return false;
    kind = readText(reader);
    return true;
  });
  const empty = { requestId: '', resourceType: '', resourceName: '', resourceMesh: '', usedOnly: false };
  return { ...empty, ...request, option: format === 'JSON' ? 1 : Number(format), ...(kind !== undefined && { kind }) };
}

/** The content of XDSConfigResponse, StatsResponse and ClustersResponse: an error, a payload, or neither for an empty result. */
type AdminResponse = { readonly requestId: string; readonly error?: string; readonly payload?: Uint8Array };

export function encodeAdminResponse({ requestId, error, payload }: AdminResponse): Buffer {
  const writer = createWriter();
  writeText(writer, 1, requestId);
  if (error !== undefined) writer.uint32(lengthTag(2)).string(error.toWellFormed());
  else if (payload !== undefined) writer.uint32(lengthTag(3)).bytes(payload);
  return finish(writer);
}

/** @throws Error on bytes that are no response of an admin stream */
export function decodeAdminResponse(bytes: Uint8Array): AdminResponse {
  return decoding('a response of an admin stream', () => {
    let requestId = '';
    let result: { error: string } | { payload: Uint8Array } | undefined;
    readFields(bytes, (tag, reader) => {
      if (tag === lengthTag(1)) requestId = readText(reader);
      else if (tag === lengthTag(2)) result = { error: readText(reader) };
      else if (tag === lengthTag(3)) result = { payload: reader.bytes() };
      else return false;
      return true;
    });
    return { requestId, ...result };
  });
}

function encode(message: string, json: StructObject): Buffer {
  return toBuffer(protoJsonToBinary(`kuma.mesh.v1alpha1.${message}`, json));
}

function decode(message: string, bytes: Uint8Array): StructObject {
  return binaryToProtoJson(`kuma.mesh.v1alpha1.${message}`, bytes);
}
