// MeshRetry as the retry policy of a route (policies 2.2, xds 3.3).
import type { Conf } from '../confs.ts';
import type { RoutePlace } from '../policy-definition.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { isHttp, type Protocol } from '../../envoy/protocol.ts';
import { extension, given, optionalDuration } from '../../envoy/proto-json.ts';
import { headerMatcher } from '../../envoy/header-matcher.ts';

type HttpRetry = NonNullable<Conf<'MeshRetry'>['http']>;

const DEFAULT_HTTP = 'gateway-error,connect-failure,refused-stream';
const DEFAULT_GRPC = 'cancelled,connect-failure,gateway-error,refused-stream,reset,resource-exhausted,unavailable';

/** Names of MeshRetry that Envoy spells in another way than lower case with hyphens. */
const SPELLED: ReadonlyMap<string, string> = new Map([
  ['5xx', '5xx'],
  ['Retriable4xx', 'retriable-4xx'],
  ['EnvoyRatelimited', 'envoy-ratelimited'],
  ['Http3PostConnectFailure', 'http3-post-connect-failure'],
  // Envoy has two l.
  ['Canceled', 'cancelled'],
]);
const METHOD = 'HttpMethod';

/** Of a route of a client. A server, or an egress, tries nothing again. */
export function routeRetries(conf: Conf<'MeshRetry'>, { direction, protocol }: RoutePlace): JsonObject {
  const retry = direction === 'outbound' ? retryPolicy(conf, protocol) : null;
  return retry === null ? {} : { retryPolicy: retry };
}

export function connectAttempts({ tcp }: Conf<'MeshRetry'>): JsonObject {
  return given({ maxConnectAttempts: tcp?.maxConnectAttempt });
}

/** The retry policy of a route; null where nothing is retried. */
export function retryPolicy(conf: Conf<'MeshRetry'>, protocol: Protocol): JsonObject | null {
  // What gRPC does not have is absent there.
  const retry: HttpRetry | undefined = protocol === 'grpc' ? conf.grpc : isHttp(protocol) ? conf.http : undefined;
  if (retry === undefined || retry.numRetries === 0) return null;
  const on = retry.retryOn ?? [];
  const codes = on.filter((name) => /^\d{3}$/.test(name)).map(Number);
  const methods = on.filter((name) => name.startsWith(METHOD));
  const conditions = on.filter((name) => !/^\d{3}$/.test(name) && !name.startsWith(METHOD)).map(spelled);
  const requestHeaders = [
    ...methods.map((name) => ({ name: ':method', stringMatch: { exact: name.slice(METHOD.length).toUpperCase() } })),
    ...(retry.retriableRequestHeaders ?? []).map(headerMatcher),
  ];
  const responseHeaders = (retry.retriableResponseHeaders ?? []).map(headerMatcher);
  const written = [...conditions, ...(codes.length > 0 ? ['retriable-status-codes'] : [])];
  const retryOn = written.length > 0 ? written : [protocol === 'grpc' ? DEFAULT_GRPC : DEFAULT_HTTP];
  // Without its condition Envoy ignores the list of headers.
  if (responseHeaders.length > 0) retryOn.push('retriable-headers');
  return given({
    retryOn: retryOn.join(','),
    numRetries: retry.numRetries,
    perTryTimeout: optionalDuration(retry.perTryTimeout),
    retriableStatusCodes: codes.length > 0 ? codes : undefined,
    retriableRequestHeaders: requestHeaders.length > 0 ? requestHeaders : undefined,
    retriableHeaders: responseHeaders.length > 0 ? responseHeaders : undefined,
    retryBackOff: backOff(retry.backOff),
    rateLimitedRetryBackOff: rateLimitedBackOff(retry.rateLimitedBackOff),
    ...hostSelection(retry.hostSelection ?? []),
    hostSelectionRetryMaxAttempts:
      retry.hostSelectionMaxAttempts === undefined ? undefined : String(retry.hostSelectionMaxAttempts),
  });
}

/** `DeadlineExceeded` → `deadline-exceeded`. */
function spelled(name: string): string {
  return SPELLED.get(name) ?? name.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}

function backOff(written: HttpRetry['backOff']): JsonObject | undefined {
  if (written === undefined) return undefined;
  const { baseInterval, maxInterval } = written;
  return given({ baseInterval: optionalDuration(baseInterval) ?? '0.025s', maxInterval: optionalDuration(maxInterval) });
}

function rateLimitedBackOff(written: HttpRetry['rateLimitedBackOff']): JsonObject | undefined {
  if (written === undefined) return undefined;
  const { resetHeaders, maxInterval } = written;
  return given({
    resetHeaders: resetHeaders.map(({ name, format }) => ({
      name,
      ...(format === 'UnixTimestamp' && { format: 'UNIX_TIMESTAMP' }),
    })),
    maxInterval: optionalDuration(maxInterval),
  });
}

function hostSelection(selections: NonNullable<HttpRetry['hostSelection']>): Record<string, Json | undefined> {
  const hosts = selections.flatMap(({ predicate, tags }) =>
    predicate === 'OmitPreviousHosts'
      ? [
          extension(
            'envoy.retry_host_predicates.previous_hosts',
            'extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
          ),
        ]
      : predicate === 'OmitHostsWithTags'
        ? [
            extension(
              'envoy.retry_host_predicates.omit_host_metadata',
              'extensions.retry.host.omit_host_metadata.v3.OmitHostMetadataConfig',
              { metadataMatch: { filterMetadata: { 'envoy.lb': tags ?? {} } } },
            ),
          ]
        : [],
  );
  const priorities = selections.find(({ predicate }) => predicate === 'OmitPreviousPriorities');
  return {
    retryHostPredicate: hosts.length > 0 ? hosts : undefined,
    retryPriority:
      priorities === undefined
        ? undefined
        : extension(
            'envoy.retry_priorities.previous_priorities',
            'extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig',
            { updateFrequency: priorities.updateFrequency },
          ),
  };
}
