// MeshRateLimit of an inbound: requests on a route, connections on the listener (policies 2.6, xds 3.3).
import { isObject, numberOf, objectOf, objectsOf } from '../resource/read-json.ts';
import { STATUS_NAMES } from '../resource/schema/envoy-statuses.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { duration, extension, given, headerOptions, typed } from './proto-json.ts';

const HTTP_FILTER = 'envoy.filters.http.local_ratelimit';
const HTTP_TYPE = 'extensions.filters.http.local_ratelimit.v3.LocalRateLimit';
const NETWORK_TYPE = 'extensions.filters.network.local_ratelimit.v3.LocalRateLimit';
/** Name of the network filter. */
export const CONNECTION_LIMIT = `envoy.${NETWORK_TYPE}`;
const ALL = { numerator: 100 };

/** The filter of requests, which is off where no route has a limit. */
export const rateLimitFilter: JsonObject = { ...extension(HTTP_FILTER, HTTP_TYPE, { statPrefix: 'rate_limit' }), disabled: true };

/** `{typedPerFilterConfig}` of a route; null where requests have no limit. */
export function requestLimit(conf: JsonObject): JsonObject | null {
  const { disabled, requestRate, onRateLimit } = objectOf(objectOf(conf['local'])['http']);
  if (disabled === true || !isObject(requestRate)) return null;
  const { status, headers } = objectOf(onRateLimit);
  const { set, add } = objectOf(headers);
  const code = STATUS_NAMES.get(numberOf(status));
  const [added, replaced] = [headerOptions([], objectsOf(add)), headerOptions(objectsOf(set), [])];
  const config = typed(
    HTTP_TYPE,
    given({
      statPrefix: 'rate_limit',
      // 429 is the default of Envoy.
      status: code === undefined ? undefined : { code },
      tokenBucket: tokenBucket(requestRate),
      filterEnabled: { defaultValue: ALL, runtimeKey: 'local_rate_limit_enabled' },
      filterEnforced: { defaultValue: ALL, runtimeKey: 'local_rate_limit_enforced' },
      responseHeadersToAdd: added.length + replaced.length > 0 ? [...added, ...replaced] : undefined,
    }),
  );
  return { typedPerFilterConfig: { [HTTP_FILTER]: config } };
}

/** The network filter that closes connections over the limit; null where they have none. */
export function connectionLimit(conf: JsonObject): JsonObject | null {
  const { disabled, connectionRate } = objectOf(objectOf(conf['local'])['tcp']);
  return disabled === true || !isObject(connectionRate) ? null : limitTo(connectionRate);
}

/** The same filter where connections have no limit. */
export function noConnectionLimit(): JsonObject {
  return limitTo({ num: 1 }, { runtimeEnabled: { defaultValue: false, runtimeKey: 'meridian.tcp_rate_limit_enabled' } });
}

function limitTo(rate: JsonObject, more: JsonObject = {}): JsonObject {
  return extension(CONNECTION_LIMIT, NETWORK_TYPE, { statPrefix: 'tcp_rate_limit', tokenBucket: tokenBucket(rate), ...more });
}

function tokenBucket({ num, interval }: Readonly<Record<string, Json>>): JsonObject {
  return { maxTokens: num ?? 0, tokensPerFill: num ?? 0, fillInterval: duration(interval, '1s') };
}
