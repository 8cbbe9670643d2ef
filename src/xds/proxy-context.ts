// What the configuration of a proxy is made from, and its resources as they are collected.
import type { ProxyRules } from '../policy/build-rules.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import type { BackendResolver } from './backends.ts';
import type { Client } from './client.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { KeyPair } from './key-pair.ts';
import type { NameTable } from './name-table.ts';
import type { ProxyFeatures } from './proxy-features.ts';
import type { ProxyTls } from './proxy-tls.ts';

/**
 * What the configuration of a proxy is made from. Proxies of one zone with the same policies share all but the client. Do not copy it with a
 * spread: that would run expensive getters.
 */
export type ProxyContext = {
  readonly index: MeshIndex;
  readonly rules: ProxyRules;
  readonly resolver: BackendResolver;
  readonly client: Client;
  readonly features: ProxyFeatures;
  /** Null: it has no certificate. */
  readonly tls: ProxyTls | null;
  /** The names in its document for kuma-dp. A connected proxy gets each when it has accepted the listeners behind it. */
  readonly names: NameTable;
};

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
