// MeshHealthCheck: good and bad confs (policies 2.6).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshHealthCheck';
const inTo = (conf: string): Found => findIn(TYPE, `to: [{ targetRef: { kind: Mesh }, default: ${conf} }]`);
const violation = (line: string): Found => ({ violations: [line], warnings: [] });
const COUNT = 'must be a whole number from 1 to 2147483647';

describe('MeshHealthCheck', () => {
  it.each([
    '{ http: { path: /health, requestHeadersToAdd: { set: [{ name: a, value: b }], add: [] }, expectedStatuses: [200, 201] } }',
    '{ interval: 1m, timeout: 15s, unhealthyThreshold: 5, healthyThreshold: 1, initialJitter: 1s, intervalJitter: 1s, intervalJitterPercent: 100, noTrafficInterval: 1s, failTrafficOnPanic: true, eventLogPath: /tmp/x, alwaysLogHealthCheckFailures: false, reuseConnection: true, tcp: { disabled: true, send: Zm9v, receive: [YmFy] } }',
    '{ grpc: { serviceName: a, authority: b } }',
  ])('may have %s', (conf) => {
    expect(inTo(conf)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{ interval: 1s }', ': must have at least one of http, tcp, grpc'],
    ['{ tcp: {}, interval: 0s }', '.interval: must be a duration such as "10s" or "1m30s", greater than 0'],
    ['{ tcp: {}, healthyThreshold: 0 }', `.healthyThreshold: ${COUNT}`],
    ['{ tcp: {}, intervalJitterPercent: 101 }', '.intervalJitterPercent: must be a whole number from 0 to 100'],
    ['{ http: { expectedStatuses: [99] } }', '.http.expectedStatuses[0]: must be a whole number from 100 to 599'],
    ['{ http: { disabled: "yes" } }', '.http.disabled: must be true or false'],
  ])('may not have %s', (conf, line) => {
    expect(inTo(conf)).toEqual(violation(`spec.to[0].default${line}`));
  });

  it('warns about healthyPanicThreshold', () => {
    expect(inTo('{ tcp: {}, healthyPanicThreshold: 50 }')).toEqual({
      violations: [],
      warnings: [
        'spec.to[0].default.healthyPanicThreshold: is deprecated: use outlierDetection.healthyPanicThreshold of MeshCircuitBreaker',
      ],
    });
  });
});
