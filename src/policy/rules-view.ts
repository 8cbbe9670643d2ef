// The answer of `_rules`: all conf of a proxy, by type and resource (policies 8, D12, D37).
import { displayNameOf } from '../resource/labels.ts';
import { mapInSteps, type Steps } from '../base/steps.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ProxyRules, TypeRules } from './build-rules.ts';
import { compareText } from '../base/compare-text.ts';
import type { Section } from './dataplane-proxy.ts';
import type { SectionRules } from './inbound-rules.ts';
import { metaOf, originsOf } from './inspect-view.ts';
import { canonicalMatches, matchesHash } from './route-rules.ts';
import type { OldRouteRule } from './old-route-rules.ts';
import { objectsOf } from '../resource/read-json.ts';
import type { ResourceRule } from './resource-rules.ts';

/**
 * `{resource, httpMatches, rules[]}`. Types in the order of application; new resource rules (`toResourceRules`) before the old ones
 * (`toRules`, absent if empty); resources by name, inbounds by port.
 */
export function* rulesView({ proxy, types }: ProxyRules): Steps<JsonObject> {
  return {
    resource: metaOf(proxy.resource),
    httpMatches: yield* httpMatches(types),
    rules: yield* mapInSteps(types, typeView),
  };
}

function typeView({ type, proxyRule, toRules, oldRules, inboundRules, warnings }: TypeRules): JsonObject {
  return {
    type,
    warnings: [...warnings],
    ...(proxyRule !== null && {
      proxyRule: { conf: proxyRule.conf, origin: proxyRule.contributions.map(({ policy }) => metaOf(policy.resource)) },
    }),
    toResourceRules: [...toRules.values()].sort(byName).map((rule) => resourceRuleView(rule)),
    ...(oldRules.length > 0 && { toRules: oldRules.map((rule) => oldRuleView(rule)) }),
    inboundRules: inboundRules
      .toSorted((a, b) => a.section.port - b.section.port)
      .map((section) => ({
        inbound: inboundView(section.section),
        rules: section.rules.map(({ match, conf, policy, index }) => ({
          ...(match !== null && { match }),
          conf: [conf],
          origin: [{ resourceMeta: metaOf(policy.resource), ruleIndex: index }],
        })),
      })),
    ...fromView(inboundRules),
  };
}

function resourceRuleView({ resource, section, conf, contributions }: ResourceRule): JsonObject {
  return {
    resourceMeta: metaOf(resource),
    resourceSectionName: section,
    conf: [...conf],
    origin: originsOf(contributions),
  };
}

function oldRuleView({ resource, destination, conf, contributions }: OldRouteRule): JsonObject {
  return {
    resourceMeta: metaOf(resource),
    ...(destination !== null && { destination }),
    conf: [conf],
    origin: originsOf(contributions),
  };
}

/** The rules of the old form, which select clients. Absent if there are none. */
function fromView(inboundRules: readonly SectionRules[]): JsonObject {
  const sections = inboundRules.filter(({ fromRules }) => fromRules.length > 0);
  if (sections.length === 0) return {};
  return {
    fromRules: sections.map(({ section, fromRules }) => ({
      inbound: inboundView(section),
      rules: fromRules.map(({ from, conf, policy, index }) => ({
        from: { kind: from.kind, ...(from.name !== '' && { name: from.name }), tags: { ...from.tags } },
        conf: [conf],
        origin: [{ resourceMeta: metaOf(policy.resource), ruleIndex: index }],
      })),
    })),
  };
}

function inboundView({ name, port, tags }: Section): JsonObject {
  return { ...(name !== '' && { name }), port, tags: Object.keys(tags).length > 0 ? { ...tags } : null };
}

/** The matches of all HTTP rules under their hash. */
function* httpMatches(types: readonly TypeRules[]): Steps<JsonObject[]> {
  const routes = types.find(({ type }) => type === 'MeshHTTPRoute');
  const byHash = new Map<string, JsonObject[]>();
  for (const { conf } of routes?.toRules.values() ?? []) {
    yield;
    for (const { rules } of conf)
      for (const { matches } of objectsOf(rules)) {
        byHash.set(matchesHash(matches), [...canonicalMatches(matches)]);
        yield;
      }
  }
  return [...byHash].sort(([a], [b]) => compareText(a, b)).map(([hash, match]) => ({ hash, match }));
}

function byName(a: ResourceRule, b: ResourceRule): number {
  return compareText(displayNameOf(a.resource), displayNameOf(b.resource)) || compareText(a.kri, b.kri);
}
