// Makes the routes of an outbound with many rules in steps. They are remembered by their rules, so the outbound itself is then made in no time.
import { chunksOf } from '../base/list-chunks.ts';
import { MIN_ITEMS } from '../base/long-lists.ts';
import type { Steps } from '../base/steps.ts';
import { effectiveOutbound } from '../policy/effective-conf.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { OutboundContext } from './outbounds.ts';
import { emptyConfig, type ProxyConfig } from './proxy-config.ts';
import { outboundRoutes, routeConfiguration } from './route-config.ts';
import { usableOutbound } from './usable-policies.ts';

/** @param encode encodes the resources of a configuration */
export function* routeSteps(
  { index, rules, resolver }: OutboundContext,
  declared: Outbound,
  encode: (config: ProxyConfig) => unknown,
): Steps<void> {
  const outbound = effectiveOutbound(index, rules, declared);
  if (outbound.routes.length < MIN_ITEMS) return;
  for (const routes of chunksOf(outbound.routes)) {
    const usable = usableOutbound({ ...outbound, routes }, resolver, () => undefined);
    const configuration = routeConfiguration(outbound.kri, outboundRoutes(usable, resolver));
    encode({ ...emptyConfig(), routes: new Map([[outbound.kri, configuration]]) });
    yield;
  }
}
