// Names of the resources derived from a route. One parent and one timeout, the usual case: the route's own name, so that policies
// can say `to[].targetRef: {kind: MeshHTTPRoute, name: <route>}`. Invariant: a name depends on the document alone, not on what
// resolves.
import { fnv1a64 } from '../resource/hash-name.ts';
import type { ParentRef } from './gateway-route.ts';

const MAX_NAME = 253;

/**
 * The first parent has the route's name; another one adds 8 characters that stand for it, however parents are ordered.
 * The first group of rules adds nothing, the next ones `-t02`, `-t03`: a smaller name is stronger (policies 1.8), so that of two
 * rules that match equally well the one the author wrote first still wins.
 */
export function derivedName(
  route: { readonly name: string; readonly namespace: string | undefined },
  parent: ParentRef,
  place: { readonly parent: number; readonly group: number },
): string {
  const { group, kind, namespace, name, port, sectionName } = parent;
  const identity = JSON.stringify([group, kind, namespace ?? null, name, port ?? null, sectionName ?? null]);
  const hash = place.parent === 0 ? '' : `-${fnv1a64(identity).toString(36).padStart(13, '0').slice(-8)}`;
  const suffix = place.group === 0 ? hash : `${hash}-t${String(place.group + 1).padStart(2, '0')}`;
  // It is stored with its namespace behind it (D2).
  const behind = route.namespace === undefined ? 0 : route.namespace.length + 1;
  return `${route.name.slice(0, MAX_NAME - behind - suffix.length)}${suffix}`;
}
