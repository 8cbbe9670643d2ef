// The SNI that identifies a service and its port for a zone proxy (policies 9.2, MADR 095, D20, D36).
// Invariant: a service has the same SNI on every control plane, for any stored name.
import { fnv1a64 } from './hash-name.ts';
import { displayNameOf, label } from './labels.ts';
import { originOf, zoneNamed } from './ownership.ts';
import { SYSTEM_NAMESPACE } from './policy-role.ts';
import { typeOf } from './type-registry.ts';
import type { Labels } from './types.ts';

/** Longer names and meshes are cut to this many bytes and get an `x`: a DNS label has 63 at most. */
const MAX_BYTES = 62;

const SUFFIXES = { MeshService: 'ms', MeshExternalService: 'mes', MeshMultiZoneService: 'mzms' } as const;

type SniServiceType = keyof typeof SUFFIXES;

type SniParts = {
  readonly type: SniServiceType;
  /** The display name; for a MeshService in a namespace it is `name.namespace`. */
  readonly name: string;
  readonly mesh: string;
  readonly port: number;
  /** Tags that tell subsets of a service apart; none in practice. */
  readonly extras?: Labels;
};

/**
 * The SNI `a<16 hex>.<name>.<port>.<mesh>.<ms|mes|mzms>`. The hash covers name and mesh in full, and the extras (policies 9.2).
 */
export function sni({ type, name, mesh, port, extras = {} }: SniParts): string {
  const pairs = Object.entries(extras)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
  const digits = fnv1a64(`${name};${mesh};${pairs.join(',')}`)
    .toString(16)
    .padStart(16, '0');
  return `a${digits}.${cut(name)}.${String(port)}.${cut(mesh)}.${SUFFIXES[type]}`;
}

/** The SNI of one port of a service, as stored here (policies 9.2); null for other types. */
export function serviceSni(
  service: { readonly type: string; readonly mesh: string; readonly name: string; readonly labels: Labels },
  port: number,
): string | null {
  return isServiceType(service.type) ? sni({ type: service.type, name: sniNameOf(service), mesh: service.mesh, port }) : null;
}

/** The display name, for a MeshService with its namespace. It is the same in every zone, unlike the stored name. */
function sniNameOf({ type, name, labels }: { type: string; name: string; labels: Labels }): string {
  const displayName = displayNameOf({ name, labels });
  const namespace = labels[label.namespace] ?? '';
  if (type !== 'MeshService' || namespace === '') return displayName;
  const isSystem = originOf(labels) === 'global' && namespace === SYSTEM_NAMESPACE;
  return isSystem ? displayName : `${displayName}.${namespace}`;
}

/**
 * The SNI by which Kuma knows the port: `sni.<short name>.<mesh>[.<zone>][.<namespace>].<name>.<port name or number>`. It is null
 * for a type that is not a service.
 */
export function kumaSni({ type, mesh, name, labels }: Parameters<typeof serviceSni>[0], section: string): string | null {
  const shortName = isServiceType(type) ? typeOf(type).shortName : null;
  if (shortName === null) return null;
  const place = [zoneNamed(labels) ?? '', labels[label.namespace] ?? ''].filter((part) => part !== '');
  return ['sni', shortName, mesh, ...place, displayNameOf({ name, labels }), section].join('.');
}

function isServiceType(type: string): type is SniServiceType {
  return Object.hasOwn(SUFFIXES, type);
}

function cut(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  return bytes.length <= MAX_BYTES ? text : `${bytes.toString('utf8', 0, MAX_BYTES)}x`;
}
