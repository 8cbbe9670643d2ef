// One resource ⇄ the bytes of a KumaResource (kds-wire 1). Deterministic: equal resources give equal bytes.
import { hash } from 'node:crypto';
import { MeridianError, messageOf } from '../base/errors.ts';
import { printJson } from '../base/long-lists.ts';
import { decodeAny, TYPE_URL_PREFIX, writeAny, type Any } from '../wire/any.ts';
import { binaryToProtoJson } from '../wire/binary-to-json.ts';
import {
  createWriter,
  finish,
  lengthTag,
  readFields,
  readText,
  readTextEntry,
  toBuffer,
  writeText,
  writeTextEntry,
} from '../wire/fields.ts';
import { protoJsonToBinary } from '../wire/json-to-binary.ts';
import { setOwn } from '../wire/own-key.ts';
import { ProtoJsonError } from '../wire/proto-error.ts';
import { sortedKeys } from '../wire/text-order.ts';
import { parseJsonObject } from './parse-json-object.ts';
import type { TypeInfo } from './type-registry.ts';
import type { JsonObject, Labels } from './types.ts';

export type WireResource = {
  readonly name: string;
  readonly mesh: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  /** It is undefined if there is no status on the wire. */
  readonly status: JsonObject | undefined;
};

/**
 * The bytes of a KumaResource. Keys of JSON specs keep their order.
 * @throws ProtoJsonError when the spec of a protobuf type does not fit its message
 */
export function encodeKumaResource(info: TypeInfo, { name, mesh, labels, spec, status }: WireResource): Buffer {
  const writer = createWriter();
  writer.uint32(lengthTag(1)).fork();
  writeText(writer, 1, name);
  writeText(writer, 2, mesh);
  for (const key of sortedKeys(labels)) writeTextEntry(writer, 6, key, labels[key] ?? '');
  writer.ldelim();
  writeAny(writer, 2, info.codec.kind === 'json' ? jsonAny(spec) : protoAny(info.codec.message, spec));
  if (info.hasStatus && status !== undefined) writeAny(writer, 3, jsonAny(status));
  return finish(writer);
}

/**
 * Status is undefined where the type has none or the sender left it out.
 * @throws MeridianError `bad_request` that names the fault and, if readable, the resource
 */
export function decodeKumaResource(info: TypeInfo, bytes: Uint8Array): WireResource {
  let meta: Pick<WireResource, 'name' | 'mesh' | 'labels'> = { name: '', mesh: '', labels: {} };
  let spec: Any | undefined;
  let status: Any | undefined;
  try {
    readFields(bytes, (tag, reader) => {
      if (tag === lengthTag(1)) meta = decodeMeta(reader.bytes());
      else if (tag === lengthTag(2)) spec = decodeAny(reader.bytes());
      else if (tag === lengthTag(3)) status = decodeAny(reader.bytes());
      else return false;
      return true;
    });
    return {
      ...meta,
      spec: decodeSpec(info, spec),
      status: info.hasStatus && status !== undefined ? parseJsonObject('status', toBuffer(status.value)) : undefined,
    };
  } catch (error) {
    const about = `${info.name} ${JSON.stringify(meta.name)} of mesh ${JSON.stringify(meta.mesh)}`;
    throw new MeridianError('bad_request', `cannot read ${about}: ${messageOf(error)}`, { cause: error });
  }
}

/** `Resource.version`: lowercase hex SHA-256 of a KumaResource (kds-wire 2.3). */
export function wireVersion(kumaResource: Uint8Array): string {
  return hash('sha256', kumaResource, 'hex');
}

/**
 * The stored form of a spec: protobuf types in canonical proto3 JSON without unknown keys, JSON types as they are.
 * @throws MeridianError `invalid` with every violation by path
 */
export function normalizeSpec(info: TypeInfo, spec: JsonObject): JsonObject {
  if (info.codec.kind === 'json') return spec;
  try {
    return binaryToProtoJson(info.codec.message, protoJsonToBinary(info.codec.message, spec));
  } catch (error) {
    if (!(error instanceof ProtoJsonError)) throw error;
    throw new MeridianError('invalid', error.message, { violations: error.violations, cause: error });
  }
}

function jsonAny(value: JsonObject): Any {
  return { typeUrl: '', value: Buffer.from(printJson(value), 'utf8') };
}

function protoAny(message: string, spec: JsonObject): Any {
  return { typeUrl: TYPE_URL_PREFIX + message, value: protoJsonToBinary(message, spec) };
}

/** Receivers check the type_url of protobuf specs and pass over that of JSON (kds-wire 1). */
function decodeSpec(info: TypeInfo, spec: Any | undefined): JsonObject {
  if (spec === undefined) throw new Error('spec is missing');
  if (info.codec.kind === 'json') return parseJsonObject('spec', toBuffer(spec.value));
  const expected = TYPE_URL_PREFIX + info.codec.message;
  if (spec.typeUrl !== expected)
    throw new Error(`spec has type_url ${JSON.stringify(spec.typeUrl)}, not ${JSON.stringify(expected)}`);
  return binaryToProtoJson(info.codec.message, spec.value);
}

function decodeMeta(bytes: Uint8Array): Pick<WireResource, 'name' | 'mesh' | 'labels'> {
  let name = '';
  let mesh = '';
  const labels: Record<string, string> = {};
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) name = readText(reader);
    else if (tag === lengthTag(2)) mesh = readText(reader);
    else if (tag === lengthTag(6)) setOwn(labels, ...readTextEntry(reader.bytes()));
    else return false;
    return true;
  });
  return { name, mesh, labels };
}
