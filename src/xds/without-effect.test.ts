// Which policies are reported as without effect, by what the proxy is.
import { expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { buildRules } from '../policy/build-rules.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { ProxyTls } from './proxy-tls.ts';
import { reportWithoutEffect } from './without-effect.ts';

const TLS: ProxyTls = { identity: 'id', trustDomains: ['shop'], maySayStrict: true };
const INBOUND = { address: '10.0.0.1', inbound: [{ port: 8080, name: 'http', protocol: 'http' }] };
const EGRESS = { zoneEgress: { address: '10.0.0.1', port: 10_002 } };
const INGRESS = { zoneIngress: { address: '10.0.0.1', port: 10_001 } };
const CLIENT = { spiffeID: { type: 'Exact', value: 'spiffe://shop/a' } };
const FAULT = { http: [{ abort: { httpStatus: 503, percentage: 100 } }] };
const BANK = make('MeshExternalService', 'bank', { match: { type: 'HostnameGenerator', port: 443, protocol: 'http' } });
const from = (conf: JsonObject): { targetRef: JsonObject; from: JsonObject[] } => ({
  targetRef: { kind: 'Mesh' },
  from: [{ targetRef: { kind: 'Mesh' }, default: conf }],
});
const rules = (...confs: JsonObject[]): JsonObject => ({
  targetRef: { kind: 'Mesh' },
  rules: confs.map((conf) => ({ default: conf })),
});
const RETRY = { http: { numRetries: 3 } };
const LIMITS = { connectionLimits: { maxConnections: 7 } };
/** A policy with an item about an external service, or about another kind. */
const toBank = (top: string, conf: JsonObject, kind = 'MeshExternalService'): JsonObject => ({
  targetRef: { kind: top, ...(top === 'Dataplane' && { labels: { 'kuma.io/display-name': 'one' } }) },
  to: [{ targetRef: { kind, name: 'bank' }, default: conf }],
});
const ofClients = (type: string): string => `has no effect on a zone egress: a ${type} is for the proxies that send the requests`;
const PASSED_ON = 'has no effect on a zone ingress, which passes on the connections of other proxies';
const NOT_CALLED = 'has no effect on a zone egress, which calls external services alone';
const ALLOW = { allow: [CLIENT] };
const PASSTHROUGH = { targetRef: { kind: 'Mesh' }, default: { passthroughMode: 'None' } };

const WITHOUT_IDENTITY = 'is not enforced: the proxy has no identity, and without TLS clients cannot be identified';
const BY_SPIFFE_ID = 'is not enforced: name clients by SPIFFE ID in spec.rules';
const NOBODY = 'permits no client: set spiffeID or sni';
const PLAIN_TEXT = 'is not enforced: the proxy has no identity, and takes plain text';
const NO_PORT = 'has no effect: networking.transparentProxying has no redirectPortOutbound';
const NOT_TRANSPARENT = 'has no effect: the proxy has no transparent proxying';

it.each<[policy: string, type: string, spec: JsonObject, networking: JsonObject, tls: ProxyTls | null, expected: string[]]>([
  ['rules about clients', 'MeshTrafficPermission', rules(ALLOW), INBOUND, null, [`spec.rules ${WITHOUT_IDENTITY}`]],
  ['rules about clients', 'MeshTrafficPermission', rules(ALLOW), INBOUND, TLS, []],
  ['clients by tag', 'MeshTrafficPermission', from({ action: 'Allow' }), INBOUND, null, [`spec.from ${WITHOUT_IDENTITY}`]],
  ['clients by tag', 'MeshTrafficPermission', from({ action: 'Allow' }), INBOUND, TLS, [`spec.from ${BY_SPIFFE_ID}`]],
  ['faults for all clients', 'MeshFaultInjection', from(FAULT), INBOUND, null, []],
  [
    'faults for clients by tag',
    'MeshFaultInjection',
    { from: [...from(FAULT).from, { targetRef: { kind: 'MeshSubset', tags: { app: 'a' } }, default: FAULT }] },
    INBOUND,
    null,
    ['spec.from[1].targetRef has no effect: name clients by SPIFFE ID in spec.rules'],
  ],
  ['rules about clients', 'MeshTrafficPermission', rules(ALLOW), INGRESS, null, []],
  ['rules about clients', 'MeshTrafficPermission', rules(ALLOW), EGRESS, null, [`spec.rules ${WITHOUT_IDENTITY}`]],
  [
    'an empty match',
    'MeshTrafficPermission',
    rules(ALLOW, { allow: [CLIENT, {}], allowWithShadowDeny: [{}], deny: [{}] }),
    INBOUND,
    TLS,
    [`spec.rules[1].default.allow[1] ${NOBODY}`, `spec.rules[1].default.allowWithShadowDeny[0] ${NOBODY}`],
  ],
  [
    'the second rule',
    'MeshTLS',
    rules({ mode: 'Permissive' }, { mode: 'Strict' }),
    INBOUND,
    null,
    [`spec.rules[1].default.mode ${PLAIN_TEXT}`],
  ],
  ['an old strict mode', 'MeshTLS', from({ mode: 'Strict' }), INBOUND, null, [`spec.from[0].default.mode ${PLAIN_TEXT}`]],
  ['a strict mode', 'MeshTLS', rules({ mode: 'Strict' }), INBOUND, TLS, []],
  ['a permissive mode', 'MeshTLS', rules({ mode: 'Permissive' }), INBOUND, null, []],
  ['a passthrough', 'MeshPassthrough', PASSTHROUGH, INBOUND, TLS, [`spec.default ${NOT_TRANSPARENT}`]],
  [
    'a passthrough',
    'MeshPassthrough',
    PASSTHROUGH,
    { ...INBOUND, transparentProxying: { redirectPortInbound: 15_006 } },
    null,
    [`spec.default ${NO_PORT}`],
  ],
  [
    'a passthrough',
    'MeshPassthrough',
    PASSTHROUGH,
    { ...INBOUND, transparentProxying: { redirectPortOutbound: 15_001 } },
    null,
    [],
  ],
  ['a timeout', 'MeshTimeout', rules({ idleTimeout: '5s' }), INBOUND, null, []],
  ['retries of all proxies', 'MeshRetry', toBank('Mesh', RETRY), EGRESS, TLS, []],
  ['retries', 'MeshRetry', toBank('Dataplane', RETRY), INBOUND, TLS, []],
  ['retries', 'MeshRetry', toBank('Dataplane', RETRY), EGRESS, TLS, [`spec.to[0] ${ofClients('MeshRetry')}`]],
  ['logs', 'MeshAccessLog', toBank('Dataplane', { backends: [] }), EGRESS, TLS, [`spec.to[0] ${ofClients('MeshAccessLog')}`]],
  ['limits of connections', 'MeshCircuitBreaker', toBank('Dataplane', LIMITS), EGRESS, TLS, []],
  ['limits of connections', 'MeshCircuitBreaker', toBank('Dataplane', LIMITS), INGRESS, TLS, [`spec.to[0] ${PASSED_ON}`]],
  [
    'limits of a service',
    'MeshCircuitBreaker',
    toBank('Dataplane', LIMITS, 'MeshService'),
    EGRESS,
    TLS,
    [`spec.to[0] ${NOT_CALLED}`],
  ],
  [
    'timeouts',
    'MeshTimeout',
    toBank('Dataplane', { connectionTimeout: '1s', http: { requestTimeout: '1s', maxStreamDuration: '5s' } }),
    EGRESS,
    TLS,
    ['spec.to[0].default.http.requestTimeout has no effect on a zone egress: it is for the proxies that send the requests'],
  ],
  [
    'a balancer',
    'MeshLoadBalancingStrategy',
    toBank('Dataplane', { loadBalancer: { type: 'Random' }, localityAwareness: { disabled: true } }),
    EGRESS,
    TLS,
    ['spec.to[0].default.localityAwareness has no effect on a zone egress: it is for the proxies that send the requests'],
  ],
])('%s of a %s', (_, type, spec, networking, tls, expected) => {
  const index = new MeshIndex('default', [make('Dataplane', 'one', { networking }), BANK, make(type, 'p', spec)]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  const problems: ConfigProblem[] = [];
  reportWithoutEffect({ index, rules: buildRules(index, proxy), tls }, (problem) => void problems.push(problem));
  expect(problems.map(({ field, reason }) => `${field} ${reason}`)).toEqual(expected);
  const kris = new Set(problems.map(({ policy }) => policy));
  expect([...kris]).toEqual(expected.length === 0 ? [] : [index.policyOf(make(type, 'p', spec))?.kri]);
});
