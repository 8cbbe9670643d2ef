// MeshCircuitBreaker (policies 2.6): limits on connections, and which endpoints are left out for their failures.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { inboundMatch } from './inbound-match.ts';
import { at, items } from './json-access.ts';
import { checkFrame, fromItems, proxyRef, toItems, type PolicyDocument } from './policy-frame.ts';
import { count, disabled, flag, integer, intOrDecimal, percentage, positiveDuration } from './spec-fields.ts';
import { atLeastOne, withRules } from './spec-rules.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

/** Envoy counts the factor in thousandths, in 32 bits. */
const MAX_FACTOR = 4_294_967;

const limit = () => count(1).optional();

const connectionLimits = z.object({
  maxConnections: limit(),
  maxConnectionPools: limit(),
  maxPendingRequests: limit(),
  maxRetries: limit(),
  maxRequests: limit(),
});

const consecutive = () => z.object({ consecutive: limit() }).optional();

const detectors = withRules(
  z.object({
    totalFailures: consecutive(),
    gatewayFailures: consecutive(),
    localOriginFailures: consecutive(),
    successRate: z
      .object({
        minimumHosts: limit(),
        requestVolume: limit(),
        standardDeviationFactor: intOrDecimal(
          `over 0 and at most ${MAX_FACTOR}`,
          (value) => value > 0 && value <= MAX_FACTOR,
        ).optional(),
      })
      .optional(),
    failurePercentage: z
      .object({ minimumHosts: limit(), requestVolume: limit(), threshold: integer(0, 100, 'uint32').optional() })
      .optional(),
  }),
  atLeastOne('totalFailures', 'gatewayFailures', 'localOriginFailures', 'successRate', 'failurePercentage'),
);

const outlierDetection = z.object({
  disabled: disabled(),
  interval: positiveDuration().optional(),
  baseEjectionTime: positiveDuration().optional(),
  maxEjectionPercent: integer(0, 100, 'uint32').optional(),
  splitExternalAndLocalErrors: flag().optional(),
  healthyPanicThreshold: percentage().optional(),
  detectors,
});

const conf = withRules(
  z.object({ connectionLimits: connectionLimits.optional(), outlierDetection: outlierDetection.optional() }),
  atLeastOne('connectionLimits', 'outlierDetection'),
);

export const meshCircuitBreakerSpec = z.object({
  targetRef: proxyRef(),
  to: toItems(['Mesh', ...SERVICE_TYPES], conf),
  from: fromItems(['Mesh'], conf),
  rules: z
    .array(
      z.object({
        matches: z.array(inboundMatch).describe('Has no effect: a limit is shared by all clients.').optional(),
        default: conf,
      }),
    )
    .optional(),
});

export function checkMeshCircuitBreaker(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ oneOf: ['to', 'rules', 'from'], besideRules: ['from'] }, spec, document, findings);
  for (const [index, item] of items(spec['rules']).entries()) {
    if (items(at(item, 'matches')).length > 0)
      findings.warning(`spec.rules[${index}].matches`, 'has no effect: a limit is shared by all clients');
  }
}
