// What Envoy takes as the address of an inbound. One that is no such address spoils a whole load assignment.
import { isIP } from 'node:net';
import type { ConfigProblem } from './config-problem.ts';

/** Why Envoy takes no listener or endpoint at the address of an inbound; null where it does. */
export function inboundAddressProblem(address: string, port: number): ConfigProblem | null {
  if (isIP(address) === 0)
    return { policy: null, field: 'networking.address', reason: 'must be an IP address: Envoy listens on no name' };
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return null;
  return { policy: null, field: 'networking.inbound.port', reason: 'must be a port number from 1 to 65535' };
}
