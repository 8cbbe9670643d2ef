// The resource rules of a proxy by key, in two layers: what only it has over what all have. Nothing is copied per proxy.
import type { ResourceKeyItems, ResourceRule, ResourceRuleBuilder } from './resource-rule.ts';

/** Keys are KRIs with section. A Map is one. */
export type ResourceRules = {
  readonly size: number;
  has(kri: string): boolean;
  get(kri: string): ResourceRule | undefined;
  values(): Iterable<ResourceRule>;
};

/** Rules that exist as soon as someone looks: items by key, and a builder that knows the Mesh's items. */
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

/** Own rules in place of the shared ones of the same key. */
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
