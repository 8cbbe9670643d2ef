// The answer of `_effective`: the effective conf of a proxy, value by value, and the policy that set each value. Invariant: it is the
// conf that `_outbounds/…/_policies` and `_routes/…/_policies` print, divided into values; nothing is decided here.
import type { Answer } from '../answers/answers.ts';
import { mapInSteps, type Steps } from '../base/steps.ts';
import type { ProxyRules } from '../policy/build-rules.ts';
import { effectiveOutbound, type EffectivePolicy } from '../policy/effective-conf.ts';
import { confSources, type ConfValue } from '../policy/conf-sources.ts';
import { catchAllConf } from '../policy/inbound-rules.ts';
import { inboundValues } from '../policy/inbound-values.ts';
import { metaOf } from '../policy/inspect-view.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { Contribution } from '../policy/resource-rules.ts';
import { unprobedWarning } from './unprobed-inbounds.ts';

type Effective = Answer<'Effective'>;

/** `{dataplane, kri, warnings[], policies[], inbounds[]}`: everything except the outbounds. */
export function effectiveHead({ proxy, types }: ProxyRules): Omit<Effective, 'outbounds' | 'total' | 'next'> {
  return {
    dataplane: metaOf(proxy.resource),
    kri: proxy.kri,
    warnings: [...types.flatMap(({ warnings }) => [...warnings]), ...[unprobedWarning(proxy.resource) ?? []].flat()],
    policies: types.flatMap(({ type, proxyRule }) =>
      proxyRule === null
        ? []
        : [
            {
              kind: type,
              conf: proxyRule.conf,
              origins: proxyRule.contributions.map((one) => originView(one)),
              values: confSources(proxyRule.contributions).map(valueView),
            },
          ],
    ),
    inbounds: proxy.sections.map((section) => ({
      kri: proxy.kri + section.section,
      type: section.kind,
      port: section.port,
      protocol: section.protocol,
      policies: types.flatMap(({ type, inboundRules }) => {
        const found = inboundRules.find((candidate) => candidate.section === section);
        if (found === undefined || found.rules.length === 0) return [];
        const rules = found.rules.map(({ match, conf, ...given }) => ({
          ...(match !== null && { match }),
          conf,
          origin: originView(given),
        }));
        const inForce = inboundValues(type, found.rules).map(({ match, values }) => ({
          ...(match !== null && { match }),
          values: values.map(valueView),
        }));
        return [{ kind: type, conf: catchAllConf(found.rules), rules, inForce }];
      }),
    })),
  };
}

/** `{kri, port, protocol, policies[], routes[]}`. A route has every policy in force on it; `level` is the kind of the key. */
export function* effectiveOutboundView(
  index: MeshIndex,
  rules: ProxyRules,
  outbound: Outbound,
): Steps<Effective['outbounds'][number]> {
  const { kri, port, protocol, policies, routes } = effectiveOutbound(index, rules, outbound);
  yield;
  const shown = yield* mapInSteps(routes, (route) => ({
    kind: route.kind,
    kri: route.route.kri,
    matches: route.matches === null ? null : [...route.matches],
    conf: route.conf,
    ...(route.note !== null && { note: route.note }),
    policies: route.policies.map(policyView),
  }));
  return { kri, port, protocol, policies: policies.map(policyView), routes: shown };
}

function policyView({
  type,
  source,
  kri,
  conf,
  values,
  hashPolicies,
  note,
}: EffectivePolicy): Effective['outbounds'][number]['policies'][number] {
  return {
    kind: type,
    level: source,
    kri,
    conf: [...conf],
    values: values.map(valueView),
    ...(type === 'MeshLoadBalancingStrategy' && { hashPolicies: hashPolicies === null ? null : [...hashPolicies] }),
    ...(note !== null && { note }),
  };
}

function valueView({ path, value, from }: ConfValue): Effective['policies'][number]['values'][number] {
  return { path, value, origins: from.map((one) => originView(one)) };
}

function originView({ policy, index }: Pick<Contribution, 'policy' | 'index'>): Effective['policies'][number]['origins'][number] {
  return { kri: policy.kri, name: policy.displayName, ruleIndex: index };
}
