// `networking.transparentProxying` of a Dataplane: the ports to which the machine of the proxy redirects connections (xds 3.5).
import { isObject, numberOf, objectOf, textOf } from '../resource/read-json.ts';
import type { Json, Resource } from '../resource/types.ts';

export type TransparentProxying = {
  /** Connections to this machine come there; null: they are not redirected. */
  readonly inboundPort: number | null;
  /** Connections of the application come there; null: they are not redirected. */
  readonly outboundPort: number | null;
  /** Versions of IP; null: those of the machine. */
  readonly families: readonly (4 | 6)[] | null;
};

const FAMILIES: Readonly<Record<string, readonly (4 | 6)[]>> = { IPv4: [4], DualStack: [4, 6], IPv6: [4, 6] };

/** Null where no connection is redirected. A port that is none counts as not given. */
export function transparentProxying({ spec }: Pick<Resource, 'spec'>): TransparentProxying | null {
  const given = objectOf(spec['networking'])['transparentProxying'];
  if (!isObject(given)) return null;
  const [inboundPort, outboundPort] = [portOf(given['redirectPortInbound']), portOf(given['redirectPortOutbound'])];
  if (inboundPort === null && outboundPort === null) return null;
  return { inboundPort, outboundPort, families: FAMILIES[textOf(given['ipFamilyMode'])] ?? null };
}

/** Whether the connections of the application are redirected: it calls services at their virtual addresses. */
export function redirectsOutbounds(dataplane: Pick<Resource, 'spec'>): boolean {
  return (transparentProxying(dataplane)?.outboundPort ?? null) !== null;
}

function portOf(given: Json | undefined): number | null {
  const port = numberOf(given);
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null;
}
