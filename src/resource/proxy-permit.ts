// The Dataplanes and identities that the token of a proxy permits while its stream is open. Pure.
import type { Resource } from './types.ts';

/** The parts of a Dataplane that a token may name. `status` is that of the stored row: it says what the proxy chose. */
export type ProxyDataplane = Pick<Resource, 'mesh' | 'name' | 'labels' | 'spec'> & Partial<Pick<Resource, 'status'>>;

/** The refusals of a token, as sentences for people; null where it permits the request. */
export type ProxyPermit = {
  readonly refusesDataplane: (dataplane: ProxyDataplane) => string | null;
  /** @param keys the labels that decide the SPIFFE ID */
  readonly refusesIdentity: (dataplane: ProxyDataplane, keys: readonly string[]) => string | null;
};

/** The permit of a port that asks for no tokens. */
export const PERMITS_ALL: ProxyPermit = { refusesDataplane: () => null, refusesIdentity: () => null };
