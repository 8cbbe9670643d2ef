// MeshRateLimit (policies 2.6): how many requests or connections a proxy takes in a time.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import { STATUS_NAMES } from '../../schema/envoy-statuses.ts';
import type { Findings } from '../../schema/findings.ts';
import { checkGatewaySections } from '../../schema/gateway-sections.ts';
import { headerAdditions } from '../../schema/header-match.ts';
import { narrowingMatch, refusedWithSpiffe } from '../../schema/inbound-match.ts';
import { items } from '../../resource/json-access.ts';
import { checkFrame, fromItems, proxyOrRouteRef, ruleItems, toItems, type PolicyDocument } from '../../schema/policy-frame.ts';
import { count, disabled, duration, integer } from '../../schema/spec-fields.ts';
import { atLeastOne, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';

const rate = z.object({
  num: count(1).describe('How many in each interval.'),
  interval: duration({ ms: 50, text: '50ms' }).describe('The time in which so many are allowed; over 50ms.'),
});

/** Envoy adds no more headers to the answer. */
const MAX_HEADERS = 10;

const headers = withRules(z.object(headerAdditions.shape), ({ set, add }, path, findings) => {
  if (items(set).length + items(add).length > MAX_HEADERS)
    findings.violation(path, `must have at most ${MAX_HEADERS} headers in set and add together`);
});

const onRateLimit = withRules(
  z.object({
    status: integer(100, 599, 'uint32').describe('Status of the answer. 429 if not set.').optional(),
    headers: headers.describe('Headers of the answer; at most 10.').optional(),
  }),
  (value, path, findings) => {
    const status = value['status'];
    if (typeof status === 'number' && !STATUS_NAMES.has(status))
      findings.warning(child(path, 'status'), `Envoy cannot answer a limited request with ${status}: clients get 429`);
  },
);

const local = withRules(
  z.object({
    http: withRules(
      z.object({
        disabled: disabled(),
        requestRate: rate.describe('Most requests in a time. The others are refused.').optional(),
        onRateLimit: onRateLimit.describe('The answer to a refused request.').optional(),
      }),
      atLeastOne('disabled', 'requestRate', 'onRateLimit'),
    )
      .describe('Limit of HTTP requests.')
      .optional(),
    tcp: withRules(
      z.object({
        disabled: disabled(),
        connectionRate: rate.describe('Most new connections in a time. The others are closed.').optional(),
      }),
      atLeastOne('disabled', 'connectionRate'),
    )
      .describe('Limit of new connections.')
      .optional(),
  }),
  atLeastOne('http', 'tcp'),
);

const conf = z
  .object({ local: local.describe('Limits that each proxy counts by itself.') })
  .describe('How many requests or connections a proxy takes in a time.');

export const meshRateLimitSpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh'], conf),
  from: fromItems(['Mesh'], conf),
  rules: ruleItems(narrowingMatch, conf, refusedWithSpiffe(['local.tcp'])),
});

export function checkMeshRateLimit(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame(
    {
      oneOf: ['to', 'rules', 'from'],
      besideRules: ['to', 'from'],
      gateway: 'system',
      routeAdvice: 'a rate limit is for inbounds: use Dataplane',
    },
    spec,
    document,
    findings,
  );
  checkGatewaySections(spec, ['from', 'rules'], findings);
}
