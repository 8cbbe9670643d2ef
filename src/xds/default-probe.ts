// The probe of an application whose inbound has no `serviceProbe` (decision 58). Pure. Only inbounds of HTTP have one: a server that speaks
// first counts a connection without a word as an error, and some refuse all connections after many.
import { numberOf, objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { applicationAddress } from './application-address.ts';
import { isHttp, protocolOf } from '../envoy/protocol.ts';
import { transparentProxying } from '../policy/transparent-proxying.ts';

/** `dpServer.hds.applications`: milliseconds, and the failures after which an application counts as dead. */
export type ApplicationProbe = { readonly interval: number; readonly timeout: number; readonly unhealthyThreshold: number };

/** Prefix of a label of a Dataplane: `probe.meridian.io/NAME: disabled`, with the name or the port of an inbound. */
const PREFIX = 'probe.meridian.io/';
/** Milliseconds between two probes of an application that has just failed, and of one that is dead. */
const DOUBT_MS = 500;
const DEAD_MS = 1_000;

/** In the form of a `serviceProbe`; null where the application is not probed. */
export function defaultProbe(
  dataplane: Pick<Resource, 'labels' | 'spec'>,
  inbound: JsonObject,
  applications: ApplicationProbe | null,
): JsonObject | null {
  if (applications === null || inbound['state'] === 'Ignored' || !isHttp(protocolOf(textOf(inbound['protocol'])))) return null;
  if (isSwitchedOff(dataplane, inbound) || isOwnListener(dataplane, inbound)) return null;
  const { interval, timeout, unhealthyThreshold } = applications;
  const ms = (value: number): string => `${String(value)}ms`;
  return {
    ...{ interval: ms(interval), timeout: ms(timeout), unhealthyThreshold, healthyThreshold: 1, tcp: {} },
    unhealthyEdgeInterval: ms(Math.min(interval, DOUBT_MS)),
    unhealthyInterval: ms(Math.min(interval, DEAD_MS)),
  };
}

/** Whether a label of the Dataplane says that the application of the inbound is not probed. */
export function isSwitchedOff({ labels }: Pick<Resource, 'labels'>, inbound: JsonObject): boolean {
  const names = [textOf(inbound['name']), String(numberOf(inbound['port']))];
  return names.some((name) => labels[PREFIX + name] === 'disabled');
}

/** Whether the listener of the inbound itself would answer. That of redirected connections listens elsewhere. */
function isOwnListener(dataplane: Pick<Resource, 'spec'>, inbound: JsonObject): boolean {
  if ((transparentProxying(dataplane)?.inboundPort ?? null) !== null) return false;
  const networking = objectOf(dataplane.spec['networking']);
  const { address, port } = applicationAddress(networking, inbound);
  return (textOf(inbound['address']) || textOf(networking['address'])) === address && numberOf(inbound['port']) === port;
}
