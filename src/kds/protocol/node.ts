// Node metadata of the first request of each type: the identity and the capabilities of the peer (kds-wire 2.2).
import { MeridianError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { nodeFeatures } from './features.ts';
import type { PeerNode } from './sync-events.ts';
import { objectOf } from '../../resource/read-json.ts';
import { decoding } from '../../wire/fields.ts';
import { decodeStruct, encodeStruct } from '../../wire/struct.ts';

export type OwnNode = {
  readonly version: string;
  readonly instanceId: string;
  /** The sanitized configuration as JSON with at least `store.type`; global sends `''`. */
  readonly config: string;
};

type EncodedNode = { readonly full: Uint8Array; readonly resuming: Uint8Array };

/** The encoded form of each node of this process: thousands of streams send the same bytes. */
const encoded = new WeakMap<OwnNode, EncodedNode>();

/**
 * The metadata that this side sends.
 * @param resume whether the request has versions, and the first response may be a difference (D29)
 * @returns the same bytes for the same node. Callers must not change them
 */
export function nodeMetadata(node: OwnNode, resume: boolean): Uint8Array {
  const known = encoded.get(node) ?? { full: encode(node, false), resuming: encode(node, true) };
  encoded.set(node, known);
  return resume ? known.resuming : known.full;
}

function encode(node: OwnNode, resume: boolean): Uint8Array {
  return encodeStruct({
    version: { kumaCp: { version: node.version } },
    config: node.config,
    'control-plane-id': node.instanceId,
    features: [...nodeFeatures],
    ...(resume && { 'meridian-resume': true }),
  });
}

/** The limit of the whole metadata, in bytes. A peer repeats it in every subscription, and decoding must not delay the others. */
const MAX_BYTES = 1024 * 1024;
/** The limit of a configuration, in characters. That of a Kuma control plane has 20,000. */
const MAX_CONFIG = 100_000;
/** The limit of any other text, in characters. */
const MAX_TEXT = 200;
const MAX_FEATURES = 100;

/**
 * The metadata of a peer. A field that is missing, too long, or of another type reads as empty.
 * @throws Error on bytes that are no Struct, MeridianError `bad_request` on too many
 */
export function readNodeMetadata(metadata: Uint8Array): { readonly node: PeerNode; readonly resumes: boolean } {
  if (metadata.length > MAX_BYTES)
    throw new MeridianError(
      'bad_request',
      `node.metadata: ${String(metadata.length)} bytes, at most ${String(MAX_BYTES)} are read`,
    );
  const read = decoding('the metadata of a node', () => decodeStruct(metadata));
  return { node: peerNodeOf(read), resumes: read['meridian-resume'] === true };
}

function peerNodeOf(metadata: JsonObject): PeerNode {
  const kumaCp = objectOf(objectOf(metadata['version'])['kumaCp']);
  const features = metadata['features'];
  return {
    version: {
      version: boundedText(kumaCp['version']),
      gitTag: boundedText(kumaCp['gitTag']),
      gitCommit: boundedText(kumaCp['gitCommit']),
      buildDate: boundedText(kumaCp['buildDate']),
    },
    config: boundedText(metadata['config'], MAX_CONFIG),
    instanceId: boundedText(metadata['control-plane-id']),
    features: Array.isArray(features)
      ? features
          .slice(0, MAX_FEATURES)
          .map((name) => boundedText(name))
          .filter(Boolean)
      : [],
  };
}

function boundedText(value: Json | undefined, longest = MAX_TEXT): string {
  return typeof value === 'string' && value.length <= longest ? value : '';
}
