// KRI: one identifier of a resource that is the same on every control plane (policies 3.1).
import { displayNameOf, label } from './labels.ts';
import { typeOf } from './type-registry.ts';
import type { Labels } from './types.ts';

/** `kri_<short>_<mesh>_<zone>_<namespace>_<name>_<section>`, empty slots kept; null for types without a short name. */
export function kriOf(resource: { type: string; mesh: string; name: string; labels: Labels }, section = ''): string | null {
  const { shortName } = typeOf(resource.type);
  if (shortName === null) return null;
  if (resource.type === 'Mesh') return `kri_${shortName}____${resource.name}_`;
  const zone = resource.labels[label.zone] ?? '';
  const namespace = resource.labels[label.namespace] ?? '';
  return ['kri', shortName, resource.mesh, zone, namespace, displayNameOf(resource), section].join('_');
}
