// DeltaDiscoveryRequest and DeltaDiscoveryResponse ⇄ bytes (kds-wire 1). A resource is encoded once, as the field that it is in
// a response, and a response is the concatenation of such fields.
import type { Steps } from '../base/steps.ts';
import { decodeAny, writeAny } from './any.ts';
import { decodeErrorDetail, writeErrorDetail, type ErrorDetail } from './error-detail.ts';
import {
  createWriter,
  decoding,
  decodingInSteps,
  finish,
  lengthTag,
  readFields,
  readFieldsInSteps,
  readText,
  readTextEntry,
  writeText,
  writeTextEntry,
  type Reader,
} from './fields.ts';

const REQUEST = 'a DeltaDiscoveryRequest';
const RESPONSE = 'a DeltaDiscoveryResponse';

/** `type_url` of the Any in `Resource.resource`; the request's and the response's own is the bare type name. */
export const KUMA_RESOURCE_TYPE_URL = 'type.googleapis.com/kuma.mesh.v1alpha1.KumaResource';

export type DeltaRequest = {
  /** `metadata`, the bytes of a Struct, comes with the first request of each type only. */
  readonly node: { readonly id: string; readonly metadata?: Uint8Array };
  /** The bare name of a resource type. */
  readonly typeUrl: string;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** The versions by `Resource.name`. */
  readonly initialResourceVersions: ReadonlyMap<string, string>;
  readonly responseNonce: string;
  /** It is present in a NACK. */
  readonly errorDetail: ErrorDetail | null;
};

export type DeltaResponse = {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly {
    /** The name is `<name>.<mesh>`. */
    readonly name: string;
    readonly version: string;
    /** The bytes of the KumaResource. */
    readonly resource: Uint8Array;
    readonly anyTypeUrl: string;
  }[];
  /** Each name is `<name>.<mesh>`. */
  readonly removedResources: readonly string[];
  /** The identifier of the sender. */
  readonly controlPlane: string;
  /** Whether more of the full state follows. Only Meridian peers know this. */
  readonly isPartial: boolean;
  /** Whether the removed Meshes exist, and go from this zone alone. Only Meridian peers know this. */
  readonly isWithdrawal?: boolean;
  /** Meshes that the sender never had: a full state prunes nothing of them. Only Meridian peers know this. */
  readonly heldMeshes?: readonly string[];
};

/** The words of `system_version_info`, with spaces between them; Kuma always leaves the field empty and never reads it. */
const PARTIAL = 'meridian-partial';
const WITHDRAWAL = 'meridian-withdrawal';
/** The name of a mesh follows. */
const HELD = 'meridian-held=';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function encodeDeltaRequest(request: DeltaRequest): Buffer {
  const writer = createWriter();
  writer.uint32(lengthTag(1)).fork();
  writeText(writer, 1, request.node.id);
  if (request.node.metadata !== undefined) writer.uint32(lengthTag(3)).bytes(request.node.metadata);
  writer.ldelim();
  writeText(writer, 2, request.typeUrl);
  for (const name of request.subscribe) writer.uint32(lengthTag(3)).string(name);
  for (const name of request.unsubscribe) writer.uint32(lengthTag(4)).string(name);
  for (const [name, version] of request.initialResourceVersions) writeTextEntry(writer, 5, name, version);
  writeText(writer, 6, request.responseNonce);
  if (request.errorDetail !== null) writeErrorDetail(writer, 7, request.errorDetail);
  return finish(writer);
}

/**
 * A missing node reads as one with an empty id. The metadata shares the memory of `bytes`.
 * @throws Error on bytes that are no DeltaDiscoveryRequest
 */
export function decodeDeltaRequest(bytes: Uint8Array): DeltaRequest {
  const { request, visit } = requestReader();
  return decoding(REQUEST, () => {
    readFields(bytes, visit);
    return request;
  });
}

/** Decodes as `decodeDeltaRequest` does, in steps: a message may name a hundred thousand resources. */
export function* decodeDeltaRequestInSteps(bytes: Uint8Array): Steps<DeltaRequest> {
  const { request, visit } = requestReader();
  return yield* decodingInSteps(REQUEST, function* () {
    yield* readFieldsInSteps(bytes, visit);
    return request;
  });
}

type FieldVisitor = (tag: number, reader: Reader) => boolean;

const NO_NODE: DeltaRequest['node'] = { id: '' };
const NO_NAMES: readonly string[] = [];
const NO_VERSIONS: ReadonlyMap<string, string> = new Map();

