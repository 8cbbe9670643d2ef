// The allowed combinations of sections and kinds in a policy (policies 1.2, 4).
import { describe, expect, it } from 'vitest';
import { findIn, inNamespace, NOTHING_FOUND } from '../validation/spec-table.fixture.ts';

const CONF: Readonly<Record<string, string>> = {
  MeshTimeout: '{ idleTimeout: 1s }',
  MeshAccessLog: '{ backends: [] }',
  MeshCircuitBreaker: '{ connectionLimits: { maxRetries: 1 } }',
  MeshRateLimit: '{ local: { http: { requestRate: { num: 1, interval: 1s } } } }',
  MeshFaultInjection: '{ http: [{ abort: { httpStatus: 500, percentage: 1 } }] }',
  MeshTrafficPermission: '{ deny: [{ spiffeID: { type: Exact, value: "spiffe://a/b" } }] }',
  MeshRetry: '{ tcp: { maxConnectAttempt: 1 } }',
  MeshHealthCheck: '{ tcp: {} }',
  MeshLoadBalancingStrategy: '{ hashPolicies: [] }',
};
const ref = (kind: string): string => `{ kind: ${kind}${kind.startsWith('Mesh') && kind !== 'Mesh' ? ', name: a' : ''} }`;
const to = (type: string, kind = 'Mesh'): string => `to: [{ targetRef: ${ref(kind)}, default: ${CONF[type]} }]\n`;
const from = (type: string): string => `from: [{ targetRef: { kind: Mesh }, default: ${CONF[type]} }]\n`;
const rules = (type: string): string => `rules: [{ default: ${CONF[type]} }]\n`;
const OLD_FROM = 'spec.from: is deprecated: use rules';

describe('sections', () => {
  it.each([
    ['MeshTimeout', 'to and from'],
    ['MeshAccessLog', 'to and from'],
    ['MeshCircuitBreaker', 'from'],
    ['MeshRateLimit', 'to and from'],
  ])('%s needs one, and does not allow rules beside %s', (type, others) => {
    const top = 'targetRef: { kind: Dataplane }\n';
    expect(findIn(type, top).violations).toEqual(['spec: must have at least one of to, rules, from']);
    expect(findIn(type, `${top}to: []`).violations).toEqual(['spec: must have at least one of to, rules, from']);
    expect(findIn(type, `${top}${rules(type)}`)).toEqual(NOTHING_FOUND);
    expect(findIn(type, `${top}${from(type)}`)).toEqual({ violations: [], warnings: [OLD_FROM] });
    expect(findIn(type, `${top}${rules(type)}${to(type)}${from(type)}`).violations).toContain(
      `spec.rules: must not stand beside ${others}: make two policies`,
    );
  });

  it.each(['MeshRetry', 'MeshHealthCheck', 'MeshLoadBalancingStrategy'])('%s has to[] only', (type) => {
    expect(findIn(type, to(type))).toEqual(NOTHING_FOUND);
    expect(findIn(type, `${to(type)}${rules(type)}`).violations).toEqual([
      'spec.rules: is not a known key; known keys are targetRef, to',
    ]);
  });

  it('MeshTrafficPermission has rules or from', () => {
    const type = 'MeshTrafficPermission';
    const old = 'from: [{ targetRef: { kind: MeshService, name: a }, default: { action: Allow } }]\n';
    expect(findIn(type, '{}').violations).toEqual(['spec: must have at least one of rules, from']);
    expect(findIn(type, rules(type))).toEqual(NOTHING_FOUND);
    expect(findIn(type, old)).toEqual({
      violations: [],
      warnings: [
        'spec.from: is deprecated: use rules with SPIFFE IDs',
        'spec.from[0].targetRef.kind: MeshService is deprecated here: use rules with SPIFFE IDs',
      ],
    });
    expect(findIn(type, rules(type) + old).violations).toEqual(['spec.rules: must not stand beside from: make two policies']);
    expect(findIn(type, `targetRef: { kind: MeshGateway, name: a }\n${rules(type)}`).violations).toEqual([
      'spec.targetRef.kind: must be one of Mesh, Dataplane, MeshSubset, MeshService, MeshServiceSubset, not "MeshGateway"',
    ]);
  });

  it('with a namespace, to and from need two policies', () => {
    const both = to('MeshTimeout') + from('MeshTimeout');
    expect(findIn('MeshTimeout', both).violations).toEqual([]);
    expect(findIn('MeshTimeout', both, { labels: inNamespace('a') }).violations).toEqual([
      'spec.from: must not stand beside to in a policy with a namespace',
    ]);
    expect(findIn('MeshTimeout', both, { labels: inNamespace('kuma-system') }).violations).toEqual([]);
  });

  it.each([
    ['MeshRateLimit', '{ kind: Mesh }', 'rules', false],
    ['MeshRateLimit', '{ kind: Mesh, proxyTypes: [Sidecar] }', 'rules', true],
    ['MeshRateLimit', '{ kind: Dataplane }', 'rules', true],
    ['MeshRateLimit', '{ kind: Mesh }', 'from', false],
    ['MeshRateLimit', '{ kind: Mesh }', 'to', true],
    ['MeshRateLimit', '{ kind: Dataplane }', 'to', false],
    ['MeshFaultInjection', '{ kind: Mesh }', 'rules', true],
    ['MeshFaultInjection', '{ kind: Mesh }', 'from', false],
    ['MeshFaultInjection', '{ kind: Mesh, proxyTypes: [Gateway] }', 'to', true],
    ['MeshFaultInjection', '{ kind: Mesh, proxyTypes: [Sidecar] }', 'to', false],
  ])('%s at %s may have %s: %s', (type, top, section, isAllowed) => {
    const items = section === 'to' ? to(type) : section === 'from' ? from(type) : rules(type);
    expect(findIn(type, `targetRef: ${top}\n${items}`).violations).toEqual(
      isAllowed
        ? []
        : [
            section === 'to'
              ? 'spec.to: must not be set where targetRef selects no gateways: use rules'
              : `spec.${section}: must not be set where targetRef may select gateways: use targetRef.kind Dataplane, or proxyTypes [Sidecar]`,
          ],
    );
  });
});

