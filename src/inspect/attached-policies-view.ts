// The answer of the deprecated `D/policies`, which Kuma's GUI still requests: the policies of each part of a proxy (rest-api 4).
// Invariant: they are the policies that `_policies`, `_inbounds/…/_policies` and `_outbounds/…/_policies` have as origins.
import type { Steps } from '../base/steps.ts';
import type { ProxyRules } from '../policy/build-rules.ts';
import { effectiveOutbound } from '../policy/effective-conf.ts';
import { metaOf } from '../policy/inspect-view.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { Contribution } from '../policy/resource-rules.ts';
import { displayNameOf } from '../resource/labels.ts';
import type { JsonObject } from '../resource/types.ts';

type Matched = { readonly type: string; readonly contributions: readonly Pick<Contribution, 'policy'>[] };

/** `{kind, total, items[]{type, name?, service?, matchedPolicies{<Type>[META]}}}`; items without a policy are omitted. */
export function* attachedPoliciesView(index: MeshIndex, rules: ProxyRules, outbounds: readonly Outbound[]): Steps<JsonObject> {
  const { proxy, types } = rules;
  const item = (head: JsonObject, matched: readonly Matched[]): JsonObject[] => {
    const found = matched.filter(({ contributions }) => contributions.length > 0);
    const policies = found.map(({ type, contributions }) => {
      const each = [...new Set(contributions.map(({ policy }) => policy))];
      return [type, each.map(({ resource }) => metaOf(resource))] as const;
    });
    return policies.length === 0 ? [] : [{ ...head, matchedPolicies: Object.fromEntries(policies) }];
  };
  const items = [
    ...item(
      { type: 'dataplane' },
      types.map(({ type, proxyRule }) => ({ type, contributions: proxyRule?.contributions ?? [] })),
    ),
    ...proxy.sections.flatMap((section) =>
      item(
        { type: 'inbound', name: section.section },
        types.map(({ type, inboundRules }) => ({
          type,
          contributions: inboundRules.find((candidate) => candidate.section === section)?.rules ?? [],
        })),
      ),
    ),
  ];
  for (const outbound of outbounds) {
    const head = { type: 'outbound', name: outbound.kri, service: displayNameOf(outbound.resource) };
    items.push(...item(head, effectiveOutbound(index, rules, outbound).policies));
    yield;
  }
  return { kind: 'SidecarDataplane', total: items.length, items };
}
