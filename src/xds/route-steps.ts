// Makes the routes of an outbound with many rules in steps. They are remembered by their rules, so the outbound itself is then made in no time.
import { chunksOf } from '../base/list-chunks.ts';
import { MIN_ITEMS } from '../base/long-lists.ts';
import { perObject } from '../base/per-object.ts';
import type { Steps } from '../base/steps.ts';
import { effectiveOutbound, type EffectivePolicy, type EffectiveRoute } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { type ProxyConfig, type ProxyContext, emptyConfig } from './proxy-context.ts';
import { protocolOf } from '../envoy/protocol.ts';
import { outboundRoutes, routeConfiguration } from './route-config.ts';
import { routeSettings } from './rule-routes.ts';
import { usablePolicies } from './usable-policies.ts';
import { usableOutbound } from './usable-routes.ts';

/** @param encode encodes the resources of a configuration */
export function* routeSteps(
  { index, rules, resolver }: ProxyContext,
  declared: Outbound,
  encode: (config: ProxyConfig) => unknown,
): Steps<void> {
  const outbound = effectiveOutbound(index, rules, declared);
  const settingsOf = perObject((policies: readonly EffectivePolicy[]) =>
    routeSettings(usablePolicies(policies, ignore), protocolOf(outbound.protocol)),
  );
  const isMade = (rule: EffectiveRoute): boolean =>
    resolver.sourceOf(rule, outbound).of(rule).routes?.settings === settingsOf(rule.policies);
  const others = outbound.routes.filter((rule) => !isMade(rule));
  if (others.length < MIN_ITEMS) return;
  for (const routes of chunksOf(others)) {
    const made = outboundRoutes(usableOutbound({ ...outbound, routes }, resolver, ignore), resolver);
    encode({ ...emptyConfig(), routes: new Map([[outbound.kri, routeConfiguration(outbound.kri, made)]]) });
    yield;
  }
}

function ignore(): void {}
