// Encodes responses. Proxies mostly get equal responses at the same time, so the last response of each type is kept: an equal one with
// the same nonce is the same bytes, and one with another nonce is a copy, because each stream counts its own nonces.
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { encodeDeltaResponse, encodeNonce } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import type { XdsResource, XdsResponse, XdsType } from './session-messages.ts';

/**
 * @property response equals the one that was encoded; proxies that get the same bytes share it
 * @property bytes a DeltaDiscoveryResponse; they are shared and must not be changed
 * @property bodyLength bytes before the nonce
 */
export type EncodedResponse = { readonly response: XdsResponse; readonly bytes: Buffer; readonly bodyLength: number };

export class ResponseEncoder {
  readonly #controlPlane: string;
  readonly #last = new Map<XdsType, EncodedResponse>();

  /** @param controlPlane named in each response */
  constructor(controlPlane: string) {
    this.#controlPlane = controlPlane;
  }

  encode(response: XdsResponse): EncodedResponse {
    const { type, nonce } = response;
    const last = this.#last.get(type);
    const isKnown = last !== undefined && isSame(last.response, response);
    if (isKnown && last.response.nonce === nonce) return last;
    const end = encodeNonce(nonce);
    const bytes = isKnown ? Buffer.concat([last.bytes.subarray(0, last.bodyLength), end]) : this.#encode(response, end);
    const encoded = { response, bytes, bodyLength: bytes.length - end.length };
    this.#last.set(type, encoded);
    return encoded;
  }

  #encode({ type, resources, removed }: XdsResponse, end: Buffer): Buffer {
    const typeUrl = TYPE_URL_PREFIX + XDS_MESSAGES[type];
    const rest = encodeDeltaResponse({ typeUrl, nonce: '', controlPlane: this.#controlPlane, removed, entries: [] });
    return Buffer.concat([...resources.map((resource) => resource.bytes), rest, end]);
  }
}

/** Whether they differ in their nonces alone. */
function isSame(one: XdsResponse, other: XdsResponse): boolean {
  if (one.removed.length + other.removed.length > 0) return false;
  return one.resources.length === other.resources.length && one.resources.every(isAt(other.resources));
}

function isAt(resources: readonly XdsResource[]): (resource: XdsResource, index: number) => boolean {
  return (resource, index) => resources[index] === resource;
}
