// MeshRetry (policies 2.2): which failures are tried again, and how often.
import { z } from 'zod';
import { parseGoDuration } from '../../base/duration.ts';
import { http } from '../../base/node-http.ts';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { headerMatch, headerName } from './header-match.ts';
import { isSet, items, at } from './json-access.ts';
import { textOf } from '../read-json.ts';
import { checkFrame, ROUTE_ADVICE, proxyOrRouteRef, routeLimits, toItems, type PolicyDocument } from './policy-frame.ts';
import { bigCount, choice, count, duration, must, positiveDuration, textMap } from './spec-fields.ts';
import { atLeastOne, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { ROUTE_KINDS } from './target-ref.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

const METHODS = ['Connect', 'Delete', 'Get', 'Head', 'Options', 'Patch', 'Post', 'Put', 'Trace'].map(
  (name) => `HttpMethod${name}`,
);
const HTTP_RETRY_ON = [
  '5xx',
  'GatewayError',
  'Reset',
  'Retriable4xx',
  'ConnectFailure',
  'EnvoyRatelimited',
  'RefusedStream',
  'Http3PostConnectFailure',
  ...METHODS,
];
const httpRetryOnSentence = must(`one of ${HTTP_RETRY_ON.join(', ')}, or a status code in quotes such as "503"`);
const httpRetryOn = z
  .string(httpRetryOnSentence)
  .refine((given) => HTTP_RETRY_ON.includes(given) || Object.hasOwn(http.STATUS_CODES, given), httpRetryOnSentence);

const retries = {
  numRetries: count(0).describe('1 if not set; 0 = no retries.').optional(),
  perTryTimeout: duration().describe('For each try.').optional(),
  backOff: withRules(
    z.object({
      baseInterval: positiveDuration().describe('25ms if not set.').optional(),
      maxInterval: positiveDuration().describe('Ten times baseInterval if not set.').optional(),
    }),
    atLeastOne('baseInterval', 'maxInterval'),
    maxNotBelowBase,
  ).optional(),
  rateLimitedBackOff: z
    .object({
      resetHeaders: z.array(z.object({ name: headerName(), format: choice('Seconds', 'UnixTimestamp') })).min(1),
      maxInterval: positiveDuration().describe('300s if not set.').optional(),
    })
    .optional(),
};

const hostSelection = withRules(
  z.object({
    predicate: choice('OmitPreviousHosts', 'OmitHostsWithTags', 'OmitPreviousPriorities'),
    tags: textMap().optional(),
    updateFrequency: count(1, 'int32').default(2),
  }),
  (selection, path, findings) => {
    if (selection['predicate'] === 'OmitHostsWithTags' && !isSet(selection['tags']))
      findings.violation(child(path, 'tags'), 'must be given with predicate OmitHostsWithTags');
  },
);

const httpShape = {
  ...retries,
  retryOn: z.array(httpRetryOn).optional(),
  retriableRequestHeaders: z.array(headerMatch).optional(),
  retriableResponseHeaders: z.array(headerMatch).optional(),
  hostSelection: z.array(hostSelection).optional(),
  hostSelectionMaxAttempts: bigCount().optional(),
};
const grpcShape = {
  ...retries,
  retryOn: z.array(choice('Canceled', 'DeadlineExceeded', 'Internal', 'ResourceExhausted', 'Unavailable')).optional(),
};

const conf = withRules(
  z.object({
    tcp: z.object({ maxConnectAttempt: count(1) }).optional(),
    http: withRules(z.object(httpShape), notEmpty(httpShape), priorityOnce).optional(),
    grpc: withRules(z.object(grpcShape), notEmpty(grpcShape)).optional(),
  }),
  atLeastOne('tcp', 'http', 'grpc'),
);

const onRoutes = routeLimits({
  MeshHTTPRoute: { ignored: ['tcp'], allowed: 'http and grpc' },
  MeshTCPRoute: { refused: ['http', 'grpc'], allowed: 'tcp' },
});

export const meshRetrySpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh', ...SERVICE_TYPES, ...ROUTE_KINDS], conf, onRoutes),
});

export function checkMeshRetry(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame(
    { gateway: 'system', toBelowRoute: ['Mesh', 'MeshExternalService'], routeAdvice: ROUTE_ADVICE },
    spec,
    document,
    findings,
  );
}

/** Without a baseInterval it is 25 ms. */
function maxNotBelowBase({ baseInterval, maxInterval }: JsonObject, path: string, findings: Findings): void {
  const [base, max] = [baseInterval ?? '25ms', maxInterval].map((given) =>
    typeof given === 'string' ? parseGoDuration(given) : null,
  );
  if (typeof base === 'number' && typeof max === 'number' && max < base)
    findings.violation(
      child(path, 'maxInterval'),
      `must not be less than baseInterval, which is ${textOf(baseInterval) || '25ms'}`,
    );
}

function notEmpty(shape: Readonly<Record<string, unknown>>) {
  const [first = '', ...others] = Object.keys(shape);
  return atLeastOne(first, ...others);
}

function priorityOnce(http: JsonObject, path: string, findings: Findings): void {
  let count = 0;
  for (const [index, selection] of items(http['hostSelection']).entries()) {
    if (at(selection, 'predicate') !== 'OmitPreviousPriorities') continue;
    count += 1;
    if (count > 1)
      findings.violation(child(child(path, 'hostSelection'), index), 'must not be OmitPreviousPriorities a second time');
  }
}
