// The addresses that Envoy accepts for an inbound. One invalid address invalidates a whole load assignment.
import { isIP } from 'node:net';
import type { ConfigProblem } from './config-problem.ts';

/** Why Envoy takes no listener or endpoint at the address of an inbound; null where it does. */
export function inboundAddressProblem(address: string, port: number): ConfigProblem | null {
  if (isIP(address) === 0)
    return { policy: null, field: 'networking.address', reason: 'must be an IP address: Envoy listens on no name' };
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return null;
  return { policy: null, field: 'networking.inbound.port', reason: 'must be a port number from 1 to 65535' };
}

/** Why Envoy takes no endpoint at an address that a control plane published; null where it does. @param whose a zone proxy */
export function endpointAddressProblem(address: string, whose: string): ConfigProblem | null {
  if (isIP(address) !== 0) return null;
  const reason = `${whose} has the address ${JSON.stringify(address)}, which must be an IP address: Envoy looks up no name of an endpoint`;
  return { policy: null, field: 'networking.outbound', reason };
}
