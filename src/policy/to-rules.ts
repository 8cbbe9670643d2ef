// Resource rules of one policy type. The shared part is built once, and each proxy adds its own policies (policies 3.2).
// Invariant: the rules of a proxy equal those built from only its matched policies.
import { groupItems, type Group, type GroupedItems } from './group-items.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isRouteKind, type Policy, type ToItem } from './parse-policy.ts';
import {
  keysOf,
  LayeredRules,
  type ResourceKeyItems,
  type ResourceRule,
  ResourceRuleBuilder,
  type ResourceRules,
  RulesOnDemand,
} from './resource-rules.ts';
import { withRouteLoadBalancers } from './load-balancing.ts';
import { mergeOrdered, toOrder, type Order } from './precedence.ts';

export type ToRules = {
  readonly rules: ResourceRules;
  /** Unresolved references. */
  readonly warnings: readonly string[];
};

/** The number of cached sets of policies. Proxies of one namespace or group share a set. */
const MAX_REMEMBERED = 256;

/** The rules for the proxies of one zone. Valid until a policy of the type, a service or a route changes. */
export class ToRulesOfType {
  readonly #index: MeshIndex;
  readonly #type: string;
  readonly #zone: string;
  readonly #order: Order<ToItem>;
  readonly #shared: GroupedItems;
  /** KRIs of the shared groups of routes. Not every proxy has these routes. */
  readonly #sharedRoutes: readonly string[];
  /** The shared keys except those of routes. */
  readonly #sharedKeys = new Map<string, ResourceKeyItems>();
  readonly #builder: ResourceRuleBuilder;
  readonly #sharedRules: RulesOnDemand;
  readonly #sharedRouteRules = new Map<string, ResourceRule>();
  readonly #remembered = new Map<string, ToRules>();

  /** @param shared policies that all proxies of the zone have */
  constructor(index: MeshIndex, type: string, zone: string, shared: readonly Policy[]) {
    this.#index = index;
    this.#type = type;
    this.#zone = zone;
    this.#order = toOrder(zone);
    this.#shared = this.#group(shared);
    this.#sharedRoutes = routesOf(this.#shared);
    if (this.#shared.mesh.length > 0) this.#addKeys(this.#sharedKeys, [this.#meshKey()]);
    for (const [kri, group] of this.#shared.groups)
      if (!isRouteKind(group.resource.type)) this.#addKeys(this.#sharedKeys, keysOf(kri, group));
    this.#builder = new ResourceRuleBuilder(type, this.#order, this.#shared.mesh);
    this.#sharedRules = new RulesOnDemand(this.#builder, this.#sharedKeys);
  }

  /**
   * The rules of a proxy.
   * @param own matched policies that are not shared
   * @param routes KRIs of the routes that the proxy has: a conf on any other route has no effect (MADR 063)
   */
  rulesFor(own: readonly Policy[], routes: ReadonlySet<string>): ToRules {
    const mine = this.#group(own);
    const here = [...new Set([...this.#sharedRoutes, ...routesOf(mine)])].filter((kri) => routes.has(kri)).sort();
    const serials = own.map(({ serial }) => serial).sort((a, b) => a - b);
    const key = JSON.stringify([serials, here]);
    let known = this.#remembered.get(key);
    if (known === undefined) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
      known = { rules: this.#build(mine, here), warnings: [...this.#shared.warnings, ...mine.warnings].sort() };
      this.#remembered.set(key, known);
    }
    return known;
  }

  #build(mine: GroupedItems, routes: readonly string[]): ResourceRules {
    if (mine.mesh.length + mine.groups.size + routes.length === 0) return this.#sharedRules;
    const isMeshMine = mine.mesh.length > 0;
    const mesh = mergeOrdered(this.#shared.mesh, mine.mesh, this.#order);
    const builder = isMeshMine ? new ResourceRuleBuilder(this.#type, this.#order, mesh) : this.#builder;
    const shared = isMeshMine ? new RulesOnDemand(builder, this.#sharedKeys) : this.#sharedRules;
    const own = new Map<string, ResourceRule>();
    const add = (key: ResourceKeyItems): void => void own.set(key.kri, builder.build(key));
    if (isMeshMine) add(this.#meshKey());
    for (const [kri, group] of mine.groups)
      if (!isRouteKind(group.resource.type)) for (const key of keysOf(kri, this.#joined(kri, group))) add(key);
    for (const kri of routes) {
      const group = mine.groups.get(kri);
      if (group === undefined && !isMeshMine) own.set(kri, this.#sharedRouteRule(kri));
      else for (const key of keysOf(kri, this.#joined(kri, group))) add(key);
    }
    const rules = new LayeredRules(own, shared);
    if (this.#type !== 'MeshLoadBalancingStrategy') return rules;
    return new LayeredRules(withRouteLoadBalancers(this.#index, own, rules, this.#zone), shared);
  }

  #sharedRouteRule(kri: string): ResourceRule {
    let rule = this.#sharedRouteRules.get(kri);
    if (rule === undefined) {
      const [key] = keysOf(kri, this.#joined(kri, undefined));
      if (key === undefined) throw new Error(`no items on ${kri}`);
      rule = this.#builder.build(key);
      this.#sharedRouteRules.set(kri, rule);
    }
    return rule;
  }

  /** The shared items and the proxy's own items on one resource. */
  #joined(kri: string, mine: Group | undefined): Group {
    const shared = this.#shared.groups.get(kri);
    if (shared === undefined || mine === undefined) {
      const group = shared ?? mine;
      if (group === undefined) throw new Error(`no items on ${kri}`);
      return group;
    }
    return { resource: mine.resource, items: [...mergeOrdered(shared.items, mine.items, this.#order)] };
  }

  #meshKey(): ResourceKeyItems {
    const resource = this.#index.meshResource();
    return { kri: this.#index.kriOf(resource), resource, section: '', items: [] };
  }

  #addKeys(keys: Map<string, ResourceKeyItems>, more: readonly ResourceKeyItems[]): void {
    for (const key of more) keys.set(key.kri, key);
  }

  /** Omits policies whose top-level targetRef is a route; they have old rules. */
  #group(policies: Iterable<Policy>): GroupedItems {
    const items = [...policies].flatMap((policy) => (isRouteKind(policy.targetRef.kind) ? [] : policy.to));
    return groupItems(this.#index, items.sort(this.#order), this.#zone);
  }
}

/** KRIs of the routes among the groups. */
function routesOf({ groups }: GroupedItems): string[] {
  return [...groups].flatMap(([kri, { resource }]) => (isRouteKind(resource.type) ? [kri] : []));
}