/**
 * An empty request, and the function that reads a field into it. Most requests are acknowledgements, which have no lists: those
 * are made when needed.
 */
function requestReader(): { request: DeltaRequest; visit: FieldVisitor } {
  let subscribe: string[] | null = null;
  let unsubscribe: string[] | null = null;
  let versions: Map<string, string> | null = null;
  const request: Mutable<DeltaRequest> = {
    node: NO_NODE,
    typeUrl: '',
    subscribe: NO_NAMES,
    unsubscribe: NO_NAMES,
    initialResourceVersions: NO_VERSIONS,
    responseNonce: '',
    errorDetail: null,
  };
  const visit: FieldVisitor = (tag, reader) => {
    if (tag === lengthTag(1)) request.node = readNode(reader);
    else if (tag === lengthTag(2)) request.typeUrl = readText(reader);
    else if (tag === lengthTag(3)) (subscribe ??= request.subscribe = []).push(readText(reader));
    else if (tag === lengthTag(4)) (unsubscribe ??= request.unsubscribe = []).push(readText(reader));
    else if (tag === lengthTag(5))
      (versions ??= request.initialResourceVersions = new Map()).set(...readTextEntry(reader.bytes()));
    else if (tag === lengthTag(6)) request.responseNonce = readText(reader);
    else if (tag === lengthTag(7)) request.errorDetail = decodeErrorDetail(reader.bytes());
    else return false;
    return true;
  };
  return { request, visit };
}

/**
 * Encodes field 2 of a DeltaDiscoveryResponse with its tag and length, to be put into any number of responses.
 * @param entry.name `<name>.<mesh>`
 */
export function encodeResourceEntry(entry: {
  name: string;
  version: string;
  kumaResource: Uint8Array;
  /** The type URL of another message than a KumaResource. */
  typeUrl?: string;
}): Buffer {
  if (entry.kumaResource.length >= LARGE_BYTES) return encodeLargeEntry(entry);
  const writer = createWriter();
  writer.uint32(lengthTag(2)).fork();
  writeText(writer, 1, entry.version);
  writeAny(writer, 2, { typeUrl: entry.typeUrl ?? KUMA_RESOURCE_TYPE_URL, value: entry.kumaResource });
  writeText(writer, 3, entry.name);
  writer.ldelim();
  return finish(writer);
}

/** The size in bytes from which a resource is copied once: a writer copies what it holds when it grows. */
const LARGE_BYTES = 16_384;

function encodeLargeEntry(entry: Parameters<typeof encodeResourceEntry>[0]): Buffer {
  const { name, version, kumaResource: value, typeUrl = KUMA_RESOURCE_TYPE_URL } = entry;
  const any = createWriter();
  writeText(any, 1, typeUrl);
  any.uint32(lengthTag(2)).uint32(value.length);
  const head = createWriter();
  writeText(head, 1, version);
  head.uint32(lengthTag(2)).uint32(any.pos + value.length);
  const tail = createWriter();
  writeText(tail, 3, name);
  const start = createWriter()
    .uint32(lengthTag(2))
    .uint32(head.pos + any.pos + value.length + tail.pos);
  return Buffer.concat([start.finish(true), head.finish(true), any.finish(true), value, tail.finish(true)]);
}

/** A `DeltaResponse` whose resources are encoded already. */
export type DeltaResponseParts = Pick<DeltaResponse, 'typeUrl' | 'nonce' | 'controlPlane'> & {
  /** `encodeResourceEntry` makes them. They are copied as they are. */
  readonly entries: readonly Uint8Array[];
  /** Each name is `<name>.<mesh>`. */
  readonly removed: readonly string[];
  readonly isPartial?: boolean;
  readonly isWithdrawal?: boolean;
  readonly heldMeshes?: readonly string[] | undefined;
};

export function encodeDeltaResponse(response: DeltaResponseParts): Buffer {
  const writer = createWriter();
  const words = (response.heldMeshes ?? []).map((mesh) => HELD + mesh);
  if (response.isPartial === true) words.push(PARTIAL);
  if (response.isWithdrawal === true) words.push(WITHDRAWAL);
  if (words.length > 0) writeText(writer, 1, words.join(' '));
  writeText(writer, 4, response.typeUrl);
  writeText(writer, 5, response.nonce);
  for (const name of response.removed) writer.uint32(lengthTag(6)).string(name);
  writer.uint32(lengthTag(7)).fork();
  writeText(writer, 1, response.controlPlane);
  writer.ldelim();
  return Buffer.concat([...response.entries, writer.finish()]);
}

