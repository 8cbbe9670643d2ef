// MeshRetry: good and bad confs (policies 2.2).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

const inTo = (conf: string): string => `to: [{ targetRef: { kind: Mesh }, default: ${conf} }]`;
const ONE_OF_RETRIES = 'numRetries, perTryTimeout, backOff, rateLimitedBackOff, retryOn';

describe('MeshRetry', () => {
  it.each([
    '{ tcp: { maxConnectAttempt: 5 } }',
    '{ http: { numRetries: 0 } }',
    '{ http: { retryOn: ["5xx", "503", GatewayError, HttpMethodGet, Http3PostConnectFailure] } }',
    '{ http: { backOff: { baseInterval: 25ms }, rateLimitedBackOff: { resetHeaders: [{ name: X-Reset, format: Seconds }], maxInterval: 300s } } }',
    '{ http: { hostSelection: [{ predicate: OmitPreviousHosts }, { predicate: OmitHostsWithTags, tags: { a: b } }, { predicate: OmitPreviousPriorities, updateFrequency: 1 }], hostSelectionMaxAttempts: 3 } }',
    '{ http: { retriableRequestHeaders: [{ name: x, value: y }, { type: Present, name: z }], retriableResponseHeaders: [{ type: Prefix, name: x, value: "" }] } }',
    '{ grpc: { perTryTimeout: 16s, retryOn: [Canceled, DeadlineExceeded, Internal, ResourceExhausted, Unavailable] } }',
  ])('may have %s', (conf) => {
    expect(findIn('MeshRetry', inTo(conf))).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{}', ': must have at least one of tcp, http, grpc'],
    ['{ tcp: {} }', '.tcp.maxConnectAttempt: must be given: a whole number from 1 to 2147483647'],
    ['{ tcp: { maxConnectAttempt: 0 } }', '.tcp.maxConnectAttempt: must be a whole number from 1 to 2147483647'],
    [
      '{ http: {} }',
      `.http: must have at least one of ${ONE_OF_RETRIES}, retriableRequestHeaders, retriableResponseHeaders, hostSelection, hostSelectionMaxAttempts`,
    ],
    ['{ grpc: {} }', `.grpc: must have at least one of ${ONE_OF_RETRIES}`],
    ['{ http: { perTryTimeout: soon } }', '.http.perTryTimeout: must be a duration such as "10s" or "1m30s", not negative'],
    ['{ http: { backOff: {} } }', '.http.backOff: must have at least one of baseInterval, maxInterval'],
    ['{ http: { rateLimitedBackOff: {} } }', '.http.rateLimitedBackOff.resetHeaders: must be given: a list'],
    [
      '{ http: { rateLimitedBackOff: { resetHeaders: [] } } }',
      '.http.rateLimitedBackOff.resetHeaders: must have at least 1 item',
    ],
    [
      '{ grpc: { rateLimitedBackOff: { resetHeaders: [{ name: a, format: Minutes }] } } }',
      '.grpc.rateLimitedBackOff.resetHeaders[0].format: must be one of Seconds, UnixTimestamp, not "Minutes"',
    ],
    [
      '{ http: { hostSelection: [{ predicate: OmitHostsWithTags }] } }',
      '.http.hostSelection[0].tags: must be given with predicate OmitHostsWithTags',
    ],
    [
      '{ http: { hostSelection: [{ predicate: OmitPreviousPriorities, updateFrequency: 0 }] } }',
      '.http.hostSelection[0].updateFrequency: must be a whole number from 1 to 2147483647',
    ],
    [
      '{ http: { hostSelection: [{ predicate: OmitPreviousPriorities }, { predicate: OmitPreviousPriorities }] } }',
      '.http.hostSelection[1]: must not be OmitPreviousPriorities a second time',
    ],
    [
      '{ grpc: { retryOn: [canceled] } }',
      '.grpc.retryOn[0]: must be one of Canceled, DeadlineExceeded, Internal, ResourceExhausted, Unavailable, not "canceled"',
    ],
  ])('may not have %s', (conf, line) => {
    expect(findIn('MeshRetry', inTo(conf))).toEqual({ violations: [`spec.to[0].default${line}`], warnings: [] });
  });

  it.each(['"5XX"', '500', '"999"', '"constructor"', 'Gatewayerror'])('may not retry on %s', (value) => {
    const [line = '', ...others] = findIn('MeshRetry', inTo(`{ http: { retryOn: ["500", ${value}] } }`)).violations;
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^spec\.to\[0\]\.default\.http\.retryOn\[1\]: must be one of 5xx, GatewayError, .*HttpMethodTrace, or a status code in quotes such as "503"$/,
    );
  });
});
