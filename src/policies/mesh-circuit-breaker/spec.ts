// MeshCircuitBreaker (policies 2.6): limits on connections, and which endpoints are left out for their failures.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { inboundMatch } from '../../schema/inbound-match.ts';
import { at, items } from '../../resource/json-access.ts';
import { checkFrame, fromItems, proxyRef, toItems, type PolicyDocument } from '../../schema/policy-frame.ts';
import { count, disabled, flag, integer, intOrDecimal, percentage, positiveDuration } from '../../schema/spec-fields.ts';
import { atLeastOne, withRules } from '../../schema/spec-rules.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

/** Envoy counts the factor in thousandths, in 32 bits. */
const MAX_FACTOR = 4_294_967;

const limit = (about: string) => count(1).describe(about).optional();

const connectionLimits = z.object({
  maxConnections: limit('Most connections at a time. 1024 if not set.'),
  maxConnectionPools: limit('Most pools of connections at a time. No limit if not set.'),
  maxPendingRequests: limit('Most requests that wait for a connection. 1024 if not set.'),
  maxRetries: limit('Most retries at a time. 3 if not set.'),
  maxRequests: limit('Most requests at a time. 1024 if not set.'),
});

const consecutive = (failures: string) =>
  z
    .object({ consecutive: limit('How many of them in a row. 5 if not set.') })
    .describe(`Leaves out an endpoint after ${failures}.`)
    .optional();
const minimumHosts = () => limit('Fewest endpoints with enough requests for a comparison. 5 if not set.');
const requestVolume = (least: number) =>
  limit(`Fewest requests in an interval for which an endpoint is judged. ${least} if not set.`);

const detectors = withRules(
  z.object({
    totalFailures: consecutive('answers 5xx, and connections that failed'),
    gatewayFailures: consecutive('answers 502, 503 and 504'),
    localOriginFailures: consecutive('connections that failed, with splitExternalAndLocalErrors'),
    successRate: z
      .object({
        minimumHosts: minimumHosts(),
        requestVolume: requestVolume(100),
        standardDeviationFactor: intOrDecimal(`over 0 and at most ${MAX_FACTOR}`, (value) => value > 0 && value <= MAX_FACTOR)
          .describe('How many standard deviations below the mean it may be. 1.9 if not set.')
          .optional(),
      })
      .describe('Leaves out an endpoint whose share of successes is far below the mean of all.')
      .optional(),
    failurePercentage: z
      .object({
        minimumHosts: minimumHosts(),
        requestVolume: requestVolume(50),
        threshold: integer(0, 100, 'uint32').describe('Share of failures in percent. 85 if not set.').optional(),
      })
      .describe('Leaves out an endpoint of whose requests too many fail.')
      .optional(),
  }),
  atLeastOne('totalFailures', 'gatewayFailures', 'localOriginFailures', 'successRate', 'failurePercentage'),
);

const outlierDetection = z.object({
  disabled: disabled(),
  interval: positiveDuration().describe('Between two looks at the counted failures. 10s if not set.').optional(),
  baseEjectionTime: positiveDuration()
    .describe('How long an endpoint is left out the first time; each time longer by this. 30s if not set.')
    .optional(),
  maxEjectionPercent: integer(0, 100, 'uint32')
    .describe('Most endpoints that are left out at a time, in percent; one may be in any case. 10 if not set.')
    .optional(),
  splitExternalAndLocalErrors: flag()
    .describe('Whether failed connections are counted apart from answers of the endpoint. False if not set.')
    .optional(),
  healthyPanicThreshold: percentage()
    .describe('With fewer healthy endpoints than this, in percent, requests go to all of them. 50 if not set.')
    .optional(),
  detectors: detectors.describe('Which failures count. A detector that is not named leaves nothing out.'),
});

const conf = withRules(
  z.object({
    connectionLimits: connectionLimits.describe('Limits beyond which requests fail at once.').optional(),
    outlierDetection: outlierDetection.describe('Leaves out endpoints that fail, for a time.').optional(),
  }),
  atLeastOne('connectionLimits', 'outlierDetection'),
).describe('Limits on a service, and when its endpoints are left out.');

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
    .describe('Conf of inbounds: what the proxy lets through to its application.')
    .optional(),
});

export function checkMeshCircuitBreaker(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ oneOf: ['to', 'rules', 'from'], besideRules: ['from'] }, spec, document, findings);
  for (const [index, item] of items(spec['rules']).entries()) {
    if (items(at(item, 'matches')).length > 0)
      findings.warning(`spec.rules[${index}].matches`, 'has no effect: a limit is shared by all clients');
  }
}
