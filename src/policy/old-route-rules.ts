// Rules of the old form, in which the top-level targetRef of a policy is a route. They stay for backward compatibility (MADR 063,
// D14). Invariant: a route with a resource rule has no old rules.
import type { JsonObject, Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import { destinationsOf, sectionOf } from './group-items.ts';
import { mergeConfs } from './merge-conf.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isRouteKind, type Policy, type ToItem } from './parse-policy.ts';
import type { Contribution } from './resource-rules.ts';
import { routeFields } from './route-fields.ts';
import { mergeOrdered, toOrder } from './precedence.ts';

export type OldRouteRule = {
  /** KRI of the route. */
  readonly kri: string;
  readonly resource: Resource;
  /** KRI (with section) of the service that the rule applies to; null: all services of the route. */
  readonly destination: string | null;
  readonly conf: JsonObject;
  /** Weakest first: Mesh-level items, then those of policies on the route. */
  readonly contributions: readonly Contribution[];
};

/**
 * The old rules of one type for one proxy.
 * @param own matched policies of the type that are not shared, including those with a route at the top
 * @param everywhere shared policies of the type
 * @param hasRoute whether the proxy has a route (by KRI) and no resource rule for it
 */
export function oldRouteRules(
  index: MeshIndex,
  own: readonly Policy[],
  everywhere: Iterable<Policy>,
  zone: string,
  hasRoute: (kri: string) => boolean,
): OldRouteRule[] {
  const onRoutes = new Map<string, { resource: Resource; items: ToItem[] }>();
  for (const policy of own) {
    if (!isRouteKind(policy.targetRef.kind)) continue;
    for (const resource of index.resolve(policy.targetRef, policy, zone)) {
      const kri = index.kriOf(resource);
      if (!hasRoute(kri)) continue;
      const group = onRoutes.get(kri);
      if (group === undefined) onRoutes.set(kri, { resource, items: [...policy.to] });
      else group.items.push(...policy.to);
    }
  }
  if (onRoutes.size === 0) return [];
  const order = toOrder(zone);
  const defaults = [...everywhere, ...own]
    .filter(({ targetRef }) => !isRouteKind(targetRef.kind))
    .flatMap(({ to }) => to.filter(({ targetRef }) => targetRef.kind === 'Mesh'))
    .sort(order);
  const byKri = [...onRoutes].sort(([a], [b]) => compareText(a, b));
  return byKri.flatMap(([kri, { resource, items }]) => {
    const ordered = items.sort(order);
    return [...destinations(index, ordered, zone)].flatMap((destination) => {
      const relevant = ordered.filter(({ policy, targetRef }) => {
        if (targetRef.kind === 'Mesh') return true;
        return destination !== null && keysOf(index, targetRef, policy, zone).includes(destination);
      });
      const contributions = mergeOrdered(defaults, relevant, order)
        .map((item) => ({
          policy: item.policy,
          index: item.index,
          conf: routeFields(item.policy.type, resource.type, item.conf),
        }))
        .filter(({ conf }) => Object.keys(conf).length > 0);
      if (contributions.length === 0) return [];
      return [{ kri, resource, destination, conf: mergeConfs(contributions.map(({ conf }) => conf)), contributions }];
    });
  });
}

/** The services of the items, and null for items that apply to every service of the route. */
function destinations(index: MeshIndex, items: readonly ToItem[], zone: string): Set<string | null> {
  return new Set(
    items.flatMap(({ targetRef, policy }) => (targetRef.kind === 'Mesh' ? [null] : keysOf(index, targetRef, policy, zone))),
  );
}

function keysOf(index: MeshIndex, ref: ToItem['targetRef'], policy: Policy, zone: string): string[] {
  const found = destinationsOf(index, ref, policy, zone);
  return typeof found === 'string' ? [] : found.map((resource) => index.kriOf(resource) + sectionOf(ref));
}
