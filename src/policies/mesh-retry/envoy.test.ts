import { describe, expect, it } from 'vitest';
import type { Conf } from '../confs.ts';
import type { JsonObject } from '../../resource/types.ts';
import { retryPolicy } from './envoy.ts';

type HttpRetry = NonNullable<Conf<'MeshRetry'>['http']>;

const HTTP = 'gateway-error,connect-failure,refused-stream';
const GRPC = 'cancelled,connect-failure,gateway-error,refused-stream,reset,resource-exhausted,unavailable';

describe('the retry policy of a route', () => {
  it('is that of its protocol, and none for TCP', () => {
    const conf = { http: { numRetries: 1 }, grpc: { numRetries: 2 } };
    expect(retryPolicy(conf, 'http')).toEqual({ retryOn: HTTP, numRetries: 1 });
    expect(retryPolicy(conf, 'http2')).toEqual({ retryOn: HTTP, numRetries: 1 });
    expect(retryPolicy(conf, 'grpc')).toEqual({ retryOn: GRPC, numRetries: 2 });
    expect(retryPolicy({ ...conf, tcp: { maxConnectAttempt: 3 } }, 'tcp')).toBeNull();
    expect(retryPolicy({ http: { numRetries: 1 } }, 'grpc')).toBeNull();
    expect(retryPolicy({ http: { numRetries: 0 } }, 'http')).toBeNull();
  });

  it.each<[string, HttpRetry, JsonObject]>([
    ['conditions', { retryOn: ['5xx', 'DeadlineExceeded', 'Canceled'] }, { retryOn: '5xx,deadline-exceeded,cancelled' }],
    [
      'conditions that Envoy spells in its own way',
      { retryOn: ['Retriable4xx', 'EnvoyRatelimited', 'Http3PostConnectFailure', 'ResetBeforeRequest'] },
      { retryOn: 'retriable-4xx,envoy-ratelimited,http3-post-connect-failure,reset-before-request' },
    ],
    [
      'statuses beside a condition',
      { retryOn: ['503', 'Reset', '429'] },
      { retryOn: 'reset,retriable-status-codes', retriableStatusCodes: [503, 429] },
    ],
    ['statuses alone', { retryOn: ['503'] }, { retryOn: 'retriable-status-codes', retriableStatusCodes: [503] }],
    [
      'methods, before other headers of a request',
      { retryOn: ['HttpMethodGet'], retriableRequestHeaders: [{ type: 'Exact', name: 'a', value: 'b' }] },
      {
        retryOn: HTTP,
        retriableRequestHeaders: [
          { name: ':method', stringMatch: { exact: 'GET' } },
          { name: 'a', stringMatch: { exact: 'b' } },
        ],
      },
    ],
    [
      'headers of a response',
      { retriableResponseHeaders: [{ type: 'Present', name: 'a' }] },
      { retryOn: `${HTTP},retriable-headers`, retriableHeaders: [{ name: 'a', presentMatch: true }] },
    ],
    [
      'headers of a response beside a status',
      { retryOn: ['503'], retriableResponseHeaders: [{ type: 'Present', name: 'a' }] },
      {
        retryOn: 'retriable-status-codes,retriable-headers',
        retriableStatusCodes: [503],
        retriableHeaders: [{ name: 'a', presentMatch: true }],
      },
    ],
    [
      'no lists',
      { retryOn: [], retriableRequestHeaders: [], retriableResponseHeaders: [], hostSelection: [] },
      { retryOn: HTTP },
    ],
    ['a time for each try', { perTryTimeout: '2s' }, { retryOn: HTTP, perTryTimeout: '2s' }],
    [
      'an empty back-off, whose base is 25 ms, as in Envoy',
      { backOff: {} },
      { retryOn: HTTP, retryBackOff: { baseInterval: '0.025s' } },
    ],
    [
      'a back-off by headers of the answer',
      {
        rateLimitedBackOff: {
          resetHeaders: [
            { name: 'a', format: 'Seconds' },
            { name: 'b', format: 'UnixTimestamp' },
          ],
          maxInterval: '5s',
        },
      },
      {
        retryOn: HTTP,
        rateLimitedRetryBackOff: { resetHeaders: [{ name: 'a' }, { name: 'b', format: 'UNIX_TIMESTAMP' }], maxInterval: '5s' },
      },
    ],
    ['attempts to select a host', { hostSelectionMaxAttempts: 4 }, { retryOn: HTTP, hostSelectionRetryMaxAttempts: '4' }],
  ])('has %s', (_, http, expected) => {
    expect(retryPolicy({ http }, 'http')).toEqual(expected);
  });

  it('avoids priorities that were tried, after the number of tries that the policy says', () => {
    const updateFrequency = (tries: number): unknown => {
      const hostSelection: HttpRetry['hostSelection'] = [
        { predicate: 'OmitPreviousHosts', updateFrequency: 2 },
        { predicate: 'OmitPreviousPriorities', updateFrequency: tries },
      ];
      const policy = retryPolicy({ http: { hostSelection } }, 'http');
      expect(policy?.['retryHostPredicate']).toHaveLength(1);
      return policy?.['retryPriority'];
    };
    expect(updateFrequency(5)).toMatchObject({ typedConfig: { updateFrequency: 5 } });
  });
});
