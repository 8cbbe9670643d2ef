// MeshRetry (policies 2.2): which failures are tried again, and how often.
import { z } from 'zod';
import { parseGoDuration } from '../../base/duration.ts';
import { http } from '../../base/node-http.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { headerMatch, headerName } from '../../schema/header-match.ts';
import { isSet, items, at } from '../../resource/json-access.ts';
import { textOf } from '../../resource/read-json.ts';
import {
  checkFrame,
  ROUTE_ADVICE,
  proxyOrRouteRef,
  routeLimits,
  toItems,
  type PolicyDocument,
} from '../../schema/policy-frame.ts';
import { bigCount, choice, count, duration, must, positiveDuration, textMap } from '../../schema/spec-fields.ts';
import { atLeastOne, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import { ROUTE_KINDS } from '../../schema/target-ref.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

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
  numRetries: count(0).describe('How often a request is tried again. 1 if not set; 0 = no retries.').optional(),
  perTryTimeout: duration().describe('How long each try may take. As long as the request if not set.').optional(),
  backOff: withRules(
    z.object({
      baseInterval: positiveDuration()
        .describe('Wait before the first retry; later ones are longer. 25ms if not set.')
        .optional(),
      maxInterval: positiveDuration().describe('Longest wait before a retry. Ten times baseInterval if not set.').optional(),
    }),
    atLeastOne('baseInterval', 'maxInterval'),
    maxNotBelowBase,
  )
    .describe('How long a proxy waits before a retry.')
    .optional(),
  rateLimitedBackOff: z
    .object({
      resetHeaders: z
        .array(
          z.object({
            name: headerName().describe('Name of the header, such as Retry-After.'),
            format: choice('Seconds', 'UnixTimestamp').describe('Whether it says a number of seconds or a point in time.'),
          }),
        )
        .min(1)
        .describe('Headers of the answer that say how long to wait. The first that is there counts.'),
      maxInterval: positiveDuration()
        .describe('Longest wait; a header that says more is left aside. 300s if not set.')
        .optional(),
    })
    .describe('How long a proxy waits when the answer says when to come again.')
    .optional(),
};

const hostSelection = withRules(
  z.object({
    predicate: choice('OmitPreviousHosts', 'OmitHostsWithTags', 'OmitPreviousPriorities').describe(
      'Leaves out endpoints that were tried, those with tags, or priorities (such as zones) that were tried.',
    ),
    tags: textMap().describe('Labels of the endpoints that are left out. For OmitHostsWithTags.').optional(),
    updateFrequency: count(1, 'int32')
      .describe('After how many tries priorities are looked at again. For OmitPreviousPriorities.')
      .default(2),
  }),
  (selection, path, findings) => {
    if (selection['predicate'] === 'OmitHostsWithTags' && !isSet(selection['tags']))
      findings.violation(child(path, 'tags'), 'must be given with predicate OmitHostsWithTags');
  },
);

const httpShape = {
  ...retries,
  retryOn: z
    .array(httpRetryOn)
    .describe('Failures, statuses and methods that are retried. GatewayError, ConnectFailure and RefusedStream if not set.')
    .optional(),
  retriableRequestHeaders: z
    .array(headerMatch)
    .describe('Only requests with one of these headers are retried. All if not set.')
    .optional(),
  retriableResponseHeaders: z.array(headerMatch).describe('Answers with one of these headers are retried too.').optional(),
  hostSelection: z.array(hostSelection).describe('Which endpoints a retry leaves out. None if not set.').optional(),
  hostSelectionMaxAttempts: bigCount()
    .describe('How often an endpoint is chosen for a retry before one that is left out is taken. 1 if not set.')
    .optional(),
};
const grpcShape = {
  ...retries,
  retryOn: z
    .array(choice('Canceled', 'DeadlineExceeded', 'Internal', 'ResourceExhausted', 'Unavailable'))
    .describe('Statuses that are retried. Those but DeadlineExceeded and Internal, and failed connections, if not set.')
    .optional(),
};

const conf = withRules(
  z.object({
    tcp: z
      .object({ maxConnectAttempt: count(1).describe('How often a proxy tries to connect to an endpoint.') })
      .describe('For ports of TCP.')
      .optional(),
    http: withRules(z.object(httpShape), notEmpty(httpShape), priorityOnce).describe('For ports of HTTP.').optional(),
    grpc: withRules(z.object(grpcShape), notEmpty(grpcShape)).describe('For ports of gRPC.').optional(),
  }),
  atLeastOne('tcp', 'http', 'grpc'),
).describe('Which failures are tried again, and how often.');

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
