// The DNS server of a proxy, on the loopback addresses of its machine: mesh names by a table, all others by the resolvers of the machine.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { DnsHandler, type DnsCounters } from './dns-handler.ts';
import { Forwarder } from './forwarder.ts';
import type { MeshNames } from './mesh-names.ts';
import type { Resolvers } from './resolv-conf.ts';
import { listenTcp } from './tcp-listener.ts';
import { listenUdp, type Listener } from './udp-listener.ts';

type DnsServerOptions = {
  readonly port: number;
  readonly names: MeshNames;
  readonly resolvers: { readonly current: () => Promise<Resolvers> };
  readonly clock: Clock;
  readonly log: Logger;
};

export type DnsServer = { readonly counters: () => DnsCounters; readonly close: () => Promise<void> };

const IPV4 = '127.0.0.1';
const IPV6 = '::1';
/** What the system says of `::1` where it has no IPv6. */
const WITHOUT_IPV6 = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/**
 * Listens by UDP and TCP on one port of both loopback addresses, or of 127.0.0.1 on a machine without IPv6.
 * @throws the error of the system for a port that cannot be had
 */
export async function openDnsServer({ port, names, ...options }: DnsServerOptions): Promise<DnsServer> {
  const forwarder = new Forwarder(options);
  const handler = new DnsHandler(names, forwarder);
  const listeners: Listener[] = [];
  const close = async (): Promise<void> => {
    forwarder.close();
    await Promise.all(listeners.splice(0).map(async (listener) => await listener.close()));
  };
  try {
    for (const listen of [listenUdp, listenTcp]) listeners.push(await listen(IPV4, port, handler));
    for (const listen of [listenUdp, listenTcp]) listeners.push(...(await listenedIfThere(listen(IPV6, port, handler))));
  } catch (error) {
    await close();
    throw error;
  }
  return { counters: () => handler.counters, close };
}

async function listenedIfThere(listening: Promise<Listener>): Promise<readonly Listener[]> {
  try {
    return [await listening];
  } catch (error) {
    if (WITHOUT_IPV6.includes(String((error as { code?: unknown }).code))) return [];
    throw error;
  }
}
