// The part of the demo's output about requests.
import { visibleText } from '../../base/visible-text.ts';
import { table } from '../views/table.ts';
import type { Crossing, Failover } from './crossing.ts';
import type { DemoEnvoy } from './envoy-of-demo.ts';
import type { ZoneTraffic } from './requests.ts';

/** A table with a row for each zone, or one line that says why there is none and which command gets an Envoy. */
export function trafficText(envoy: DemoEnvoy, traffic: readonly ZoneTraffic[]): string {
  if ('missing' in envoy)
    return `\nNot shown: requests through Envoy proxies (${visibleText(envoy.missing)}). \`bin/meridian dataplane install-envoy\` gets an Envoy.`;
  const counts = (of: ReadonlyMap<string, number>): string =>
    [...of].map(([version, count]) => `${version} ${String(count)}`).join(', ');
  const rows = table(
    [
      'ZONE',
      'REQUESTS',
      'CANARY 80:20, 1,000 REQUESTS',
      'CARTS THAT STICK BY HEADER',
      'TIMEOUT ON GLOBAL FELT AFTER',
      'CONNECTIONS CLOSED',
    ],
    traffic.map(({ zone, requests, canary, sticky, timeoutMs, closed }) => [
      zone,
      String(requests),
      counts(canary),
      counts(sticky),
      `${timeoutMs.toFixed(1)} ms`,
      String(closed),
    ]),
  );
  return `\nRequests of the catalog to the carts of its zone, through two Envoys:\n${rows}`;
}

/** The traffic between the zones; `''` if none was sent. */
export function crossingText(crossings: readonly Crossing[], failover: Failover | null): string {
  if (crossings.length === 0) return '';
  const ms = (time: number): string => `${time.toFixed(1)} ms`;
  const rows = table(
    ['FROM', 'ANSWERED IN', 'CALLER, FROM ITS CERTIFICATE', 'OWN ZONE, P50', 'OTHER ZONE, P50'],
    crossings.map(({ from, to, caller, ownMs, otherMs }) => [from, to, caller, ms(ownMs), ms(otherMs)]),
  );
  const taken =
    failover === null
      ? ''
      : `\nThe catalog of ${failover.zone} was taken out under requests: ${failover.by} answered after ${ms(failover.awayMs)}, and ` +
        `${failover.zone} again ${ms(failover.backMs)} after it came back; ` +
        `${String(failover.failed)} of ${String(failover.requests)} requests failed.`;
  return `\nRequests of a cart to the catalog of the other zone, through its ingress:\n${rows}${taken}`;
}
