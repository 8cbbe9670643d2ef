// MeshCircuitBreaker: limits of connections, and endpoints that are taken out for a time (policies 2.6, xds 3.3). Invariant: a detector
// that the policy does not name takes no endpoint out.
import { isObject, objectOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { decimal, given, optionalDuration } from './proto-json.ts';

const LIMITS = ['maxConnections', 'maxPendingRequests', 'maxRequests', 'maxRetries', 'maxConnectionPools'];

/** The limits of CircuitBreakers.Thresholds. */
export function connectionLimits(conf: JsonObject): JsonObject {
  const limits = objectOf(conf['connectionLimits']);
  return given(Object.fromEntries(LIMITS.map((key) => [key, limits[key]])));
}

/** `{outlierDetection, commonLbConfig}`; nothing where it is off. */
export function outlierDetection(conf: JsonObject): JsonObject {
  const detection = conf['outlierDetection'];
  if (!isObject(detection) || detection['disabled'] === true) return {};
  const { interval, baseEjectionTime, maxEjectionPercent, splitExternalAndLocalErrors, healthyPanicThreshold } = detection;
  const panic = decimal(healthyPanicThreshold);
  return {
    outlierDetection: given({
      interval: optionalDuration(interval),
      baseEjectionTime: optionalDuration(baseEjectionTime),
      maxEjectionPercent,
      splitExternalLocalOriginErrors: splitExternalAndLocalErrors,
      ...detectorsOf(objectOf(detection['detectors'])),
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

function detectorsOf(detectors: JsonObject): Record<string, Json | undefined> {
  const { totalFailures, gatewayFailures, localOriginFailures, successRate, failurePercentage } = detectors;
  return {
    ...OFF,
    ...(isObject(totalFailures) && { consecutive5xx: totalFailures['consecutive'], enforcingConsecutive5xx: 100 }),
    ...(isObject(gatewayFailures) && {
      consecutiveGatewayFailure: gatewayFailures['consecutive'],
      enforcingConsecutiveGatewayFailure: 100,
    }),
    ...(isObject(localOriginFailures) && {
      consecutiveLocalOriginFailure: localOriginFailures['consecutive'],
      enforcingConsecutiveLocalOriginFailure: 100,
    }),
    ...(isObject(successRate) && {
      enforcingSuccessRate: 100,
      enforcingLocalOriginSuccessRate: 100,
      successRateMinimumHosts: successRate['minimumHosts'],
      successRateRequestVolume: successRate['requestVolume'],
      successRateStdevFactor: thousandths(successRate['standardDeviationFactor']),
    }),
    ...(isObject(failurePercentage) && {
      failurePercentageThreshold: failurePercentage['threshold'],
      failurePercentageMinimumHosts: failurePercentage['minimumHosts'],
      failurePercentageRequestVolume: failurePercentage['requestVolume'],
      enforcingFailurePercentage: 100,
      enforcingFailurePercentageLocalOrigin: 100,
    }),
  };
}

/** Envoy counts the factor in thousandths. */
function thousandths(factor: Json | undefined): number | undefined {
  const read = decimal(factor);
  return read === undefined ? undefined : Math.round(read * 1000);
}
