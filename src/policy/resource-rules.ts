// The resource rules of a proxy: a merged conf for each service, port, route and the mesh (policies 3.2 to 3.4). They have two
// layers, the proxy's own rules over the shared rules, so nothing is copied per proxy.
import type { JsonObject, Resource } from '../resource/types.ts';
import { type Group, type GroupedItems, sectionOf } from './group-items.ts';
import { mergeConf } from './merge-conf.ts';
import { mergeRouteRules } from './route-rules.ts';
import { isRouteKind, type Policy, type ToItem } from './parse-policy.ts';
import { routeFields } from './route-fields.ts';
import { consumersLast, mergeOrdered, type Order } from './precedence.ts';

/** The conf of one item; `index` is its position in the section (`ruleIndex` in answers). */
export type Contribution = { readonly policy: Policy; readonly index: number; readonly conf: JsonObject };

type Key = {
  /** With section. */
  readonly kri: string;
  readonly resource: Resource;
  readonly section: string;
};
export type ResourceRule = Key & {
  /** One conf, or for MeshHTTPRoute one for each group of hostnames. Read-only: it shares parts with the policies. */
  readonly conf: readonly JsonObject[];
  /** Weakest first. */
  readonly contributions: readonly Contribution[];
};
/** A key with its items, in order. The Mesh's own key has none, because its items are part of every key. */
export type ResourceKeyItems = Key & { readonly items: readonly ToItem[] };

/** The keys of a resource: the whole resource if an item refers to it, and every port that an item refers to (policies 3.2.4). */
export function keysOf(kri: string, { resource, items }: Group): ResourceKeyItems[] {
  const sections = new Set(items.map(({ targetRef }) => sectionOf(targetRef)));
  return [...sections].map((section) => ({
    kri: kri + section,
    resource,
    section,
    items: items.filter(({ targetRef }) => sectionOf(targetRef) === '' || sectionOf(targetRef) === section),
  }));
}

/** Builds the rules of one policy type from the items of the Mesh and the items of each key. */
export class ResourceRuleBuilder {
  readonly #type: string;
  readonly #order: Order<ToItem>;
  readonly #mesh: readonly ToItem[];
  /** #prefixes[n] = the first n Mesh items merged. */
  readonly #prefixes: JsonObject[] = [{}];
  readonly #routeDefaults = new Map<string, readonly Contribution[]>();

  /** @param mesh items on kind Mesh, in `order` */
  constructor(type: string, order: Order<ToItem>, mesh: GroupedItems['mesh']) {
    this.#type = type;
    this.#order = order;
    this.#mesh = mesh;
  }

  /** The rule of a key. Its conf is merged at the first read, because a proxy reads few of its keys. */
  build(key: ResourceKeyItems): ResourceRule {
    return new LazyRule(key, this);
  }

