// The whole configuration of one proxy, as proto3 JSON of Envoy's API. Pure: it is computed from the index of the mesh and one Dataplane. It
// has the conf in force that `inspect dataplane` shows: both read `src/policy`.
import { runSteps, type Steps } from '../base/steps.ts';
import { buildRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { BackendResolver } from './backends.ts';
import { Client } from './client.ts';
import type { ConfigProblem } from './config-problem.ts';
import { addInbounds, hasStrictInbound } from './inbounds.ts';
import { listedOutbounds } from './listed-outbounds.ts';
import { placeName } from './listener-place.ts';
import { addDestination, addOutbound, reportOwnPlaces } from './outbounds.ts';
import { namesOf, NO_NAMES } from './name-table.ts';
import { ownPlaces } from './own-places.ts';
import { addPassthrough } from './passthrough.ts';
import { emptyConfig, type ProxyConfig, type ProxyContext } from './proxy-context.ts';
import type { ProxyFeatures } from './proxy-features.ts';
import { proxyTls, TRUST_BUNDLE, trustBundleSecret } from './proxy-tls.ts';
import { addPatched } from './proxy-patch.ts';
import { addTelemetry } from './telemetry.ts';
import { reportTo } from './usable-policies.ts';
import { reportWithoutEffect } from './without-effect.ts';
import { addZoneListeners, reportTaken } from './zone-listeners.ts';
import { addEgressPort } from './zone-egress.ts';
import { addIngressPort } from './zone-ingress.ts';
import { zonePorts, type ZonePort } from './zone-ports.ts';

/**
 * The whole configuration of a proxy that connects now. What is connected is kept current part by part.
 * @param proxy of this index
 */
export function proxyConfig(index: MeshIndex, proxy: DataplaneProxy, features: ProxyFeatures): ProxyConfig {
  return runSteps(configSteps(contextOf(index, proxy, features)));
}

/** What the configuration of a proxy is made of. @param proxy of this index */
export function contextOf(index: MeshIndex, proxy: DataplaneProxy, features: ProxyFeatures): ProxyContext {
  const resolver = new BackendResolver(index, proxy.zone);
  const names = features.companionDns ? namesOf(index, proxy) : NO_NAMES;
  const own = { rules: buildRules(index, proxy), client: new Client(proxy), tls: proxyTls(index, proxy), names };
  return { index, resolver, features, ...own };
}

/** `proxyConfig` in steps. Routes with many rules are made in steps before (route-steps.ts). */
export function* configSteps(context: ProxyContext): Steps<ProxyConfig> {
  const { index, resolver } = context;
  const { proxy } = context.rules;
  const { byKri, problems } = listedOutbounds(index, proxy, resolver);
  const config = ownConfig(context, problems);
  yield;
  const own = ownPlaces(proxy);
  for (const placed of byKri.values()) {
    const places = placed.places.filter(({ address, port }) => !own.has(placeName(address, port)));
    if (places.length === 0) continue;
    for (const destination of addOutbound(config, context, { ...placed, places }))
      if (!config.clusters.has(destination.kri)) addDestination(config, context, destination);
    yield;
  }
  for (const port of zonePorts(index, proxy)) {
    addZonePort(config, context, port);
    yield;
  }
  return config;
}

/** The resources of a proxy besides its outbounds and the ports that it opens to others. */
export function ownConfig(context: ProxyContext, problems: readonly ConfigProblem[] = []): ProxyConfig {
  const config = emptyConfig([...problems]);
  reportWithoutEffect(context, reportTo(config.problems));
  reportOwnPlaces(context.rules.proxy, reportTo(config.problems));
  const trust = context.tls === null ? null : trustBundleSecret(context.index);
  if (trust !== null) config.secrets.set(TRUST_BUNDLE, trust);
  addPatched(config, context.rules, true, (part) => {
    addInbounds(part, context);
    addZoneListeners(part, context);
    addPassthrough(part, context, hasStrictInbound(context));
    addTelemetry(part, context);
  });
  return config;
}

/** Adds the resources of a zone proxy for one port that it opens. */
export function addZonePort(config: ProxyConfig, context: ProxyContext, port: ZonePort): void {
  reportTaken(context, port, reportTo(config.problems));
  if (port.snis.length === 0) return;
  if (port.kind === 'ZoneIngress') addIngressPort(config, context, port);
  else addEgressPort(config, context, port);
}
