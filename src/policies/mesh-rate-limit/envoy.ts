// MeshRateLimit of an inbound: requests on a route, connections on the listener (policies 2.6, xds 3.3).
import type { Conf } from '../confs.ts';
import { STATUS_NAMES } from '../../schema/envoy-statuses.ts';
import type { JsonObject } from '../../resource/types.ts';
import { duration, extension, given, headerOptions, typed } from '../../envoy/proto-json.ts';

type RateLimit = Conf<'MeshRateLimit'>;
/** So many requests or connections in each interval. */
type Rate = { readonly num: number; readonly interval: string };

const HTTP_FILTER = 'envoy.filters.http.local_ratelimit';
const HTTP_TYPE = 'extensions.filters.http.local_ratelimit.v3.LocalRateLimit';
const NETWORK_TYPE = 'extensions.filters.network.local_ratelimit.v3.LocalRateLimit';
/** Name of the network filter. */
export const CONNECTION_LIMIT = `envoy.${NETWORK_TYPE}`;
const ALL = { numerator: 100 };

/** The filter of requests, which is off where no route has a limit. */
export const rateLimitFilter: JsonObject = { ...extension(HTTP_FILTER, HTTP_TYPE, { statPrefix: 'rate_limit' }), disabled: true };

/** `{typedPerFilterConfig}` of a route; nothing where requests have no limit. */
export function requestLimit({ local }: RateLimit): JsonObject {
  const { disabled, requestRate, onRateLimit = {} } = local?.http ?? {};
  if (disabled === true || requestRate === undefined) return {};
  const { status, headers: { set = [], add = [] } = {} } = onRateLimit;
  const code = status === undefined ? undefined : STATUS_NAMES.get(status);
  const [added, replaced] = [headerOptions([], add), headerOptions(set, [])];
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

/** The network filter that closes connections over the limit; none where they have no limit. */
export function connectionLimit({ local }: RateLimit): JsonObject[] {
  const { disabled, connectionRate } = local?.tcp ?? {};
  return disabled === true || connectionRate === undefined ? [] : [limitTo(connectionRate)];
}

/** The same filter where connections have no limit. */
export function noConnectionLimit(): JsonObject {
  return limitTo(
    { num: 1, interval: '1s' },
    { runtimeEnabled: { defaultValue: false, runtimeKey: 'meridian.tcp_rate_limit_enabled' } },
  );
}

function limitTo(rate: Rate, more: JsonObject = {}): JsonObject {
  return extension(CONNECTION_LIMIT, NETWORK_TYPE, { statPrefix: 'tcp_rate_limit', tokenBucket: tokenBucket(rate), ...more });
}

function tokenBucket({ num, interval }: Rate): JsonObject {
  return { maxTokens: num, tokensPerFill: num, fillInterval: duration(interval, '1s') };
}