  /**
   * The contributions to a key, weakest first: on services by precedence only, on routes the items of the route over those of the
   * Mesh (D12).
   */
  contributions({ resource, items }: ResourceKeyItems): readonly Contribution[] {
    if (!isRouteKind(resource.type)) return consumersLast(mergeOrdered(this.#mesh, items, this.#order));
    return [...this.#defaultsOf(resource.type), ...this.#routePart(resource.type, items)];
  }

  merge(contributions: readonly Contribution[]): readonly JsonObject[] {
    if (this.#type === 'MeshHTTPRoute') return mergeRouteRules(contributions.map(({ conf }) => conf));
    let shared = 0;
    while (shared < this.#mesh.length && contributions[shared] === this.#mesh[shared]) shared += 1;
    let conf = this.#prefix(shared);
    for (let at = shared; at < contributions.length; at += 1) conf = mergeConf(conf, contributions[at]?.conf ?? {});
    return [conf];
  }

  /** From the items of the Mesh, take only fields that a route can have. An item without such fields is not an origin. */
  #defaultsOf(kind: string): readonly Contribution[] {
    let defaults = this.#routeDefaults.get(kind);
    if (defaults === undefined) {
      defaults = this.#routePart(kind, this.#mesh).filter(({ conf }) => Object.keys(conf).length > 0);
      this.#routeDefaults.set(kind, defaults);
    }
    return defaults;
  }

  #routePart(kind: string, items: readonly ToItem[]): Contribution[] {
    return consumersLast(items).map(({ policy, index, conf }) => ({ policy, index, conf: routeFields(this.#type, kind, conf) }));
  }

  #prefix(length: number): JsonObject {
    let last: JsonObject = this.#prefixes.at(-1) ?? {};
    for (let known = this.#prefixes.length; known <= length; known += 1) {
      last = mergeConf(last, this.#mesh[known - 1]?.conf ?? {});
      this.#prefixes.push(last);
    }
    return this.#prefixes[length] ?? last;
  }
}

class LazyRule implements ResourceRule {
  readonly #key: ResourceKeyItems;
  readonly #builder: ResourceRuleBuilder;
  #contributions: readonly Contribution[] | null = null;
  #conf: readonly JsonObject[] | null = null;

  constructor(key: ResourceKeyItems, builder: ResourceRuleBuilder) {
    this.#key = key;
    this.#builder = builder;
  }

  get kri(): string {
    return this.#key.kri;
  }

  get resource(): Resource {
    return this.#key.resource;
  }

  get section(): string {
    return this.#key.section;
  }

  get contributions(): readonly Contribution[] {
    return (this.#contributions ??= this.#builder.contributions(this.#key));
  }

  get conf(): readonly JsonObject[] {
    return (this.#conf ??= this.#builder.merge(this.contributions));
  }
}

/** Keys are KRIs with section. A Map is one. */
export type ResourceRules = {
  readonly size: number;
  has(kri: string): boolean;
  get(kri: string): ResourceRule | undefined;
  values(): Iterable<ResourceRule>;
};

/** Rules that are built when they are first read, from the items of each key. */
export class RulesOnDemand implements ResourceRules {
  readonly #builder: ResourceRuleBuilder;
  readonly #keys: ReadonlyMap<string, ResourceKeyItems>;
  readonly #built = new Map<string, ResourceRule>();

  constructor(builder: ResourceRuleBuilder, keys: ReadonlyMap<string, ResourceKeyItems>) {
    this.#builder = builder;
    this.#keys = keys;
  }

  get size(): number {
    return this.#keys.size;
  }

  has(kri: string): boolean {
    return this.#keys.has(kri);
  }

  get(kri: string): ResourceRule | undefined {
    const built = this.#built.get(kri);
    if (built !== undefined) return built;
    const key = this.#keys.get(kri);
    if (key === undefined) return undefined;
    const rule = this.#builder.build(key);
    this.#built.set(kri, rule);
    return rule;
  }

  *values(): Generator<ResourceRule> {
    for (const kri of this.#keys.keys()) {
      const rule = this.get(kri);
      if (rule !== undefined) yield rule;
    }
  }
}

/** A proxy's own rules replace the shared rules of the same key. */
export class LayeredRules implements ResourceRules {
  readonly #own: ReadonlyMap<string, ResourceRule>;
  readonly #shared: ResourceRules;
  readonly size: number;

  constructor(own: ReadonlyMap<string, ResourceRule>, shared: ResourceRules) {
    this.#own = own;
    this.#shared = shared;
    this.size = shared.size + [...own.keys()].filter((kri) => !shared.has(kri)).length;
  }

  has(kri: string): boolean {
    return this.#own.has(kri) || this.#shared.has(kri);
  }

  get(kri: string): ResourceRule | undefined {
    return this.#own.get(kri) ?? this.#shared.get(kri);
  }

  *values(): Generator<ResourceRule> {
    yield* this.#own.values();
    for (const rule of this.#shared.values()) if (!this.#own.has(rule.kri)) yield rule;
  }
}
