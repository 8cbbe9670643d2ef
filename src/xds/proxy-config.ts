// The whole configuration of one proxy, as proto3 JSON of Envoy's API. Pure: it is computed from the index of the mesh and one Dataplane. It
// has the conf in force that `inspect dataplane` shows: both read `src/policy`.
import { runSteps, type Steps } from '../base/steps.ts';
import { buildRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';
import { Client } from './client.ts';
import type { ConfigProblem } from './config-problem.ts';
import { addInbounds, hasStrictInbound } from './inbounds.ts';
import type { KeyPair } from './key-pair.ts';
import { placeName } from './listener-place.ts';
import { addDestination, addOutbound, declaredOutbounds, reportOwnPlaces, type OutboundContext } from './outbounds.ts';
import { ownPlaces } from './own-places.ts';
import { addPassthrough } from './passthrough.ts';
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

/** Resources by name. */
export type ProxyConfig = {
  /** envoy.config.cluster.v3.Cluster */
  readonly clusters: Map<string, JsonObject>;
  /** envoy.config.endpoint.v3.ClusterLoadAssignment, of each cluster that has its endpoints by EDS */
  readonly assignments: Map<string, JsonObject>;
  /** envoy.config.listener.v3.Listener */
  readonly listeners: Map<string, JsonObject>;
  /** envoy.config.route.v3.RouteConfiguration, of each HTTP listener */
  readonly routes: Map<string, JsonObject>;
  /** envoy.config.core.v3.TypedExtensionConfig, of each filter that a listener discovers */
  readonly filters: Map<string, JsonObject>;
  /** envoy.extensions.transport_sockets.tls.v3.Secret, without a private key */
  readonly secrets: Map<string, JsonObject>;
  /** Secrets with a private key, by name. Nothing but the encoder of resources reads the keys. */
  readonly keys: Map<string, KeyPair>;
  readonly problems: ConfigProblem[];
};

export function emptyConfig(problems: ConfigProblem[] = []): ProxyConfig {
  return {
    ...{ clusters: new Map(), assignments: new Map(), listeners: new Map(), routes: new Map() },
    ...{ filters: new Map(), secrets: new Map(), keys: new Map(), problems },
  };
}

/**
 * The whole configuration of a proxy that connects now. What is connected is kept current part by part.
 * @param proxy of this index
 */
export function proxyConfig(index: MeshIndex, proxy: DataplaneProxy, features: ProxyFeatures): ProxyConfig {
  return runSteps(configSteps(contextOf(index, proxy, features)));
}

/** What the configuration of a proxy is made of. @param proxy of this index */
export function contextOf(index: MeshIndex, proxy: DataplaneProxy, features: ProxyFeatures): OutboundContext {
  const resolver = new BackendResolver(index, proxy.zone);
  return { index, rules: buildRules(index, proxy), resolver, client: new Client(proxy), features, tls: proxyTls(index, proxy) };
}

/** `proxyConfig` in steps. Routes with many rules are made in steps before (route-steps.ts). */
export function* configSteps(context: OutboundContext): Steps<ProxyConfig> {
  const { index, resolver } = context;
  const { proxy } = context.rules;
  const { outbounds, problems } = declaredOutbounds(proxy, resolver);
  const config = ownConfig(context, problems);
  yield;
  const own = ownPlaces(proxy);
  for (const declared of outbounds.filter(({ address, port }) => !own.has(placeName(address, port)))) {
    for (const destination of addOutbound(config, context, declared))
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
export function ownConfig(context: OutboundContext, problems: readonly ConfigProblem[] = []): ProxyConfig {
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
export function addZonePort(config: ProxyConfig, context: OutboundContext, port: ZonePort): void {
  reportTaken(context, port, reportTo(config.problems));
  if (port.snis.length === 0) return;
  if (port.kind === 'ZoneIngress') addIngressPort(config, context, port);
  else addEgressPort(config, context, port);
}
