// Where a rule of a route leads to.
import type { Outbound } from '../policy/outbounds.ts';
import type { BackendRef } from '../policies/routes.ts';

export type Backend = {
  readonly outbound: Outbound;
  readonly weight: number;
  /** Of this backend alone: modifiers of headers (policies 2.5). */
  readonly filters: NonNullable<BackendRef['filters']>;
};

/** A service that gets copies of requests. */
export type Mirror = {
  readonly outbound: Outbound;
  /** Percent of the requests; undefined: all. */
  readonly share: number | string | undefined;
};

export type Backends = {
  /** The backends with a weight, in the order of the rule. */
  readonly backends: readonly Backend[];
  /** Percent of the weight with a reference to no port of any service; 100 if no backend has a weight. */
  readonly missingPercent: number;
};
