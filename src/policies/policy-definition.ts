// What a policy type is: its schema, and what it writes into which part of Envoy. A folder beside this file defines one type, and
// registry.ts has a row for it (docs/new-policy.md).
import type { Protocol } from '../envoy/protocol.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { SpecDefinition } from '../schema/spec-definition.ts';

/** The side of a proxy that a part belongs to: its own inbounds, what it calls, or a listener of a zone proxy. */
export type Direction = 'inbound' | 'outbound' | 'ingress' | 'egress';

/** Of a cluster: `inbound` leads to the application, `outbound` to a service of the mesh, `egress` to one outside of it. */
export type ClusterPlace = {
  readonly direction: Exclude<Direction, 'ingress'>;
  readonly protocol: Protocol;
  /** The proxy that connects. */
  readonly client: { readonly labels: Labels };
};

export type RoutePlace = { readonly direction: 'inbound' | 'outbound' | 'egress'; readonly protocol: Protocol };

/** A rule of an inbound whose conf and match are checked. */
export type RuleOf<C> = {
  /** Null: every request. */
  readonly match: InboundMatch | null;
  readonly conf: C;
  /** The policy that has the rule. */
  readonly policy: { readonly kri: string };
};

/**
 * A policy type. Each writer gets the conf in force, `{}` where none is: so the defaults of a field are in its writer alone.
 * @typeParam C the conf of the type
 */
export type PolicyDefinition<C> = SpecDefinition & {
  /** Fields of a `Cluster`. Several policies write into its `commonLbConfig`. */
  readonly cluster?: (conf: C, place: ClusterPlace) => JsonObject;
  /** Fields of the common `HttpProtocolOptions` of a cluster. */
  readonly clusterHttp?: (conf: C, place: ClusterPlace) => JsonObject;
  /** Fields of a `RouteAction`. */
  readonly routeAction?: (conf: C, place: RoutePlace) => JsonObject;
  /** Fields of a `Route` of an inbound, besides its action. */
  readonly inboundRoute?: (conf: C) => JsonObject;
  /** The HTTP filter that reads what `inboundRoute` writes. A listener has it where one of its routes has something for it. */
  readonly routeFilter?: JsonObject;
  /** Fields of an `HttpConnectionManager`. */
  readonly connectionManager?: (conf: C) => JsonObject;
  /** Fields of a `TcpProxy`. */
  readonly tcpProxy?: (conf: C, direction: Direction) => JsonObject;
  /** Network filters of an inbound, before the last one. */
  readonly networkFilters?: (conf: C) => JsonObject[];
  /** HTTP filters of an inbound. @param rules in the order in which they are asked */
  readonly httpFilters?: (rules: readonly RuleOf<C>[]) => JsonObject[];
  /** Paths of the conf that rules of an inbound may give to some clients alone: their routes differ. */
  readonly byClient?: ReadonlySet<string>;
};
