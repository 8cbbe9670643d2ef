// MeshCircuitBreaker: good and bad confs (policies 2.6).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshCircuitBreaker';
const inTo = (conf: string): Found => findIn(TYPE, `to: [{ targetRef: { kind: Mesh }, default: ${conf} }]`);
const inRules = (conf: string, more = '', type = TYPE): Found =>
  findIn(type, `targetRef: { kind: Dataplane }\nrules: [{ default: ${conf}${more} }]`);
const violation = (line: string): Found => ({ violations: [line], warnings: [] });
const PERCENT = 'must be a whole number or a decimal in quotes such as "12.5", from 0 to 100';
const COUNT = 'must be a whole number from 1 to 2147483647';

describe('MeshCircuitBreaker', () => {
  const outliers = (value: string): string => `{ outlierDetection: ${value} }`;

  it.each([
    '{ connectionLimits: { maxConnections: 1, maxConnectionPools: 1, maxPendingRequests: 1, maxRetries: 1, maxRequests: 1 } }',
    outliers(
      '{ interval: 1s, baseEjectionTime: 1s, maxEjectionPercent: 0, splitExternalAndLocalErrors: true, healthyPanicThreshold: "62.9", detectors: { totalFailures: { consecutive: 1 }, gatewayFailures: {}, localOriginFailures: {}, successRate: { minimumHosts: 1, requestVolume: 1, standardDeviationFactor: "1.9" }, failurePercentage: { threshold: 85 } } }',
    ),
  ])('may have %s', (conf) => {
    expect(inTo(conf)).toEqual(NOTHING_FOUND);
    expect(inRules(conf)).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{}', ': must have at least one of connectionLimits, outlierDetection'],
    ['{ connectionLimits: { maxRetries: 0 } }', `.connectionLimits.maxRetries: ${COUNT}`],
    [outliers('{ disabled: true }'), '.outlierDetection.detectors: must be given: an object'],
    [
      outliers('{ detectors: {} }'),
      '.outlierDetection.detectors: must have at least one of totalFailures, gatewayFailures, localOriginFailures, successRate, failurePercentage',
    ],
    [
      outliers('{ detectors: { totalFailures: { consecutive: 0 } } }'),
      `.outlierDetection.detectors.totalFailures.consecutive: ${COUNT}`,
    ],
    [
      outliers('{ interval: 0s, detectors: { totalFailures: {} } }'),
      '.outlierDetection.interval: must be a duration such as "10s" or "1m30s", greater than 0',
    ],
    [
      outliers('{ maxEjectionPercent: 101, detectors: { totalFailures: {} } }'),
      '.outlierDetection.maxEjectionPercent: must be a whole number from 0 to 100',
    ],
    [
      outliers('{ healthyPanicThreshold: "100.1", detectors: { totalFailures: {} } }'),
      `.outlierDetection.healthyPanicThreshold: ${PERCENT}`,
    ],
    [
      outliers('{ detectors: { successRate: { standardDeviationFactor: 0 } } }'),
      '.outlierDetection.detectors.successRate.standardDeviationFactor: must be a whole number or a decimal in quotes such as "12.5", over 0 and at most 4294967',
    ],
  ])('may not have %s', (conf, line) => {
    expect(inTo(conf)).toEqual(violation(`spec.to[0].default${line}`));
    expect(inRules(conf)).toEqual(violation(`spec.rules[0].default${line}`));
  });

  it('takes matches with a warning', () => {
    const conf = '{ connectionLimits: {} }';
    expect(inRules(conf, ', matches: []')).toEqual(NOTHING_FOUND);
    expect(inRules(conf, ', matches: [{ spiffeID: { type: Exact, value: "spiffe://a/b" } }]')).toEqual({
      violations: [],
      warnings: ['spec.rules[0].matches: has no effect: a limit is shared by all clients'],
    });
  });
});
