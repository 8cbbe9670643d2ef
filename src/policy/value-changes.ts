// What changes for a proxy between two states of its mesh: each value in force that differs, with its origin before and after. Pure.
// Invariant: the values are those of `_effective`; nothing is decided here.
import { isDeepStrictEqual } from 'node:util';
import type { Steps } from '../base/steps.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { buildRules, type ProxyRules } from './build-rules.ts';
import { confSources, type ConfValue } from './conf-sources.ts';
import { effectiveOutbound, type EffectiveOutbound, type EffectiveRoute } from './effective-conf.ts';
import { inboundValues } from './inbound-values.ts';
import type { MeshIndex } from './mesh-index.ts';
import type { Outbound } from './outbounds.ts';
import { outboundsOf } from './proxy-outbounds.ts';
import type { Contribution } from './resource-rules.ts';
import { sortedText } from './sorted-text.ts';

/** Where a value counts. */
export type ValuePlace = {
  readonly on: 'proxy' | 'inbound' | 'outbound' | 'route';
  /** KRI of the proxy, its inbound, or the port of a service. */
  readonly kri: string;
  /** Of a route: its KRI. */
  readonly route?: string;
  /** The requests for which it counts; left out for all. */
  readonly matches?: Json;
};

export type ValueInForce = { readonly value: Json; readonly from: readonly Contribution[] };
/** @property before null: nothing set it. @property after null: nothing sets it any more */
export type ValueChange = ValuePlace & {
  readonly kind: string;
  readonly path: string;
  readonly before: ValueInForce | null;
  readonly after: ValueInForce | null;
};

type Placed = ValueInForce & { readonly place: ValuePlace; readonly kind: string; readonly path: string };
/** By place, kind and path. Separate rules have several values of one path, others have one. */
type Values = Map<string, Placed[]>;

/** @property total of all changes @property listed the first of them, in the order of the state after; values that are gone come last */
export type ValueChanges = { readonly total: number; readonly listed: readonly ValueChange[] };
type Difference = { readonly changes: ValueChanges; readonly gone: ValueChanges };

/** The rules of a proxy in one state, and the part of them that decides about its outbounds. */
type Side = {
  readonly index: MeshIndex;
  readonly rules: ProxyRules;
  readonly outbounds: ReadonlyMap<string, Outbound>;
  readonly key: string;
};

/** Compares proxies in two states of their mesh. What proxies have in common is compared once. */
export class ValueComparison {
  readonly #before: MeshIndex;
  readonly #after: MeshIndex;
  readonly #mostListed: number;
  /** By outbound and by the rules on both sides. */
  readonly #known = new Map<string, Difference>();

  constructor(before: MeshIndex, after: MeshIndex, mostListed: number) {
    this.#before = before;
    this.#after = after;
    this.#mostListed = mostListed;
  }

