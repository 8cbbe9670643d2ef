// A Gateway API route → MeshHTTPRoutes (or MeshTCPRoutes) and MeshTimeouts in Universal form (policies 2.1, 2.5; D24).
// Invariant: one parent gives one route with one `to[]` (MADR 063). Rules with different timeouts go to separate routes, because a
// MeshTimeout applies to a whole route. Pure: the same model and the same referents give the same result.
import type { z } from 'zod';
import { fnv1a64 } from '../resource/hash-name.ts';
import type { Backend, GatewayRoute, ParentRef, RouteFilter, RouteRule } from './gateway-route.ts';
import { label } from '../resource/labels.ts';
import type {
  WrittenBackend,
  WrittenFilter,
  WrittenHttpRoute,
  WrittenHttpRule,
  WrittenTarget,
  WrittenTcpRoute,
} from '../policies/routes.ts';
import type { meshTimeoutSpec } from '../policies/mesh-timeout/spec.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { formatGoDuration } from './durations.ts';
import { type ResolvedRoute, resolveReferences } from './resolve-references.ts';
import type { Resolver } from './service-resolver.ts';

const MAX_NAME = 253;

/** The document in Universal form, as the REST API takes it; the control plane computes the other labels. */
export type DerivedResource = {
  readonly type: 'MeshHTTPRoute' | 'MeshTCPRoute' | 'MeshTimeout';
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
};

export type Conversion = {
  /** It is empty for a missing parent, and if every rule is left out. */
  readonly resources: readonly DerivedResource[];
  readonly resolved: ResolvedRoute;
  /** `resources` of each parent, in the order of `resolved.parents`. */
  readonly byParent: readonly (readonly DerivedResource[])[];
};

/** Labels that only a control plane may write (policies 1.5). */
export const COMPUTED_LABELS = new Set<string>([
  ...[label.origin, label.zone, label.displayName, label.mesh, label.env, label.namespace],
  ...[label.policyRole, label.managedBy],
]);

/** Converts a route. The caller repeats this when a referent appears or disappears (D24). */
export function toMeshRoutes(route: GatewayRoute, resolve: Resolver): Conversion {
  const resolved = resolveReferences(route, resolve);
  const labels = Object.fromEntries([
    ...Object.entries(route.labels).filter(([key]) => !COMPUTED_LABELS.has(key)),
    ...(route.namespace === undefined ? [] : [[label.namespace, route.namespace]]),
  ]) as Labels;
  const groups = groupsOf(route);
  const byParent = resolved.parents.map(({ parent, target }, parentIndex): DerivedResource[] => {
    if ('problem' in target) return [];
    return groups.flatMap((group, groupIndex): DerivedResource[] => {
      const rules = group.filter((rule) => resolved.rules.includes(rule));
      const [first] = rules;
      if (first === undefined) return [];
      const name = derivedName(route, parent, { parent: parentIndex, group: groupIndex });
      const envelope = { mesh: route.mesh, name, labels };
      const { targetRef } = target;
      const meshRoute: DerivedResource =
        route.kind === 'HTTPRoute'
          ? { type: 'MeshHTTPRoute', ...envelope, spec: httpSpec(targetRef, rules, resolved) }
          : { type: 'MeshTCPRoute', ...envelope, spec: tcpSpec(targetRef, rules, resolved) };
      if (first.requestTimeout === undefined) return [meshRoute];
      return [meshRoute, timeoutOf(envelope, route.namespace, first.requestTimeout)];
    });
  });
  return { resources: byParent.flat(), resolved, byParent };
}

/**
 * The name of a derived resource. It depends on the document alone, not on what its references resolve to. The first parent gets
 * the route's own name, which a policy can then use in `to[].targetRef`; each other parent adds a hash of 8 characters. The first
 * group of rules adds nothing, the next ones `-t02`, `-t03`. A smaller name is stronger (policies 1.8), so of two rules that match
 * equally well the first in the document still wins.
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
  // The stored name ends with the namespace (D2).
  const behind = route.namespace === undefined ? 0 : route.namespace.length + 1;
  return `${route.name.slice(0, MAX_NAME - behind - suffix.length)}${suffix}`;
}

/** The rules grouped by timeout; groups are in the order of their first rules. An unresolved rule keeps its place. */
function groupsOf(route: GatewayRoute): RouteRule[][] {
  const groups = new Map<number | undefined, RouteRule[]>();
  for (const rule of route.rules) groups.set(rule.requestTimeout, [...(groups.get(rule.requestTimeout) ?? []), rule]);
  return [...groups.values()];
}

function httpSpec(targetRef: WrittenTarget, rules: readonly RouteRule[], resolved: ResolvedRoute): JsonObject {
  const to = { targetRef, rules: rules.map((rule) => httpRule(rule, resolved)) };
  return written({ targetRef: { kind: 'Mesh' }, to: [to] } satisfies WrittenHttpRoute);
}

function tcpSpec(targetRef: WrittenTarget, rules: readonly RouteRule[], resolved: ResolvedRoute): JsonObject {
  const to = { targetRef, rules: rules.map((rule) => ({ default: { backendRefs: backendsOf(rule, resolved) } })) };
  return written({ targetRef: { kind: 'Mesh' }, to: [to] } satisfies WrittenTcpRoute);
}

function httpRule(rule: RouteRule, resolved: ResolvedRoute): WrittenHttpRule {
  const filters = rule.filters.map((filter) => filterOf(filter, resolved));
  const backendRefs = backendsOf(rule, resolved);
  return {
    matches: [...rule.matches],
    default: { ...(filters.length > 0 && { filters }), ...(backendRefs.length > 0 && { backendRefs }) },
  };
}

function backendsOf({ backends }: RouteRule, resolved: ResolvedRoute): WrittenBackend[] {
  return backends.map((backend) => ({
    ...refOf(backend, resolved),
    weight: backend.weight,
    ...(backend.filters.length > 0 && { filters: [...backend.filters] }),
  }));
}

function filterOf(filter: RouteFilter, resolved: ResolvedRoute): WrittenFilter {
  if (filter.type !== 'RequestMirror') return filter.written;
  const { type, percentage } = filter;
  const backendRef = refOf(filter.backend, resolved);
  return { type, requestMirror: { ...(percentage !== undefined && { percentage }), backendRef } };
}

function refOf(backend: Backend, { backendRefs }: ResolvedRoute): WrittenBackend {
  const ref = backendRefs.get(backend);
  if (ref === undefined) throw new Error(`${backend.at} is not resolved, so its rule should have been left out`);
  return ref;
}

/** The MeshTimeout with the timeouts of the document alone: the policies of the mesh give the others (D12). */
function timeoutOf(
  envelope: { readonly mesh: string; readonly name: string; readonly labels: Labels },
  namespace: string | undefined,
  milliseconds: number,
): DerivedResource {
  const targetRef = { kind: 'MeshHTTPRoute' as const, name: envelope.name, ...(namespace !== undefined && { namespace }) };
  const conf = { http: { requestTimeout: formatGoDuration(milliseconds) } };
  const spec = written({ targetRef: { kind: 'Mesh' }, to: [{ targetRef, default: conf }] } satisfies z.input<
    typeof meshTimeoutSpec
  >);
  return { type: 'MeshTimeout', ...envelope, spec };
}

/** The JSON that goes out, of a spec that its schema types. No field of it is undefined. */
function written(spec: object): JsonObject {
  return spec as JsonObject;
}
