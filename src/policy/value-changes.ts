// What changes for a proxy between two states of its mesh: each value in force that differs, with its origin before and after. Pure.
// Invariant: the values are those of `_effective`; nothing is decided here.
import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { confSources, type ConfValue } from './conf-sources.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { effectiveConf } from './effective-conf.ts';
import { inboundValues } from './inbound-values.ts';
import type { MeshIndex } from './mesh-index.ts';
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

/**
 * The values that differ for a proxy, by its stored name. A proxy that one of the states lacks has none there.
 * @returns in the order of the state after; values that are gone come last
 */
export function valueChanges(before: MeshIndex, after: MeshIndex, name: string): ValueChange[] {
  const [had, has] = [before, after].map((index) => {
    const proxy = index.proxy(name);
    return proxy === undefined ? new Map<string, Placed[]>() : valuesOf(index, proxy);
  }) as [Map<string, Placed[]>, Map<string, Placed[]>];
  const changes: ValueChange[] = [];
  const gone: ValueChange[] = [];
  for (const [key, values] of has) {
    const olds = had.get(key) ?? [];
    const pairs = pairsOf(olds, values);
    for (const value of values) {
      const old = pairs.get(value) ?? null;
      if (!isDeepStrictEqual(old?.value, value.value)) changes.push(changeOf(value, old, value));
    }
    const kept = new Set(pairs.values());
    for (const old of olds) if (!kept.has(old)) gone.push(changeOf(old, old, null));
  }
  for (const [key, olds] of had) if (!has.has(key)) for (const old of olds) gone.push(changeOf(old, old, null));
  return [...changes, ...gone];
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

/** All values in force on a proxy, by place, kind and path. Separate rules have several values of one path, others have one. */
function valuesOf(index: MeshIndex, proxy: DataplaneProxy): Map<string, Placed[]> {
  const found = new Map<string, Placed[]>();
  const add: Add = (place, kind, values) => {
    const at = JSON.stringify([place.kri, place.route, place.matches && sortedText(place.matches), kind]);
    for (const { path, value, from } of values) {
      const key = `${at} ${path}`;
      const placed = { place, kind, path, value, from };
      const others = found.get(key);
      if (others === undefined) found.set(key, [placed]);
      else others.push(placed);
    }
  };
  const rules = buildRules(index, proxy);
  for (const { type, proxyRule } of rules.types)
    if (proxyRule !== null) add({ on: 'proxy', kri: proxy.kri }, type, confSources(proxyRule.contributions));
  const { inbounds, outbounds } = effectiveConf(index, rules);
  // Inbounds that share a name have the same rules.
  const unique = new Map(inbounds.map((inbound) => [`${inbound.type} ${inbound.section.section}`, inbound]));
  for (const { type, section, rules: ofSection } of unique.values()) {
    const kri = proxy.kri + section.section;
    for (const { match, values } of inboundValues(type, ofSection))
      add({ on: 'inbound', kri, ...withMatches(match) }, type, values);
  }
  for (const { kri, policies, routes } of outbounds) {
    for (const { type, values } of policies) add({ on: 'outbound', kri }, type, values);
    for (const { kind, route, index: at, matches, conf, policies: onRoute } of routes) {
      const place: ValuePlace = { on: 'route', kri, route: route.kri, ...withMatches(matches) };
      add(place, kind, confSources([{ policy: route, index: at, conf }]));
      for (const { type, values } of onRoute) add(place, type, values);
    }
  }
  return found;
}

type Add = (place: ValuePlace, kind: string, values: readonly ConfValue[]) => void;

function withMatches(matches: JsonObject | readonly JsonObject[] | null): { readonly matches?: Json } {
  return matches === null ? {} : { matches: matches as Json };
}
