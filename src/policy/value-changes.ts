// What changes for a proxy between two states of its mesh: each value in force that differs, with its origin before and after. Pure.
// Invariant: the values are those of `_effective`; nothing is decided here.
import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { confSources, type ConfValue } from './conf-sources.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { effectiveConf } from './effective-conf.ts';
import type { MeshIndex } from './mesh-index.ts';
import type { Contribution } from './resource-rules.ts';

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
    return proxy === undefined ? new Map<string, Placed>() : valuesOf(index, proxy);
  }) as [Map<string, Placed>, Map<string, Placed>];
  const changes: ValueChange[] = [];
  for (const [key, value] of has) {
    const old = had.get(key);
    if (!isDeepStrictEqual(old?.value, value.value)) changes.push(changeOf(value, old ?? null, value));
  }
  for (const [key, old] of had) if (!has.has(key)) changes.push(changeOf(old, old, null));
  return changes;
}

function changeOf({ place, kind, path }: Placed, before: ValueInForce | null, after: ValueInForce | null): ValueChange {
  return { ...place, kind, path, before: before && valueOf(before), after: after && valueOf(after) };
}

function valueOf({ value, from }: ValueInForce): ValueInForce {
  return { value, from };
}

/** All values in force on a proxy, by place, kind and path. */
function valuesOf(index: MeshIndex, proxy: DataplaneProxy): Map<string, Placed> {
  const found = new Map<string, Placed>();
  const add = (place: ValuePlace, kind: string, values: readonly ConfValue[]): void => {
    for (const { path, value, from } of values)
      found.set(JSON.stringify([place.kri, place.route, place.matches, kind, path]), { place, kind, path, value, from });
  };
  const rules = buildRules(index, proxy);
  for (const { type, proxyRule } of rules.types)
    if (proxyRule !== null) add({ on: 'proxy', kri: proxy.kri }, type, confSources(proxyRule.contributions));
  const { inbounds, outbounds } = effectiveConf(index, rules);
  for (const { type, section, rules: ofSection } of inbounds)
    for (const { match, ...rule } of ofSection)
      add({ on: 'inbound', kri: proxy.kri + section.section, ...withMatches(match) }, type, confSources([rule]));
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

function withMatches(matches: JsonObject | readonly JsonObject[] | null): { readonly matches?: Json } {
  return matches === null ? {} : { matches: matches as Json };
}
