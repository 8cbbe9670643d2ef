// MeshCircuitBreaker: limits of connections, and endpoints that are taken out for a time (policies 2.6, xds 3.3). Invariant: a detector
// that the policy does not name takes no endpoint out.
import type { Conf } from '../confs.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { decimal, given, optionalDuration } from '../../envoy/proto-json.ts';

type Detectors = NonNullable<Conf<'MeshCircuitBreaker'>['outlierDetection']>['detectors'];

export function circuitBreakers(conf: Conf<'MeshCircuitBreaker'>): JsonObject {
  return {
    circuitBreakers: { thresholds: [{ ...connectionLimits(conf), trackRemaining: true }] },
    ...outlierDetection(conf),
  };
}

/** The limits of CircuitBreakers.Thresholds. */
export function connectionLimits({ connectionLimits: limits = {} }: Conf<'MeshCircuitBreaker'>): JsonObject {
  const { maxConnections, maxPendingRequests, maxRequests, maxRetries, maxConnectionPools } = limits;
  return given({ maxConnections, maxPendingRequests, maxRequests, maxRetries, maxConnectionPools });
}

/** `{outlierDetection, commonLbConfig}`; nothing where it is off. */
export function outlierDetection({ outlierDetection: detection }: Conf<'MeshCircuitBreaker'>): JsonObject {
  if (detection === undefined || detection.disabled === true) return {};
  const { interval, baseEjectionTime, maxEjectionPercent, splitExternalAndLocalErrors, healthyPanicThreshold } = detection;
  const panic = decimal(healthyPanicThreshold);
  return {
    outlierDetection: given({
      interval: optionalDuration(interval),
      baseEjectionTime: optionalDuration(baseEjectionTime),
      maxEjectionPercent,
      splitExternalLocalOriginErrors: splitExternalAndLocalErrors,
      ...detectorsOf(detection.detectors),
    }),
    ...(panic !== undefined && { commonLbConfig: { healthyPanicThreshold: { value: panic } } }),
  };
}

/** Envoy enforces these detectors by itself. */
const OFF = {
  enforcingConsecutive5xx: 0,
  enforcingConsecutiveLocalOriginFailure: 0,
  enforcingSuccessRate: 0,
  enforcingLocalOriginSuccessRate: 0,
};

function detectorsOf(detectors: Detectors): Record<string, Json | undefined> {
  const { totalFailures, gatewayFailures, localOriginFailures, successRate, failurePercentage } = detectors;
  return {
    ...OFF,
    ...(totalFailures !== undefined && { consecutive5xx: totalFailures.consecutive, enforcingConsecutive5xx: 100 }),
    ...(gatewayFailures !== undefined && {
      consecutiveGatewayFailure: gatewayFailures.consecutive,
      enforcingConsecutiveGatewayFailure: 100,
    }),
    ...(localOriginFailures !== undefined && {
      consecutiveLocalOriginFailure: localOriginFailures.consecutive,
      enforcingConsecutiveLocalOriginFailure: 100,
    }),
    ...(successRate !== undefined && {
      enforcingSuccessRate: 100,
      enforcingLocalOriginSuccessRate: 100,
      successRateMinimumHosts: successRate.minimumHosts,
      successRateRequestVolume: successRate.requestVolume,
      successRateStdevFactor: thousandths(successRate.standardDeviationFactor),
    }),
    ...(failurePercentage !== undefined && {
      failurePercentageThreshold: failurePercentage.threshold,
      failurePercentageMinimumHosts: failurePercentage.minimumHosts,
      failurePercentageRequestVolume: failurePercentage.requestVolume,
      enforcingFailurePercentage: 100,
      enforcingFailurePercentageLocalOrigin: 100,
    }),
  };
}

/** Envoy counts the factor in thousandths. */
function thousandths(factor: string | number | undefined): number | undefined {
  const read = decimal(factor);
  return read === undefined ? undefined : Math.round(read * 1000);
}
