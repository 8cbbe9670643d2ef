// The precedence of items, weakest first (policies 1.8, D10, D11). Invariant: a total order of the items; the order of arrival
// never decides.
import type { PolicyRole } from '../resource/policy-role.ts';
import { compareText } from '../base/compare-text.ts';
import type { Policy, ToItem } from './parse-policy.ts';
import type { TargetRef } from './target-ref.ts';

const KINDS: ReadonlyMap<string, number> = new Map([
  ['Mesh', 1],
  ['Dataplane', 2],
  ['MeshSubset', 3],
  ['MeshGateway', 4],
  ['MeshService', 5],
  ['MeshExternalService', 6],
  ['MeshMultiZoneService', 7],
  ['MeshServiceSubset', 8],
  ['MeshHTTPRoute', 9],
  ['MeshTCPRoute', 9],
]);
const ORIGINS: ReadonlyMap<string, number> = new Map([
  ['global', 0],
  ['zone', 2],
]);
const ROLES: Readonly<Record<PolicyRole, number>> = { system: 0, producer: 1, consumer: 2, 'workload-owner': 3 };

type Numbered = { readonly policy: Policy; readonly index: number };
export type Order<T> = (a: T, b: T) => number;

/** Order of `to[]` items as a proxy of `zone` sees it: all rows of policies 1.8. */
export function toOrder(zone: string): Order<ToItem> {
  return (a, b) =>
    byPolicy(a.policy, b.policy, zone) ||
    byDestination(a.targetRef, b.targetRef) ||
    byName(a.policy, b.policy) ||
    a.index - b.index;
}

/**
 * Order of `rules[]` and `from[]` items, and of whole policies: without row 5 (policies 6). D10 is about `to[]` alone: an inbound has no
 * producer and no consumer.
 */
export function ruleOrder(zone: string): Order<Numbered> {
  return (a, b) => byPolicy(a.policy, b.policy, zone) || byName(a.policy, b.policy) || a.index - b.index;
}

/**
 * Moves consumer items behind the producer items, for all top-level kinds (D10). A consumer item moves only as far as needed, so
 * every other pair keeps the order of policies 1.8, unless the three contradict each other.
 */
export function consumersLast<T extends { readonly policy: Policy }>(ordered: readonly T[]): readonly T[] {
  const last = ordered.findLastIndex(({ policy }) => policy.role === 'producer');
  const isMoved = (item: T, position: number): boolean => position < last && item.policy.role === 'consumer';
  if (!ordered.some(isMoved)) return ordered;
  return [
    ...ordered.filter((item, position) => position <= last && !isMoved(item, position)),
    ...ordered.filter(isMoved),
    ...ordered.slice(last + 1),
  ];
}

/** Merges two ordered lists. Equal items of the first list come first. */
export function mergeOrdered<T>(a: readonly T[], b: readonly T[], order: Order<T>): readonly T[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: T[] = [];
  let at = 0;
  for (const item of b) {
    for (let next = a[at]; next !== undefined && order(next, item) <= 0; next = a[++at]) merged.push(next);
    merged.push(item);
  }
  for (; at < a.length; at += 1) merged.push(a[at] as T);
  return merged;
}

/** Why the second of two policies of one type has the values that both set, on a proxy of `zone`. */
export function whyStronger(weaker: Policy, stronger: Policy, zone: string): string {
  const [weak, strong] = [weaker.targetRef, stronger.targetRef];
  if (kindOf(weak) !== kindOf(strong) || (weak.kind === 'Dataplane' && byDataplane(weak, strong) !== 0))
    return 'its spec.targetRef is more specific';
  if (originOf(weaker, zone) !== originOf(stronger, zone)) return 'a policy of the zone is stronger than one of global';
  if (weaker.role !== stronger.role)
    return `a policy of the role ${stronger.role} is stronger than one of the role ${weaker.role}`;
  const specific = ({ to }: Policy): number => Math.max(0, ...to.map(({ targetRef }) => kindOf(targetRef)));
  if (specific(weaker) < specific(stronger)) return 'its spec.to[].targetRef is more specific';
  return 'of two that select the same, the name that is first in the alphabet is stronger';
}

/** Rows 1 to 4. */
function byPolicy(a: Policy, b: Policy, zone: string): number {
  return (
    kindOf(a.targetRef) - kindOf(b.targetRef) ||
    (a.targetRef.kind === 'Dataplane' ? byDataplane(a.targetRef, b.targetRef) : 0) ||
    originOf(a, zone) - originOf(b, zone) ||
    ROLES[a.role] - ROLES[b.role]
  );
}

function byDataplane(a: TargetRef, b: TargetRef): number {
  return Number(isNamed(a)) - Number(isNamed(b)) || hasSection(a) - hasSection(b);
}

function byDestination(a: TargetRef, b: TargetRef): number {
  const difference = kindOf(a) - kindOf(b);
  if (difference !== 0) return difference;
  return a.kind === 'MeshService' && b.kind === 'MeshService' ? hasSection(a) - hasSection(b) : 0;
}

/** Row 6, then the fields that distinguish policies with one display name. */
function byName(a: Policy, b: Policy): number {
  return compareText(b.displayName, a.displayName) || compareText(b.kri, a.kri) || compareText(b.resource.name, a.resource.name);
}

/** A producer policy of another zone counts as origin `global`, as in the zones that it is synced to. */
function originOf(policy: Policy, zone: string): number {
  if (policy.role === 'producer' && policy.zone !== '' && policy.zone !== zone) return 0;
  return ORIGINS.get(policy.origin) ?? 1;
}

function kindOf({ kind }: TargetRef): number {
  return KINDS.get(kind) ?? 0;
}

function isNamed(ref: TargetRef): boolean {
  return ref.labels === null && ref.name !== '';
}

function hasSection({ sectionName }: TargetRef): number {
  return sectionName === '' ? 0 : 1;
}
