// Names on the wire: `name-<16 characters>`, so that equal names of different meshes, zones and namespaces do not collide
// (MADR 029, kds-wire 5.5). Types with `skipHash` keep their names. The full name is hashed; only the visible part is cut.
import type { WireResource } from './codec.ts';
import { displayNameOf, label } from './labels.ts';
import type { TypeInfo } from './type-registry.ts';
import type { Labels, Resource } from './types.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
/** The offset basis of 64 bits in two words, and the prime 2^40 + 0x1b3. */
const FNV_OFFSET = { high: 0xcbf29ce4, low: 0x84222325 };
const FNV_PRIME_LOW = 0x1b3;
const WORD = 0x1_0000_0000;
/** 253 bytes, the cap of a name, less the hyphen and the 16 characters of the suffix. */
export const MAX_VISIBLE_BYTES = 236;

export type HashInput = {
  /** The mesh; `''` for Global scope. */
  readonly mesh: string;
  /** The display name. */
  readonly name: string;
  readonly zone?: string | undefined;
  readonly namespace?: string | undefined;
};

/**
 * The name a sender gives a resource on the wire.
 * @returns at most 253 bytes of UTF-8; cut at a whole character (engine 25)
 */
export function hashName({ mesh, name, zone = '', namespace = '' }: HashInput): string {
  const digits = fnv1a64(`${mesh}${name}${zone}${namespace}`).toString(16).padStart(16, '0');
  let suffix = '';
  for (const digit of digits) suffix += ALPHABET.charAt(digit.charCodeAt(0) % ALPHABET.length);
  return `${cutAtBytes(name, MAX_VISIBLE_BYTES)}-${suffix}`;
}

/** The name on the wire of a resource with these labels: the hash of its mesh, display name, zone and namespace. */
export function hashNameOf(resource: { readonly mesh: string; readonly name: string; readonly labels: Labels }): string {
  const { mesh, labels } = resource;
  return hashName({ mesh, name: displayNameOf(resource), zone: labels[label.zone], namespace: labels[label.namespace] });
}

/** Name, mesh and labels on the wire. @param labels the labels that are sent; gets the display name of a renamed resource */
export function wireIdentity(
  resource: Resource,
  info: TypeInfo,
  labels: Record<string, string>,
): Pick<WireResource, 'name' | 'mesh' | 'labels'> {
  if (info.kds.skipHash) return { name: resource.name, mesh: resource.mesh, labels };
  labels[label.displayName] ??= displayNameOf(resource);
  return { name: hashNameOf({ ...resource, labels }), mesh: resource.mesh, labels };
}

/**
 * FNV-1a, 64 bits, over the UTF-8 bytes of a text. It works in two words: a product of a word and the prime's low part is exact
 * in a double.
 */
export function fnv1a64(text: string): bigint {
  let { high, low } = FNV_OFFSET;
  for (const byte of Buffer.from(text, 'utf8')) {
    const mixed = (low ^ byte) >>> 0;
    const product = mixed * FNV_PRIME_LOW;
    low = product >>> 0;
    high = (high * FNV_PRIME_LOW + Math.floor(product / WORD) + mixed * 0x100) % WORD;
  }
  return BigInt(high) * BigInt(WORD) + BigInt(low);
}

/** The longest prefix of whole characters that fits into `limit` bytes of UTF-8. */
function cutAtBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
