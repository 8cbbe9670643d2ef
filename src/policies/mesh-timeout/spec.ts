// MeshTimeout (policies 2.1): how long connections and requests may take.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { narrowingMatch, refusedWithSpiffe } from '../../schema/inbound-match.ts';
import { at, items } from '../../resource/json-access.ts';
import { isObject } from '../../resource/read-json.ts';
import {
  checkFrame,
  ROUTE_ADVICE,
  fromItems,
  proxyOrRouteRef,
  routeLimits,
  ruleItems,
  toItems,
  type PolicyDocument,
} from '../../schema/policy-frame.ts';
import { duration, positiveDuration } from '../../schema/spec-fields.ts';
import { atLeastOne, refuses, withRules } from '../../schema/spec-rules.ts';
import { ROUTE_KINDS } from '../../schema/target-ref.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

const http = withRules(
  z.object({
    requestTimeout: duration().describe('For the whole request. 0 = off; 15s if not set.').optional(),
    streamIdleTimeout: duration().describe('Without a byte on the stream. 0 = off; 30m if not set.').optional(),
    maxStreamDuration: duration().describe('Longest life of a stream. 0 = off, as if not set.').optional(),
    maxConnectionDuration: duration().describe('Longest life of a connection. 0 = off, as if not set.').optional(),
    requestHeadersTimeout: duration().describe('Until the headers are complete. 0 = off, as if not set.').optional(),
  }),
  atLeastOne('requestTimeout', 'streamIdleTimeout', 'maxStreamDuration', 'maxConnectionDuration'),
);

const conf = withRules(
  z.object({
    connectionTimeout: positiveDuration().describe('Until a connection stands. 5s if not set.').optional(),
    idleTimeout: duration().describe('Without traffic on the connection. 0 = off; 1h if not set.').optional(),
    http: http.describe('Timeouts of HTTP requests and of their connections.').optional(),
  }),
  atLeastOne('connectionTimeout', 'idleTimeout', 'http'),
).describe('How long connections and requests may take.');

const CONNECTION = ['connectionTimeout', 'idleTimeout', 'http.maxStreamDuration', 'http.maxConnectionDuration'];
const OF_HTTP = Object.keys(http.shape).map((key) => `http.${key}`);

const onRoutes = routeLimits({
  MeshHTTPRoute: {
    ignored: [...CONNECTION, 'http.requestHeadersTimeout'],
    allowed: 'http.requestTimeout and http.streamIdleTimeout',
  },
  MeshTCPRoute: { refused: ['connectionTimeout', ...OF_HTTP], allowed: 'idleTimeout' },
});

export const meshTimeoutSpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh', ...SERVICE_TYPES, ...ROUTE_KINDS], conf, onRoutes),
  from: fromItems(['Mesh'], conf),
  rules: ruleItems(narrowingMatch, conf, refusedWithSpiffe([...CONNECTION, 'http.requestHeadersTimeout'])),
});

const refusedBelowRoute = refuses(CONNECTION, 'must not be set below a top-level route: it belongs to the connection');

export function checkMeshTimeout(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame(
    {
      oneOf: ['to', 'rules', 'from'],
      besideRules: ['to', 'from'],
      gateway: 'system',
      toBelowRoute: ['Mesh', 'MeshExternalService'],
      routeAdvice: ROUTE_ADVICE,
    },
    spec,
    document,
    findings,
  );
  const kind = at(spec, 'targetRef.kind');
  const isRoute = kind === 'MeshHTTPRoute' || kind === 'MeshTCPRoute';
  if ((isRoute || kind === 'MeshGateway') && items(spec['from']).length > 0)
    findings.violation('spec.from', `must not be set below a top-level ${kind}`);
  for (const [index, item] of items(isRoute ? spec['to'] : undefined).entries()) {
    const given = at(item, 'default');
    if (isObject(given)) refusedBelowRoute(given, `spec.to[${index}].default`, findings);
  }
}
