// Encodes responses, in parts. Proxies mostly get equal responses at the same time, so the last response of each type is kept: one that
// differs in its nonce alone, because each stream counts its own, has the same parts but for the last.
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { toBuffer } from '../wire/fields.ts';
import { encodeDeltaResponse, encodeNonce } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import type { XdsResource, XdsResponse, XdsType } from './session-messages.ts';

/**
 * @property response equals the one that was encoded; proxies that get the same bytes share it
 * @property parts a DeltaDiscoveryResponse, once they are joined; they are shared and must not be changed. The last one has the nonce
 */
type EncodedResponse = { readonly response: XdsResponse; readonly parts: readonly Buffer[] };

/** Bytes of a resource that is a part as it is; smaller ones are joined. */
const LARGE_BYTES = 16_384;

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
    const body = isKnown ? last.parts.slice(0, -1) : this.#bodyOf(response);
    const encoded = { response, parts: [...body, encodeNonce(nonce)] };
    this.#last.set(type, encoded);
    return encoded;
  }

  #bodyOf({ type, resources, removed }: XdsResponse): Buffer[] {
    const typeUrl = TYPE_URL_PREFIX + XDS_MESSAGES[type];
    const rest = encodeDeltaResponse({ typeUrl, nonce: '', controlPlane: this.#controlPlane, removed, entries: [] });
    const parts: Buffer[] = [];
    let small: Uint8Array[] = [];
    for (const { bytes } of resources) {
      if (bytes.length < LARGE_BYTES) small.push(bytes);
      else {
        if (small.length > 0) parts.push(Buffer.concat(small));
        parts.push(toBuffer(bytes));
        small = [];
      }
    }
    return [...parts, Buffer.concat([...small, rest])];
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
