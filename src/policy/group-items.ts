// Groups `to[]` items by the resources that their references resolve to: the keys of the rules (policies 3.2.3, 3.2.4).
import type { Resource } from '../resource/types.ts';
import { isGuest, ownDestinations, whyForeign } from './guest-policy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isRouteKind, type Policy, type ToItem } from './parse-policy.ts';
import { hasRouteFields } from './route-fields.ts';
import { isServiceType } from '../resource/type-registry.ts';
import { servicePorts } from './services.ts';
import { describeRef, type TargetRef } from './target-ref.ts';

/** Items that refer to one resource or one of its ports, in the order of the input. */
export type Group = { readonly resource: Resource; readonly items: ToItem[] };

export type GroupedItems = {
  /** Items on kind Mesh. */
  readonly mesh: readonly ToItem[];
  /** By KRI without section. */
  readonly groups: ReadonlyMap<string, Group>;
  /** A sentence for each unresolved reference. */
  readonly warnings: readonly string[];
};

/** Groups items as a proxy of `zone` sees them; order within a group is that of the input. */
export function groupItems(index: MeshIndex, items: readonly ToItem[], zone: string): GroupedItems {
  const mesh: ToItem[] = [];
  const groups = new Map<string, Group>();
  const warnings: string[] = [];
  for (const item of items) {
    if (item.targetRef.kind === 'Mesh') {
      if (isGuest(item.policy, zone)) warnings.push(`${describeItem(item)}: ${whyForeign(item.policy, item.targetRef, [])}`);
      else mesh.push(item);
    } else {
      const found = destinationsOf(index, item.targetRef, item.policy, zone);
      if (typeof found === 'string') warnings.push(`${describeItem(item)}: ${found}`);
      else {
        for (const resource of found) {
          const kri = index.kriOf(resource);
          const group = groups.get(kri);
          if (group === undefined) groups.set(kri, { resource, items: [item] });
          else group.items.push(item);
        }
      }
    }
  }
  return { mesh, groups, warnings };
}

/** The resources that a `to[]` reference of a policy resolves to for proxies of `zone` (`''`: of any), or why there are none. */
export function destinationsOf(index: MeshIndex, ref: TargetRef, policy: Policy, zone: string): Resource[] | string {
  if (isRouteKind(ref.kind) ? !hasRouteFields(policy.type) : !isServiceType(ref.kind))
    return `${policy.type} cannot be configured on a ${ref.kind}`;
  const named = index.resolve(ref, policy, zone);
  if (named.length === 0) return `${describeRef(ref)} does not exist`;
  const found = isGuest(policy, zone) ? ownDestinations(policy, named) : named;
  if (found.length === 0) return whyForeign(policy, ref, named);
  const section = sectionOf(ref);
  if (section === '') return found;
  const having = found.filter((resource) => servicePorts(resource).some((port) => port.section === section));
  return having.length === 0 ? `${describeRef(ref)} does not exist: no such port` : having;
}

/** The section of a reference; `''` for kinds that ignore it (policies 3.2). */
export function sectionOf(ref: TargetRef): string {
  return ref.kind === 'MeshService' || ref.kind === 'MeshMultiZoneService' ? ref.sectionName : '';
}

/** `MeshTimeout slow: spec.to[0].targetRef`. */
function describeItem({ policy, index }: ToItem): string {
  return `${policy.type} ${policy.displayName}: spec.to[${String(index)}].targetRef`;
}
