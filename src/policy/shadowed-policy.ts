// Whether stronger policies override everything that a policy says, and which (policies 1.8). Pure. Invariant: it looks at the values in force
// that `_effective` shows; nothing is decided here.
import type { Steps } from '../base/steps.ts';
import { compareText } from '../base/compare-text.ts';
import { buildRules, type ProxyRules } from './build-rules.ts';
import { confSources } from './conf-sources.ts';
import { effectiveOutbound } from './effective-conf.ts';
import { inboundValues } from './inbound-values.ts';
import type { MeshIndex } from './mesh-index.ts';
import { outboundsOf } from './proxy-outbounds.ts';
import { isRouteKind, type Policy } from './parse-policy.ts';
import { policyReach, type TouchedProxy } from './policy-reach.ts';
import { whyStronger } from './precedence.ts';
import type { Contribution } from './resource-rules.ts';

/** Proxies and outbounds that are looked at: a policy with an effect has one on the first of them. */
const MAX_PROXIES = 50;
const MAX_OUTBOUNDS = 2_000;
/** Policies that a sentence names. */
const MAX_NAMED = 3;

/** Where the values of one place come from. `isOwn`: the policy has an effect there. */
type Seen = { readonly isOwn: boolean; readonly from: readonly Contribution[] };

/**
 * A sentence for a policy that changes nothing on the proxies that it matches, because stronger ones have every value; null for others. Each
 * step is one proxy or one outbound, so that other work may run between them.
 */
export function* whyShadowed(index: MeshIndex, policy: Policy): Steps<string | null> {
  const { touched } = yield* policyReach(index, policy);
  const winners = new Map<Policy, string>();
  let outbounds = 0;
  for (const { proxy } of touched.slice(0, MAX_PROXIES)) {
    yield;
    for (const { isOwn, from } of placesOf(index, policy, buildRules(index, proxy))) {
      yield;
      if (isOwn) return null;
      outbounds += 1;
      for (const { policy: other } of from) if (other !== policy) winners.set(other, proxy.zone);
    }
    if (outbounds > MAX_OUTBOUNDS) break;
  }
  if (winners.size === 0) return null;
  return sentenceOf(policy, winners, touched);
}

function sentenceOf(policy: Policy, winners: ReadonlyMap<Policy, string>, touched: readonly TouchedProxy[]): string {
  const sorted = [...winners].sort(([a], [b]) => compareText(a.displayName, b.displayName));
  const named = sorted
    .slice(0, MAX_NAMED)
    .map(([winner, zone]) => `${winner.type} ${winner.displayName} (${whyStronger(policy, winner, zone)})`);
  const more = sorted.length > MAX_NAMED ? ` and ${String(sorted.length - MAX_NAMED)} more` : '';
  const proxies = touched.length === 1 ? 'the proxy' : `the ${String(touched.length)} proxies`;
  return `changes nothing on ${proxies} that it selects: stronger policies have each of its values: ${named.join('; ')}${more}`;
}

function* placesOf(index: MeshIndex, policy: Policy, rules: ProxyRules): Generator<Seen> {
  const ofType = rules.types.find(({ type }) => type === policy.type);
  if (ofType === undefined) return;
  const { proxyRule, inboundRules } = ofType;
  if (proxyRule !== null && policy.conf !== null) yield seen(policy, confSources(proxyRule.contributions));
  if (policy.rules.length + policy.from.length > 0)
    for (const { rules: found, fromRules } of inboundRules) {
      if (fromRules.some((rule) => rule.policy === policy)) yield { isOwn: true, from: [] };
      yield seen(
        policy,
        inboundValues(policy.type, found).flatMap(({ values }) => values),
      );
    }
  if (policy.to.length === 0 && !isRouteKind(policy.targetRef.kind)) return;
  for (const outbound of outboundsOf(index, rules.proxy)) {
    const { policies, routes } = effectiveOutbound(index, rules, outbound);
    if (isRouteKind(policy.type)) {
      const from = routes.map(({ route, index: at, conf }) => ({ policy: route, index: at, conf }));
      // A route that nothing takes away may be idle for another reason, which `inspect dataplane` shows.
      if (from.length > 0) yield { isOwn: from.some((one) => one.policy === policy), from };
    } else {
      // The rules of a long route have the same policies.
      const ofRoutes = [...new Set(routes.map((route) => route.policies))].flat();
      yield seen(
        policy,
        [...policies, ...ofRoutes].flatMap(({ type, values, contributions }) =>
          type === policy.type && contributions.some((one) => one.policy === policy) ? values : [],
        ),
      );
    }
  }
}

function seen(policy: Policy, values: readonly { readonly from: readonly Contribution[] }[]): Seen {
  const from = values.flatMap((value) => value.from);
  return { isOwn: from.some((one) => one.policy === policy), from };
}
