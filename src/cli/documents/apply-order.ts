// The order in which resources can be applied: a resource precedes those that need it. Apart from this, `apply` keeps the order of
// the files. `export` prints types in this order. Pure.
import { label, manager } from '../../resource/labels.ts';
import { resourceTypes, type TypeInfo } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';

const COMPUTERS: ReadonlySet<string | undefined> = new Set(Object.values(manager));

/**
 * Meshes, then resources outside meshes, then resources in meshes: secrets, services, the rest in the order of the registry.
 * @param mode the mode of the control plane. A zone creates its own Zone row, and needs no other
 */
export function exportedTypes({
  secrets,
  mode,
  product = 'Meridian',
}: {
  secrets: boolean;
  mode: string | undefined;
  product?: string | undefined;
}): TypeInfo[] {
  return resourceTypes
    .filter(({ isOwn }) => product === 'Meridian' || !isOwn)
    .filter(
      ({ path, isInsight, adminOnly, writers }) => path !== '' && !isInsight && writers !== 'none' && (secrets || !adminOnly),
    )
    .filter(({ name }) => mode !== 'zone' || name !== 'Zone')
    .toSorted((a, b) => exportRank(a) - exportRank(b));
}

/** The rank by which `apply` sorts documents: Meshes, then resources outside meshes, then those in meshes. */
export function applyRank({ name, scope }: TypeInfo): number {
  return name === 'Mesh' ? 0 : scope === 'Global' ? 1 : 2;
}

function exportRank(info: TypeInfo): number {
  const rank = applyRank(info);
  if (rank < 2) return rank;
  return info.adminOnly ? 2 : info.policy === null ? 3 : 4;
}

/** Whether the resource is a copy: its own control plane exports it, and it cannot be applied here. */
export function isCopy({ labels }: Item, mode: string | undefined): boolean {
  const origin = labels?.[label.origin];
  return mode !== undefined && origin !== undefined && origin !== mode;
}

/**
 * Whether a control plane computes the resource, from other resources or from proxies. A person or a tool may write another value
 * of the label.
 */
export function isComputed({ labels }: Item): boolean {
  return COMPUTERS.has(labels?.[label.managedBy]);
}

/** Whether a control plane derived the resource from another exported resource. It is derived again when that one is applied. */
export function isDerived({ labels }: Item): boolean {
  return labels?.[label.managedBy] === 'gateway-api';
}