/**
 * Encodes the field of a DeltaDiscoveryResponse with its nonce, to be put behind a response that was encoded with an empty one.
 */
export function encodeNonce(nonce: string): Buffer {
  const writer = createWriter();
  writeText(writer, 5, nonce);
  return finish(writer);
}

/**
 * The resources share the memory of `bytes`.
 * @throws Error on bytes that are no DeltaDiscoveryResponse
 */
export function decodeDeltaResponse(bytes: Uint8Array): DeltaResponse {
  const { response, visit } = responseReader();
  return decoding(RESPONSE, () => {
    readFields(bytes, visit);
    return response;
  });
}

/** Decodes as `decodeDeltaResponse` does, in steps: a message may hold a hundred thousand resources. */
export function* decodeDeltaResponseInSteps(bytes: Uint8Array): Steps<DeltaResponse> {
  const { response, visit } = responseReader();
  return yield* decodingInSteps(RESPONSE, function* () {
    yield* readFieldsInSteps(bytes, visit);
    return response;
  });
}

/** An empty response, and the function that reads a field into it. */
function responseReader(): { response: DeltaResponse; visit: FieldVisitor } {
  const resources: DeltaResponse['resources'][number][] = [];
  const removedResources: string[] = [];
  const response: Mutable<DeltaResponse> = {
    ...{ typeUrl: '', nonce: '', resources, removedResources, controlPlane: '', isPartial: false },
  };
  const visit: FieldVisitor = (tag, reader) => {
    if (tag === lengthTag(1)) {
      const words = readText(reader).split(' ');
      response.isPartial = words.includes(PARTIAL);
      if (words.includes(WITHDRAWAL)) response.isWithdrawal = true;
      const held = words.filter((word) => word.startsWith(HELD));
      if (held.length > 0) response.heldMeshes = held.map((word) => word.slice(HELD.length));
    } else if (tag === lengthTag(2)) resources.push(decodeResource(reader.bytes()));
    else if (tag === lengthTag(4)) response.typeUrl = readText(reader);
    else if (tag === lengthTag(5)) response.nonce = readText(reader);
    else if (tag === lengthTag(6)) removedResources.push(readText(reader));
    else if (tag === lengthTag(7)) response.controlPlane = decodeNode(reader.bytes()).id;
    else return false;
    return true;
  };
  return { response, visit };
}

/**
 * Counts the resources that a DeltaDiscoveryResponse brings and removes, without reading them. Counting ends at `most` + 1.
 * @throws Error on bytes that are no message
 */
export function* countNamedInSteps(bytes: Uint8Array, most: number): Steps<number> {
  return yield* decodingInSteps(RESPONSE, function* () {
    let named = 0;
    yield* readFieldsInSteps(bytes, (tag, reader) => {
      if (tag === lengthTag(2) || tag === lengthTag(6)) named += 1;
      // The rest is skipped in one step.
      if (named > most) reader.pos = reader.len;
      return named > most;
    });
    return named;
  });
}

/** The node of a request; most requests name none. */
function readNode(reader: Reader): DeltaRequest['node'] {
  if (reader.buf[reader.pos] !== 0) return decodeNode(reader.bytes());
  reader.pos += 1;
  return NO_NODE;
}

/** Node, and ControlPlane, whose only field is the id too. */
/** The part of a Node that is read. @throws Error on bytes that are no Node */
export function decodeNode(bytes: Uint8Array): DeltaRequest['node'] {
  const node: Mutable<DeltaRequest['node']> = { id: '' };
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) node.id = readText(reader);
    else if (tag === lengthTag(3)) node.metadata = reader.bytes();
    else return false;
    return true;
  });
  return node;
}

function decodeResource(bytes: Uint8Array): DeltaResponse['resources'][number] {
  const resource: Mutable<DeltaResponse['resources'][number]> = {
    name: '',
    version: '',
    resource: new Uint8Array(),
    anyTypeUrl: '',
  };
  readFields(bytes, (tag, reader) => {
    if (tag === lengthTag(1)) resource.version = readText(reader);
    else if (tag === lengthTag(2)) {
      const { typeUrl, value } = decodeAny(reader.bytes());
      resource.anyTypeUrl = typeUrl;
      resource.resource = value;
    } else if (tag === lengthTag(3)) resource.name = readText(reader);
    else return false;
    return true;
  });
  return resource;
}
