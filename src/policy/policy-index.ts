// An index of the policies of one type. Each policy has one anchor, the rarest property that it requires of a proxy, so that a lookup
// for a proxy reads few policies. Invariant: every policy that can match is either everywhere or under one anchor.
import { label } from '../resource/labels.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { SERVICE_TAG } from './match-dataplane.ts';
import { PairIndex } from './pair-index.ts';
import { isRouteKind, type Policy } from './parse-policy.ts';

/** A property that a proxy must have: (property, value). `*` is for policies that need a full check. */
type Anchor = readonly [what: string, value: string];

const ZONE = 'zone of';
const NAMESPACE = 'namespace of';
const NAME = 'name of';
const ANY: Anchor = ['*', '*'];

export class PolicyIndex {
  readonly #byName = new Map<string, Policy>();
  readonly #everywhere = new Set<Policy>();
  readonly #anchored = new PairIndex<Policy>();

  /** How many are of the old form, with a route at the top. */
  #onRoutes = 0;

  get hasRouteTargets(): boolean {
    return this.#onRoutes > 0;
  }

  /** Policies by stored name. */
  get policies(): ReadonlyMap<string, Policy> {
    return this.#byName;
  }

  /** The policies that match every proxy of this zone. */
  shared({ zone, origin }: Pick<DataplaneProxy, 'zone' | 'origin'>): Policy[] {
    const ofZone = origin === 'zone' ? this.#anchored.get(ZONE, zone) : this.#anchored.under(ZONE);
    return [...this.#everywhere, ...ofZone];
  }

  put(policy: Policy): void {
    this.remove(policy.resource.name);
    this.#byName.set(policy.resource.name, policy);
    if (isRouteKind(policy.targetRef.kind)) this.#onRoutes += 1;
    const anchor = anchorOf(policy);
    if (anchor === 'everywhere') this.#everywhere.add(policy);
    else if (anchor !== 'nowhere') this.#anchored.add(...anchor, policy);
  }

  remove(name: string): void {
    const policy = this.#byName.get(name);
    if (policy === undefined) return;
    this.#byName.delete(name);
    if (isRouteKind(policy.targetRef.kind)) this.#onRoutes -= 1;
    this.#everywhere.delete(policy);
    const anchor = anchorOf(policy);
    if (typeof anchor !== 'string') this.#anchored.delete(...anchor, policy);
  }

  /** The policies with an anchor that this proxy has, without the shared ones. They still need a full check. */
  *candidates(proxy: DataplaneProxy): Generator<Policy> {
    yield* this.#anchored.get(...ANY);
    yield* this.#anchored.get(NAME, proxy.displayName);
    yield* this.#anchored.get(NAMESPACE, proxy.namespace);
    for (const [key, value] of proxy.pairs) yield* this.#anchored.get(key, value);
  }
}

/** Which proxies a policy may match: all that its zone has, those that a full check finds, or none. */
export function reachOf(policy: Policy): 'every proxy' | 'some proxies' | 'none' {
  const anchor = anchorOf(policy);
  if (anchor === 'nowhere') return 'none';
  return anchor === 'everywhere' || anchor[0] === ZONE ? 'every proxy' : 'some proxies';
}

function anchorOf(policy: Policy): Anchor | 'everywhere' | 'nowhere' {
  const { targetRef: ref, role, namespace } = policy;
  if (policy.isShadow || ref.kind === 'MeshGateway') return 'nowhere';
  if (isRouteKind(ref.kind) || policy.isHomebound) return ANY;
  if (ref.kind === 'MeshService' || ref.kind === 'MeshServiceSubset') return [SERVICE_TAG, ref.name];
  if (ref.kind === 'Dataplane' && ref.labels === null && ref.name !== '') return [NAME, ref.name];
  const isSubset = ref.kind === 'MeshSubset';
  const pair = firstPair(isSubset ? ref.tags : ref.kind === 'Dataplane' ? (ref.labels ?? {}) : {});
  if (pair !== null) return pair[0] === label.displayName && !isSubset ? [NAME, pair[1]] : pair;
  if (role === 'consumer' || role === 'workload-owner') return [NAMESPACE, namespace];
  if (ref.proxyTypes.length > 0 || ref.sectionName !== '') return ANY;
  if (ref.kind !== 'Mesh' && ref.kind !== 'Dataplane' && !isSubset) return 'nowhere';
  return role === 'system' && policy.origin === 'zone' && policy.zone !== '' ? [ZONE, policy.zone] : 'everywhere';
}

/** The most selective pair, if possible one that not every proxy of a zone or namespace has. */
function firstPair(pairs: Readonly<Record<string, string>>): Anchor | null {
  const keys = Object.keys(pairs);
  const key = keys.find((candidate) => !SHARED.has(candidate)) ?? keys[0];
  if (key === undefined) return null;
  return [key, pairs[key] ?? ''];
}

const SHARED: ReadonlySet<string> = new Set([label.zone, label.env, label.origin, label.mesh, label.namespace]);
