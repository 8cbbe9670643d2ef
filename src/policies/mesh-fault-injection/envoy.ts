// MeshFaultInjection as HTTP filters of an inbound: one filter a fault; all that match are applied (policies 2.6, xds 3.3).
import { objectOf } from '../../resource/read-json.ts';
import type { Conf, ConfRule } from '../confs.ts';
import type { InboundMatch } from '../../schema/inbound-match.ts';
import type { JsonObject } from '../../resource/types.ts';
import { clientPredicate } from '../../envoy/client-match.ts';
import { duration, extension, given, percentage, typed } from '../../envoy/proto-json.ts';

type Fault = NonNullable<Conf<'MeshFaultInjection'>['http']>[number];

const FAULT = 'envoy.filters.http.fault';
const MATCHING = 'extensions.common.matching.v3.ExtensionWithMatcher';
const SKIP: JsonObject = {
  action: { name: 'skip', typedConfig: typed('extensions.filters.common.matcher.action.v3.SkipFilter') },
};
const KBPS: Readonly<Record<string, number>> = { kbps: 1, Mbps: 1_000, Gbps: 1_000_000 };

/** @param rules of the inbound, in the order in which they are asked */
export function faultFilters(rules: readonly ConfRule<'MeshFaultInjection'>[]): JsonObject[] {
  return rules.flatMap(({ match, conf, policy }) => (conf.http ?? []).map((fault) => filter(policy.kri, match, fault)));
}

/** The configuration of a filter that does nothing. */
export function noFault(): JsonObject {
  return typed(MATCHING, { xdsMatcher: { onNoMatch: SKIP }, extensionConfig: faultExtension({}) });
}

/** Whether a filter is one of `faultFilters`. */
export function isFaultFilter({ typedConfig }: JsonObject): boolean {
  return objectOf(objectOf(typedConfig)['extensionConfig'])['name'] === FAULT;
}

/** A filter that is skipped for every other client. */
function filter(name: string, match: InboundMatch | null, fault: Fault): JsonObject {
  const predicate = match === null ? null : clientPredicate(match);
  const xdsMatcher =
    predicate === null ? {} : { matcherList: { matchers: [{ predicate: { notMatcher: predicate }, onMatch: SKIP }] } };
  return extension(name, MATCHING, { xdsMatcher, extensionConfig: faultExtension(fault) });
}

function faultExtension(fault: Fault): JsonObject {
  return extension(FAULT, 'extensions.filters.http.fault.v3.HTTPFault', faultOf(fault));
}

function faultOf({ abort, delay, responseBandwidth: bandwidth }: Fault): JsonObject {
  return given({
    abort: abort && { httpStatus: abort.httpStatus, percentage: percentage(abort.percentage) },
    delay: delay && { fixedDelay: duration(delay.value, '0s'), percentage: percentage(delay.percentage) },
    responseRateLimit: bandwidth && {
      fixedLimit: { limitKbps: kilobits(bandwidth.limit) },
      percentage: percentage(bandwidth.percentage),
    },
  });
}

/** `50Mbps` → `50000`. */
function kilobits(limit: string): string {
  const [, number = '0', unit = 'kbps'] = /^(\d+) ?(kbps|Mbps|Gbps)$/.exec(limit) ?? [];
  return String(Number(number) * (KBPS[unit] ?? 1));
}