describe('kinds', () => {
  const KINDS = [
    'Mesh',
    'MeshService',
    'MeshExternalService',
    'MeshMultiZoneService',
    'MeshHTTPRoute',
    'MeshTCPRoute',
    'Dataplane',
    'MeshSubset',
  ];
  it.each([
    ['MeshAccessLog', 6],
    ['MeshCircuitBreaker', 4],
    ['MeshHealthCheck', 4],
    ['MeshLoadBalancingStrategy', 6],
    ['MeshRateLimit', 1],
    ['MeshFaultInjection', 1],
  ])('of to[] in %s are the first %i', (type, count) => {
    const taken = KINDS.filter((kind) =>
      findIn(type, to(type, kind)).violations.every((line) => !line.includes('.targetRef.kind:')),
    );
    expect(taken).toEqual(KINDS.slice(0, count));
  });

  const below = (type: string, top: string, kind: string): string =>
    `targetRef: ${ref(top)}\n${to(type, kind).replace('idleTimeout: 1s', 'http: { requestTimeout: 1s }')}`;

  it.each(['MeshTimeout', 'MeshRetry'])('below a route %s takes two in to[]', (type) => {
    expect(findIn(type, below(type, 'MeshHTTPRoute', 'MeshExternalService')).violations).toEqual([]);
    expect(findIn(type, below(type, 'MeshHTTPRoute', 'MeshService')).violations).toEqual([
      'spec.to[0].targetRef.kind: must be one of Mesh, MeshExternalService below a top-level MeshHTTPRoute',
    ]);
  });

  it.each(['MeshTimeout', 'MeshRetry', 'MeshAccessLog', 'MeshLoadBalancingStrategy'])(
    'below a gateway %s takes every kind in to[], with a warning',
    (type) => {
      for (const kind of ['Mesh', 'MeshService', 'MeshHTTPRoute']) {
        const { violations, warnings } = findIn(type, below(type, 'MeshGateway', kind));
        expect(violations).toEqual([]);
        expect(warnings).toContain('spec.targetRef.kind: MeshGateway selects nothing here: there are no built-in gateways');
      }
    },
  );

  it('MeshGateway is for the whole mesh in some policies', () => {
    const spec = `targetRef: { kind: MeshGateway, name: a }\n`;
    const options = { labels: inNamespace('a') };
    expect(findIn('MeshRetry', spec + to('MeshRetry'), options).violations).toEqual([
      'spec.targetRef.kind: must not be MeshGateway in a consumer policy',
    ]);
    expect(findIn('MeshHealthCheck', spec + to('MeshHealthCheck'), options).violations).toEqual([]);
  });

  it('MeshRateLimit has its own advice for a route at the top level', () => {
    expect(findIn('MeshRateLimit', `targetRef: { kind: MeshHTTPRoute, name: a }\n${to('MeshRateLimit')}`)).toEqual({
      violations: [],
      warnings: [
        'spec.targetRef.kind: MeshHTTPRoute is deprecated at the top level: a rate limit is for inbounds: use Dataplane',
      ],
    });
    expect(
      findIn('MeshHealthCheck', `targetRef: { kind: MeshHTTPRoute, name: a }\n${to('MeshHealthCheck')}`).violations,
    ).toHaveLength(1);
  });
});
