// A process that answers DNS queries for mesh names as the launcher of a proxy does; or the floor, which sends each datagram back.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { openDnsServer } from '../src/dns/dns-server.ts';
import { SystemResolvers } from '../src/dns/system-resolvers.ts';
import { takeCommands } from './commands.ts';

export type DnsServerCommand = { readonly kind: 'meridian' | 'floor'; readonly port: number; readonly names: readonly string[] };

takeCommands(async ({ kind, port, names }: DnsServerCommand) => {
  if (kind === 'floor') await echo(port);
  else {
    const table = new Map(names.map((name, at) => [name, [`241.0.${String(at >> 8)}.${String(at & 0xff)}`]]));
    const context = { clock: systemClock, log: createLogger('silent') };
    const resolvers = new SystemResolvers('/etc/resolv.conf', context);
    const meshNames = {
      table: { lookup: (name: string) => table.get(name) },
      isKnown: () => true,
      isWaiting: () => false,
      mapsIpv4: true,
    };
    await openDnsServer({ port, names: meshNames, resolvers, ...context });
  }
  return { kind };
});

async function echo(port: number): Promise<void> {
  const socket = createSocket('udp4', (message, from) => socket.send(message, from.port, from.address));
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
}
