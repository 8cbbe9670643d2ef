// The DNS server beside an Envoy: the names of its proxy, and all others by the resolvers of the machine.
import { MeridianError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { openDnsServer } from '../dns/dns-server.ts';
import { SystemResolvers } from '../dns/system-resolvers.ts';
import { numberOf, objectOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { FollowedNames } from './followed-names.ts';
import { whyNoPort } from './local-server.ts';

type Context = { readonly clock: Clock; readonly log: Logger };

export type MeshDns = {
  readonly port: number;
  /** Null when the names of the proxy are answered, or when that was waited for long enough: then the reason is elsewhere. */
  readonly whyNotReady: () => string | null;
  /** What it has done, for people. */
  readonly page: () => object;
  readonly close: () => Promise<void>;
};

/** The port to which a redirection sends queries by default. */
const DEFAULT_PORT = 15_053;
const RESOLV_CONF = '/etc/resolv.conf';
/** A control plane may send no names, and an Envoy may refuse a listener. */
const MAX_WAIT_MS = 15_000;

/**
 * The port of the DNS server of a proxy; null for none.
 * @param given what the person wrote; 0 is none
 * @param dataplane in Universal form; null for one that the control plane has
 */
export function dnsPortOf(given: number | null, dataplane: JsonObject | null): number | null {
  const isRedirected = numberOf(transparentProxyingOf(dataplane)['redirectPortOutbound']) > 0;
  const port = given ?? (isRedirected ? DEFAULT_PORT : 0);
  return port === 0 ? null : port;
}

/**
 * Answers queries on the port of both loopback addresses.
 * @throws MeridianError `config` for a port that it cannot have
 */
export async function openMeshDns(
  port: number,
  names: Pick<FollowedNames, 'lookup' | 'isKnown' | 'size' | 'waiting'>,
  dataplane: JsonObject | null,
  context: Context,
): Promise<MeshDns> {
  const { clock } = context;
  const began = clock.elapsed();
  const mapsIpv4 = transparentProxyingOf(dataplane)['ipFamilyMode'] !== 'IPv4';
  const server = await openDnsServer({
    port,
    names: { table: names, isKnown: () => names.isKnown, isWaiting: (hostname) => names.waiting.has(hostname), mapsIpv4 },
    resolvers: new SystemResolvers(RESOLV_CONF, context),
    ...context,
  }).catch((cause: unknown) => {
    throw new MeridianError('config', `--dns-port: ${whyNoPort(port, cause)}`, { cause });
  });
  return {
    port,
    whyNotReady: () => {
      if (clock.elapsed() - began >= MAX_WAIT_MS) return null;
      if (!names.isKnown) return 'the names of the mesh have not come yet';
      return names.waiting.size > 0 ? `names of the mesh wait for listeners of Envoy: ${String(names.waiting.size)}` : null;
    },
    page: () => ({ names: names.size, waiting: [...names.waiting], isKnown: names.isKnown, queries: server.counters() }),
    close: server.close,
  };
}

function transparentProxyingOf(dataplane: JsonObject | null): JsonObject {
  return objectOf(objectOf(objectOf(dataplane)['networking'])['transparentProxying']);
}
