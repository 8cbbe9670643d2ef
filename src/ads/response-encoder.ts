// Responses as they are sent. Proxies mostly get the same at the same time: the last response of each type is kept, and a proxy that
// gets the same with the same nonce gets the same bytes.
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { encodeDeltaResponse } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import type { XdsResource, XdsResponse, XdsType } from './session.ts';

export class ResponseEncoder {
  readonly #controlPlane: string;
  readonly #last = new Map<XdsType, { readonly response: XdsResponse; readonly bytes: Buffer }>();

  /** @param controlPlane named in each response */
  constructor(controlPlane: string) {
    this.#controlPlane = controlPlane;
  }

  /** A DeltaDiscoveryResponse. The bytes are shared and must not be changed. */
  encode(response: XdsResponse): Buffer {
    const { type, nonce, resources, removed } = response;
    const last = this.#last.get(type);
    if (last !== undefined && isSame(last.response, response)) return last.bytes;
    const bytes = encodeDeltaResponse({
      ...{ typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type], nonce, controlPlane: this.#controlPlane, removed },
      entries: resources.map((resource) => resource.bytes),
    });
    this.#last.set(type, { response, bytes });
    return bytes;
  }
}

function isSame(one: XdsResponse, other: XdsResponse): boolean {
  if (one.nonce !== other.nonce || one.removed.length + other.removed.length > 0) return false;
  return one.resources.length === other.resources.length && one.resources.every(isAt(other.resources));
}

function isAt(resources: readonly XdsResource[]): (resource: XdsResource, index: number) => boolean {
  return (resource, index) => resources[index] === resource;
}
