// Encodes resources from JSON to bytes, once for all proxies that get the same resource.
import { hash } from 'node:crypto';
import { MIN_ITEMS } from '../base/long-lists.ts';
import { WeakCache } from '../base/weak-cache.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { envoyJsonToBinary, useEnvoyBinary } from '../wire/json-to-binary.ts';
import { encodeResourceEntry } from '../wire/kds-messages.ts';
import { ProtoJsonError } from '../wire/proto-error.ts';
import { lasting } from '../xds/lasting-chains.ts';
import { listenerPlace } from '../xds/listener-place.ts';
import type { ProxyConfig } from '../xds/proxy-context.ts';
import type { EncodedPart, TypedResource } from './encoded-part.ts';
import type { XdsResource, XdsType } from './session-messages.ts';

/** Full names of the messages. */
export const XDS_MESSAGES: Readonly<Record<XdsType, string>> = {
  Cluster: 'envoy.config.cluster.v3.Cluster',
  ClusterLoadAssignment: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  Secret: 'envoy.extensions.transport_sockets.tls.v3.Secret',
  Listener: 'envoy.config.listener.v3.Listener',
  TypedExtensionConfig: 'envoy.config.core.v3.TypedExtensionConfig',
  RouteConfiguration: 'envoy.config.route.v3.RouteConfiguration',
};

/** The messages of one kind of resource in a configuration. */
const KINDS = [
  ['Cluster', 'clusters'],
  ['ClusterLoadAssignment', 'assignments'],
  ['Listener', 'listeners'],
  ['TypedExtensionConfig', 'filters'],
  ['RouteConfiguration', 'routes'],
  ['Secret', 'secrets'],
] as const;

export class ResourceEncoder {
  /** By a digest of type and JSON. */
  readonly #known = new WeakCache<XdsResource>();

  /**
   * The resources of a configuration. A resource that is no valid message of Envoy's API is left out and reported as a problem, and so is a
   * listener at the place of another one.
   */
  part(made: ProxyConfig): EncodedPart {
    const { problems, ...config } = lasting(made);
    const found = [...problems];
    const resources: TypedResource[] = [];
    const places = new Map<string, string>();
    const add = (type: XdsType, name: string, resource: JsonObject): void => {
      const place = type === 'Listener' ? listenerPlace(resource) : null;
      const user = place === null ? undefined : places.get(place);
      const field = `${type} ${name}`;
      if (place !== null && user !== undefined) {
        found.push({ policy: null, field, reason: `has no listener: ${user} listens on ${place} already` });
        return;
      }
      if (place !== null) places.set(place, name);
      try {
        const encoded = place === null ? this.#encode(type, name, resource) : this.#listener(place, resource);
        resources.push({ type, resource: encoded });
      } catch (error) {
        if (!(error instanceof ProtoJsonError)) throw error;
        found.push({ policy: null, field, reason: error.message });
      }
    };
    for (const [type, key] of KINDS) for (const [name, resource] of config[key]) add(type, name, resource);
    for (const [name, pair] of config.keys) add('Secret', name, pair.toSecret(name));
    return { resources, problems: found };
  }

  #listener(place: string, listener: JsonObject): XdsResource {
    const isLasting = listener['trafficDirection'] === 'INBOUND' && listener['bindToPort'] !== false;
    return this.#encode('Listener', place, { ...listener, name: place }, { knownAs: textOf(listener['name']), isLasting });
  }

  #encode(type: XdsType, name: string, resource: JsonObject, more: More = {}): XdsResource {
    const made = { type, name, resource, ...more };
    // The items of a long list are encoded already, but for those that have changed. The text of the list would be made of all of them.
    if (isLong(type, resource))
      return useEnvoyBinary(XDS_MESSAGES[type], resource, (message) => {
        const digest = digestOf(message);
        return this.#once(digest, made, () => encodedOf(made, message, digest));
      });
    return this.#once(digestOf(JSON.stringify(resource)), made, () => {
      const message = envoyJsonToBinary(XDS_MESSAGES[type], resource);
      return encodedOf(made, message, digestOf(message));
    });
  }

  #once(digest: string, { type, name, knownAs = name, isLasting = false }: Made, encode: () => XdsResource): XdsResource {
    const key = `${digest}${type} ${knownAs}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const encoded = { ...encode(), ...(knownAs !== name && { knownAs }), ...(isLasting && { isLasting }) };
    this.#known.set(key, encoded);
    return encoded;
  }
}

type More = { readonly knownAs?: string; readonly isLasting?: boolean };
type Made = More & { readonly type: XdsType; readonly name: string; readonly resource: JsonObject };

function digestOf(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'base64url');
}

/** @param message of the resource @param digest of the message */
function encodedOf({ type, name, resource }: Made, message: Uint8Array, digest: string): XdsResource {
  const version = digest.slice(0, 22);
  const entry = encodeResourceEntry({ name, version, typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type], kumaResource: message });
  const assignment = textOf(objectOf(resource['edsClusterConfig'])['serviceName']);
  return { name, version, bytes: ownMemory(entry), ...(assignment !== '' && { assignment }) };
}

/** Node cuts small buffers from one of 64 kB, which lives as long as any of them. A resource of one proxy would keep it alive. */
function ownMemory(bytes: Buffer): Buffer {
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

function isLong(type: XdsType, resource: JsonObject): boolean {
  if (type === 'RouteConfiguration') return objectsOf(resource['virtualHosts']).some(({ routes }) => isLongList(routes));
  return type === 'ClusterLoadAssignment' && objectsOf(resource['endpoints']).some(({ lbEndpoints }) => isLongList(lbEndpoints));
}

function isLongList(list: Json | undefined): boolean {
  return Array.isArray(list) && list.length >= MIN_ITEMS;
}
