// KRI: an identifier of a resource that is the same on every control plane (policies 3.1).
import { displayNameOf, label } from './labels.ts';
import { zoneNamed } from './ownership.ts';
import { findTypeByAnyName, typeOf } from './type-registry.ts';
import type { Labels } from './types.ts';

/**
 * The text `kri_<short>_<mesh>_<zone>_<namespace>_<name>_<section>`, which keeps empty slots; null for types without a short
 * name.
 */
export function kriOf(resource: { type: string; mesh: string; name: string; labels: Labels }, section = ''): string | null {
  const { shortName } = typeOf(resource.type);
  if (shortName === null) return null;
  if (resource.type === 'Mesh') return `kri_${shortName}____${resource.name}_`;
  const zone = zoneNamed(resource.labels) ?? '';
  const namespace = resource.labels[label.namespace] ?? '';
  return ['kri', shortName, resource.mesh, zone, namespace, displayNameOf(resource), section].join('_');
}

type ParsedKri = {
  readonly type: string;
  /** The KRI without its section; for a Mesh the whole KRI. */
  readonly base: string;
  readonly section: string;
};

/** The parts of the KRI of a resource in the mesh; null for an invalid KRI or another mesh. */
export function parseKri(text: string, mesh: string): ParsedKri | null {
  const short = /^kri_([a-z]+)_/.exec(text)?.[1];
  const info = short === undefined ? undefined : findTypeByAnyName(short);
  if (short === undefined || info?.shortName !== short) return null;
  if (info.name === 'Mesh') return text === `kri_m____${mesh}_` ? { type: 'Mesh', base: text, section: '' } : null;
  const head = `kri_${short}_${mesh}_`;
  if (!text.startsWith(head)) return null;
  const [zone, namespace, name, ...section] = text.slice(head.length).split('_');
  if (name === undefined || section.length === 0) return null;
  return { type: info.name, base: `${head}${zone ?? ''}_${namespace ?? ''}_${name}_`, section: section.join('_') };
}
