import { describe, expect, it } from 'vitest';
import type { Conf } from '../confs.ts';
import type { JsonObject } from '../../resource/types.ts';
import { connectionLimits, outlierDetection } from './envoy.ts';

it('the limits of connections are those that the policy names', () => {
  const limits = { maxConnections: 1, maxPendingRequests: 2, maxRequests: 3, maxRetries: 4, maxConnectionPools: 5 };
  const written = { ...limits, other: 6 };
  expect(connectionLimits({ connectionLimits: written })).toEqual(limits);
  expect(connectionLimits({ connectionLimits: { maxRetries: 4 } })).toEqual({ maxRetries: 4 });
  expect(connectionLimits({})).toEqual({});
});

type Detection = NonNullable<Conf<'MeshCircuitBreaker'>['outlierDetection']>;

/** The detectors that Envoy enforces by itself, switched off. */
const OFF = {
  enforcingConsecutive5xx: 0,
  enforcingConsecutiveLocalOriginFailure: 0,
  enforcingSuccessRate: 0,
  enforcingLocalOriginSuccessRate: 0,
};

describe('the detection of outliers', () => {
  it.each<[string, Conf<'MeshCircuitBreaker'>]>([
    ['without a conf', {}],
    ['that is disabled', { outlierDetection: { disabled: true, interval: '1s', healthyPanicThreshold: 50, detectors: {} } }],
  ])('%s is none', (_, conf) => {
    expect(outlierDetection(conf)).toEqual({});
  });

  it.each<[Partial<Detection>, JsonObject]>([
    [{}, {}],
    [{ disabled: false, interval: '1s' }, { interval: '1s' }],
    [
      { baseEjectionTime: '2s', maxEjectionPercent: 3 },
      { baseEjectionTime: '2s', maxEjectionPercent: 3 },
    ],
    [{ splitExternalAndLocalErrors: true }, { splitExternalLocalOriginErrors: true }],
    [{ detectors: { totalFailures: { consecutive: 7 } } }, { consecutive5xx: 7, enforcingConsecutive5xx: 100 }],
    [
      { detectors: { gatewayFailures: { consecutive: 7 } } },
      { consecutiveGatewayFailure: 7, enforcingConsecutiveGatewayFailure: 100 },
    ],
    [
      { detectors: { localOriginFailures: { consecutive: 7 } } },
      { consecutiveLocalOriginFailure: 7, enforcingConsecutiveLocalOriginFailure: 100 },
    ],
    [
      { detectors: { successRate: { standardDeviationFactor: '1.9' } } },
      { enforcingSuccessRate: 100, enforcingLocalOriginSuccessRate: 100, successRateStdevFactor: 1900 },
    ],
    [
      { detectors: { failurePercentage: { threshold: 85 } } },
      { failurePercentageThreshold: 85, enforcingFailurePercentage: 100, enforcingFailurePercentageLocalOrigin: 100 },
    ],
  ])('of %j has no detector but those that are named: %j', (written, expected) => {
    expect(outlierDetection({ outlierDetection: { detectors: {}, ...written } })).toEqual({
      outlierDetection: { ...OFF, ...expected },
    });
  });

  it('has the threshold of panic for the balancer', () => {
    expect(outlierDetection({ outlierDetection: { healthyPanicThreshold: '62.5', detectors: {} } })).toEqual({
      outlierDetection: OFF,
      commonLbConfig: { healthyPanicThreshold: { value: 62.5 } },
    });
  });
});
