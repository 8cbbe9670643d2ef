// MeshRateLimit of an inbound: requests on a route, connections on the listener (policies 2.6, xds 3.3).
import { isObject, numberOf, objectOf, objectsOf } from '../resource/read-json.ts';
import { STATUS_NAMES } from '../resource/schema/envoy-statuses.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { duration, extension, given, headerOptions, typed } from './proto-json.ts';

const HTTP_FILTER = 'envoy.filters.http.local_ratelimit';
const HTTP_TYPE = 'extensions.filters.http.local_ratelimit.v3.LocalRateLimit';
const ALL = { numerator: 100 };

/** The filter without a limit, which the limits of routes need before the router. */
export const rateLimitFilter: JsonObject = extension(HTTP_FILTER, HTTP_TYPE, { statPrefix: 'rate_limit' });

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
  if (disabled === true || !isObject(connectionRate)) return null;
  const type = 'extensions.filters.network.local_ratelimit.v3.LocalRateLimit';
  return extension(`envoy.${type}`, type, { statPrefix: 'tcp_rate_limit', tokenBucket: tokenBucket(connectionRate) });
}

function tokenBucket({ num, interval }: Readonly<Record<string, Json>>): JsonObject {
  return { maxTokens: num ?? 0, tokensPerFill: num ?? 0, fillInterval: duration(interval, '1s') };
}