  /** The values that differ for a proxy, by its stored name. A proxy that one of the states lacks has none there. */
  *of(name: string): Steps<ValueChanges> {
    const had = sideOf(this.#before, name);
    yield;
    const has = sideOf(this.#after, name);
    yield;
    const found = [yield* differenceOf(had && ownValues(had), has && ownValues(has), this.#mostListed)];
    const kris = new Set([...(has?.outbounds.keys() ?? []), ...(had?.outbounds.keys() ?? [])]);
    for (const kri of kris) {
      found.push(yield* this.#ofOutbound(kri, had, has));
      yield;
    }
    const parts = [...found.map(({ changes }) => changes), ...found.map(({ gone }) => gone)];
    return {
      total: parts.reduce((sum, { total }) => sum + total, 0),
      listed: parts.flatMap(({ listed }) => listed).slice(0, this.#mostListed),
    };
  }

  *#ofOutbound(kri: string, had: Side | null, has: Side | null): Steps<Difference> {
    const sideKey = (side: Side | null): string => (side?.outbounds.has(kri) === true ? side.key : '');
    const key = `${kri} ${sideKey(had)} ${sideKey(has)}`;
    let difference = this.#known.get(key);
    if (difference === undefined) {
      const [before, after] = [outboundOf(had, kri), outboundOf(has, kri)];
      yield;
      difference =
        before !== null && after !== null && haveSameRules(before, after)
          ? yield* policyDifference(before, after, this.#mostListed)
          : yield* differenceOf(yield* outboundValues(before), yield* outboundValues(after), this.#mostListed);
      this.#known.set(key, difference);
    }
    return difference;
  }
}

/** Null where the state lacks the proxy. */
function sideOf(index: MeshIndex, name: string): Side | null {
  const proxy = index.proxy(name);
  if (proxy === undefined) return null;
  const rules = buildRules(index, proxy);
  const outbounds = new Map(outboundsOf(index, proxy).map((outbound) => [outbound.kri, outbound]));
  return { index, rules, outbounds, key: keyOfRules(rules) };
}

const serials = new WeakMap<object, number>();
let lastSerial = 0;

/** Equal for proxies of one state whose outbounds have the same values. Proxies with the same policies share their rules. */
function keyOfRules({ types, proxy }: ProxyRules): string {
  if (types.some(({ oldRules }) => oldRules.length > 0)) return proxy.kri;
  return types
    .map(({ type, toRules }) => {
      let serial = serials.get(toRules);
      if (serial === undefined) serials.set(toRules, (serial = lastSerial += 1));
      return `${type} ${String(serial)}`;
    })
    .join();
}

/** Keys of `has` in their order, then those of `had` alone. Null is a state without values. */
function* differenceOf(had: Values | null, has: Values | null, mostListed: number): Steps<Difference> {
  const changes = new Listed(mostListed);
  const gone = new Listed(mostListed);
  for (const [key, values] of has ?? []) {
    const olds = had?.get(key) ?? [];
    const pairs = pairsOf(olds, values);
    for (const value of values) {
      const old = pairs.get(value) ?? null;
      if (!isSame(old?.value, value.value)) changes.add(() => changeOf(value, old, value));
    }
    if (olds.length > pairs.size) {
      const kept = new Set(pairs.values());
      for (const old of olds) if (!kept.has(old)) gone.add(() => changeOf(old, old, null));
    }
    yield;
  }
  for (const [key, olds] of had ?? []) {
    if (has?.has(key) !== true) for (const old of olds) gone.add(() => changeOf(old, old, null));
    yield;
  }
  return { changes, gone };
}

function isSame(a: Json | undefined, b: Json): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

/** Counts all changes and keeps the first. */
class Listed implements ValueChanges {
  readonly listed: ValueChange[] = [];
  readonly #most: number;
  total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(make: () => ValueChange): void {
    this.total += 1;
    if (this.listed.length < this.#most) this.listed.push(make());
  }

  /** @param others of which as many are listed at most */
  addAll({ total, listed }: ValueChanges, make: (change: ValueChange) => ValueChange): void {
    this.total += total;
    for (const change of listed.slice(0, this.#most - this.listed.length)) this.listed.push(make(change));
  }
}

/**
 * What each value of a place was before: the same value, else one of the same rule, else of the same policy, else any. So a rule that
 * comes or goes changes nothing about its neighbours.
 */
function pairsOf(had: readonly Placed[], has: readonly Placed[]): Map<Placed, Placed> {
  const [old, value] = [had[0], has[0]];
  if (old !== undefined && value !== undefined && had.length + has.length === 2) return new Map([[value, old]]);
  const pairs = new Map<Placed, Placed>();
  let olds = had;
  let values = has;
  for (const keyOf of [exactKey, valueKey, ruleKey, policyKey, () => '']) {
    if (olds.length === 0 || values.length === 0) break;
    const open = Map.groupBy(olds, keyOf);
    values = values.filter((one) => {
      const found = open.get(keyOf(one))?.shift();
      if (found !== undefined) pairs.set(one, found);
      return found === undefined;
    });
    olds = [...open.values()].flat();
  }
  return pairs;
}

function exactKey(placed: Placed): string {
  return `${valueKey(placed)} ${ruleKey(placed)}`;
}

function valueKey({ value }: Placed): string {
  return sortedText(value);
}

function ruleKey({ from }: Placed): string {
  return from.map(({ policy, index }) => `${policy.kri} ${String(index)}`).join();
}

function policyKey({ from }: Placed): string {
  return from.map(({ policy }) => policy.kri).join();
}

function changeOf({ place, kind, path }: Placed, before: ValueInForce | null, after: ValueInForce | null): ValueChange {
  return { ...place, kind, path, before: before && valueOf(before), after: after && valueOf(after) };
}

function valueOf({ value, from }: ValueInForce): ValueInForce {
  return { value, from };
}

/** The values of the proxy as a whole and of its inbounds. */
function ownValues({ rules: { proxy, types } }: Side): Values {
  const found: Values = new Map();
  const add = adder(found);
  for (const { type, proxyRule } of types)
    if (proxyRule !== null) add({ on: 'proxy', kri: proxy.kri }, type, confSources(proxyRule.contributions));
  // Inbounds that share a name have the same rules.
  const unique = new Map(
    types.flatMap(({ type, inboundRules }) =>
      inboundRules.map((inbound) => [`${type} ${inbound.section.section}`, { ...inbound, type }] as const),
    ),
  );
  for (const { type, section, rules: ofSection } of unique.values()) {
    const kri = proxy.kri + section.section;
    for (const { match, values } of inboundValues(type, ofSection))
      add({ on: 'inbound', kri, ...withMatches(match) }, type, values);
  }
  return found;
}

/** Null where the state lacks it. */
function outboundOf(side: Side | null, kri: string): EffectiveOutbound | null {
  const outbound = side?.outbounds.get(kri);
  return side === null || outbound === undefined ? null : effectiveOutbound(side.index, side.rules, outbound);
}

/** The values of an outbound and of its routes; null where the state lacks it. */
function* outboundValues(outbound: EffectiveOutbound | null): Steps<Values | null> {
  if (outbound === null) return null;
  const { kri, policies, routes } = outbound;
  const found: Values = new Map();
  const add = adder(found);
  for (const { type, values } of policies) add({ on: 'outbound', kri }, type, values);
  for (const route of routes) {
    const place = placeOfRoute(kri, route);
    add(place, route.kind, confSources([{ policy: route.route, index: route.index, conf: route.conf }]));
    for (const { type, values } of route.policies) add(place, type, values);
    yield;
  }
  return found;
}

function placeOfRoute(kri: string, { route, matches }: EffectiveRoute): ValuePlace {
  return { on: 'route', kri, route: route.kri, ...withMatches(matches) };
}

/** Whether the rules of the routes are the same objects in both states, each in a place of its own: then policies alone can differ. */
function haveSameRules({ routes: had }: EffectiveOutbound, { routes: has }: EffectiveOutbound): boolean {
  const isSame = (old: EffectiveRoute | undefined, { kind, route, index, matches, conf }: EffectiveRoute): boolean =>
    old?.route === route && old.kind === kind && old.index === index && old.matches === matches && old.conf === conf;
  if (had.length !== has.length || !has.every((route, at) => isSame(had[at], route))) return false;
  return new Set(has.map(({ route, matches }) => `${route.kri} ${matchesText(matches as Json)}`)).size === has.length;
}

/** The difference of outbounds with the same rules. What rules with the same policies have in common is compared once. */
function* policyDifference(before: EffectiveOutbound, after: EffectiveOutbound, mostListed: number): Steps<Difference> {
  const { kri } = after;
  const bare = (of: EffectiveOutbound): EffectiveOutbound => ({ ...of, routes: [] });
  const own = yield* differenceOf(yield* outboundValues(bare(before)), yield* outboundValues(bare(after)), mostListed);
  const [changes, gone] = [new Listed(mostListed), new Listed(mostListed)];
  changes.addAll(own.changes, (change) => change);
  gone.addAll(own.gone, (change) => change);
  const known = new Map<unknown, Map<unknown, Difference>>();
  for (const [at, route] of after.routes.entries()) {
    const old = before.routes[at] ?? route;
    const ofOld = known.get(old.policies) ?? new Map<unknown, Difference>();
    known.set(old.policies, ofOld);
    let difference = ofOld.get(route.policies);
    if (difference === undefined) {
      const valuesOf = (policies: EffectiveRoute['policies']): Steps<Values | null> =>
        outboundValues({ ...after, policies, routes: [] });
      difference = yield* differenceOf(yield* valuesOf(old.policies), yield* valuesOf(route.policies), mostListed);
      ofOld.set(route.policies, difference);
    }
    const onRoute = ({ kind, path, before: had, after: has }: ValueChange): ValueChange => ({
      ...placeOfRoute(kri, route),
      ...{ kind, path, before: had, after: has },
    });
    changes.addAll(difference.changes, onRoute);
    gone.addAll(difference.gone, onRoute);
    yield;
  }
  return { changes, gone };
}

type Add = (place: ValuePlace, kind: string, values: readonly ConfValue[]) => void;

function adder(found: Values): Add {
  return (place, kind, values) => {
    const at = JSON.stringify([place.kri, place.route, place.matches && matchesText(place.matches), kind]);
    for (const { path, value, from } of values) {
      const key = `${at} ${path}`;
      const placed = { place, kind, path, value, from };
      const others = found.get(key);
      if (others === undefined) found.set(key, [placed]);
      else others.push(placed);
    }
  };
}

const texts = new WeakMap<object, string>();

/** Several types have values under the same matches. */
function matchesText(matches: Json): string {
  if (typeof matches !== 'object' || matches === null) return sortedText(matches);
  let text = texts.get(matches);
  if (text === undefined) texts.set(matches, (text = sortedText(matches)));
  return text;
}

function withMatches(matches: JsonObject | readonly JsonObject[] | null): { readonly matches?: Json } {
  return matches === null ? {} : { matches: matches as Json };
}
