// Common mistakes in policies over REST: the answer lists every violation with its path, and nothing is stored. A doubtful policy is
// stored, with a warning (D7, D16).
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createLogger } from '../../src/base/log.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { TinyStore } from '../support/tiny-store.ts';

const store = new TinyStore();
let app: FastifyInstance;

beforeAll(async () => {
  app = createApi({
    ...{ store, mode: 'global', zone: null, federated: false, readOnly: false, config: {}, metrics: new Registry() },
    ...{ product: 'Meridian', productVersion: '0-preview', instanceId: 'i', clusterId: async () => 'c' },
    ...{
      clock: systemClock,
      log: createLogger('silent'),
      proxyAdmin: async () => new Uint8Array(),
      meshDefaults: async () => [],
    },
    addRoutes: addPolicyInspect(globalSendRules()),
  });
  const dataplane = { networking: { address: '10.0.0.1', inbound: [{ port: 8080, name: 'http' }] } };
  await store.write({ op: 'put', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'default', name: 'web' }, labels: {}, spec: dataplane });
});

afterAll(async () => app.close());

type Answer = {
  readonly status: number;
  readonly fields: string[];
  readonly reasons: string[];
  readonly warnings: string[];
  readonly text: string;
};

async function put(type: string, path: string, spec: unknown, labels: Record<string, string> = {}): Promise<Answer> {
  return await putText(path, JSON.stringify({ type, mesh: 'default', name: 'bad', labels, spec }));
}

async function putText(path: string, payload: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.inject({ method: 'PUT', url: `/meshes/default/${path}/bad`, payload, headers });
  const body = answer.json<{ invalid_parameters?: { field: string; reason: string }[]; warnings?: string[] }>();
  const violations = body.invalid_parameters ?? [];
  return {
    status: answer.statusCode,
    fields: violations.map(({ field }) => field),
    reasons: violations.map(({ reason }) => reason),
    warnings: body.warnings ?? [],
    text: answer.body,
  };
}

function timeoutOn(targetRef: unknown, conf: unknown, top?: unknown): unknown {
  return { ...(top !== undefined && { targetRef: top }), to: [{ targetRef, default: conf }] };
}

const MESH = { kind: 'Mesh' };
const SECOND = { connectionTimeout: '1s' };
const HASH = [{ type: 'Header', header: { name: 'x' } }];

describe('the API refuses', () => {
  const cases: [what: string, type: string, path: string, spec: unknown, fields: string[]][] = [
    ['a kind that is none', 'MeshTimeout', 'meshtimeouts', timeoutOn({ kind: 'Moon' }, SECOND), ['spec.to[0].targetRef.kind']],
    [
      'a kind that is not for to[]',
      'MeshTimeout',
      'meshtimeouts',
      timeoutOn({ kind: 'Dataplane' }, SECOND),
      ['spec.to[0].targetRef.kind'],
    ],
    [
      'durations that are none, in every place',
      'MeshTimeout',
      'meshtimeouts',
      timeoutOn(MESH, { connectionTimeout: 'soon', idleTimeout: 5, http: { requestTimeout: '-1s' } }),
      ['spec.to[0].default.connectionTimeout', 'spec.to[0].default.idleTimeout', 'spec.to[0].default.http.requestTimeout'],
    ],
    [
      'a load balancer of a route',
      'MeshLoadBalancingStrategy',
      'meshloadbalancingstrategies',
      timeoutOn({ kind: 'MeshHTTPRoute', name: 'r' }, { loadBalancer: { type: 'Random' }, localityAwareness: {} }),
      ['spec.to[0].default.loadBalancer', 'spec.to[0].default.localityAwareness'],
    ],
    [
      'MADR 075, example 1: hash policies in both places',
      'MeshLoadBalancingStrategy',
      'meshloadbalancingstrategies',
      timeoutOn(MESH, { hashPolicies: HASH, loadBalancer: { type: 'RingHash', ringHash: { hashPolicies: HASH } } }),
      ['spec.to[0].default.loadBalancer.ringHash.hashPolicies'],
    ],
    ['nothing to say', 'MeshTimeout', 'meshtimeouts', { targetRef: MESH }, ['spec']],
    ['no list where one must be', 'MeshTimeout', 'meshtimeouts', { to: { targetRef: MESH } }, ['spec.to']],
  ];

  it.each(cases)('%s', async (_, type, path, spec, fields) => {
    const before = store.rows.size;
    const answer = await put(type, path, spec);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.fields.toSorted()).toEqual(expect.arrayContaining(fields.toSorted()));
    for (const reason of answer.reasons) expect(reason).not.toBe('');
    expect(store.rows.size).toBe(before);
  });

  it('a route at the top of a producer or a consumer, and several to[] in their routes (MADR 063)', async () => {
    const labels = { 'k8s.kuma.io/namespace': 'shop' };
    const top = { kind: 'MeshHTTPRoute', name: 'r' };
    const onTop = await put('MeshTimeout', 'meshtimeouts', timeoutOn(MESH, { http: { requestTimeout: '1s' } }, top), labels);
    expect([onTop.status, onTop.fields]).toEqual([400, expect.arrayContaining(['spec.targetRef.kind'])]);
    const item = { targetRef: { kind: 'MeshService', name: 'a' }, rules: [{ matches: [{ method: 'GET' }], default: {} }] };
    const route = await put('MeshHTTPRoute', 'meshhttproutes', { to: [item, item] }, labels);
    expect([route.status, route.fields]).toEqual([400, ['spec.to']]);
  });

  it('deeply nested objects, and keys of prototypes', async () => {
    const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`;
    const head = '{"type":"MeshTimeout","mesh":"default","name":"bad","spec":';
    expect((await putText('meshtimeouts', `${head}${deep}}`)).status).toBe(400);
    for (const key of ['__proto__', '\\u005f_proto__']) {
      const spec = `{"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"1s","${key}":{"polluted":true}}}]}`;
      const answer = await putText('meshtimeouts', `${head}${spec}}`);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('__proto__')]);
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(store.rows.size).toBe(2);
  });

  it('a policy of one MB, with a bounded number of violations', async () => {
    const items = Array.from({ length: 9_000 }, () => ({ targetRef: { kind: 'Moon' }, default: { idleTimeout: 'soon' } }));
    const answer = await put('MeshTimeout', 'meshtimeouts', { to: items });
    expect(answer.status).toBe(400);
    expect(answer.fields.length).toBeLessThanOrEqual(1_001);
    expect(answer.fields.slice(0, 2).toSorted()).toEqual(['spec.to[0].default.idleTimeout', 'spec.to[0].targetRef.kind']);
    expect((await put('MeshTimeout', 'meshtimeouts', { to: items, more: 'x'.repeat(1_000_000) })).status).toBe(413);
  });
});

describe('the API stores', () => {
  it('a policy of one MB, which inspect shows', async () => {
    const items = Array.from({ length: 8_000 }, (_, at) => ({
      targetRef: { kind: 'MeshService', name: `service-${String(at)}`, sectionName: 'http' },
      default: { idleTimeout: '1s' },
    }));
    expect((await put('MeshTimeout', 'meshtimeouts', { to: items })).status).toBe(201);
    const rules = await app.inject('/meshes/default/dataplanes/web/_rules');
    const { warnings } = rules.json<{ rules: { warnings: string[] }[] }>().rules[0] ?? { warnings: [] };
    expect(warnings).toHaveLength(8_000);
  });

  it('a policy without its unknown key, with a warning that names the nearest key; apply refuses it (D7)', async () => {
    const spec = timeoutOn(MESH, { ...SECOND, conectionTimeout: '2s' });
    const answer = await put('MeshTimeout', 'meshtimeouts', spec);
    expect(answer.status).toBe(200);
    expect(answer.warnings).toEqual([expect.stringMatching(/^spec\.to\[0\]\.default\.conectionTimeout: .*connectionTimeout/)]);
    const [row] = [...store.rows.values()].filter(({ type }) => type === 'MeshTimeout');
    expect(row?.spec['to']).toEqual([{ targetRef: MESH, default: SECOND }]);
    const applied = await app.inject({
      method: 'POST',
      url: '/_apply',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify([{ type: 'MeshTimeout', mesh: 'default', name: 'bad', spec }]),
    });
    expect(applied.statusCode).toBe(400);
    expect(applied.body).toContain('spec.to[0].default.conectionTimeout');
  });

  it('unresolved references, which inspect shows', async () => {
    const spec = timeoutOn({ kind: 'MeshHTTPRoute', name: 'none' }, { http: { requestTimeout: '1s' } });
    expect((await put('MeshTimeout', 'meshtimeouts', spec)).status).toBe(200);
    const sentence = 'MeshHTTPRoute none does not exist';
    expect((await app.inject('/meshes/default/dataplanes/web/_rules')).body).toContain(sentence);
    const reach = await app.inject('/meshes/default/meshtimeouts/bad/_reach');
    expect(reach.json()).toMatchObject({ total: 0, warnings: [`spec.to[0].targetRef: ${sentence}`] });
  });

  it('old forms of system policies, each with a warning (MADR 063, 075)', async () => {
    const top = { kind: 'MeshHTTPRoute', name: 'r' };
    const onTop = await put('MeshTimeout', 'meshtimeouts', timeoutOn(MESH, { http: { requestTimeout: '1s' } }, top));
    expect([onTop.status, onTop.warnings]).toEqual([200, [expect.stringMatching(/^spec\.targetRef/)]]);
    const nested = { loadBalancer: { type: 'RingHash', ringHash: { hashPolicies: HASH } } };
    const balanced = await put('MeshLoadBalancingStrategy', 'meshloadbalancingstrategies', timeoutOn(MESH, nested));
    expect([balanced.status, balanced.warnings]).toEqual([
      201,
      [expect.stringMatching(/^spec\.to\[0\]\.default\.loadBalancer\.ringHash\.hashPolicies: .*hashPolicies/)],
    ]);
    const item = { targetRef: { kind: 'MeshService', name: 'a' }, rules: [{ matches: [{ method: 'GET' }], default: {} }] };
    const route = await put('MeshHTTPRoute', 'meshhttproutes', { to: [item, item] });
    expect([route.status, route.warnings]).toEqual([201, [expect.stringMatching(/^spec\.to: /)]]);
  });

  it.each([
    [
      'MeshTimeout',
      'meshtimeouts',
      { connectionTimeout: '1s', idleTimeout: '1s', http: { requestTimeout: '1s', maxStreamDuration: '1s' } },
      ['connectionTimeout', 'idleTimeout', 'http.maxStreamDuration'],
    ],
    ['MeshRetry', 'meshretries', { tcp: { maxConnectAttempt: 1 }, http: { numRetries: 1 } }, ['tcp']],
  ])('a %s with conf that has no effect on a route, with a warning for each field', async (type, path, conf, fields) => {
    const answer = await put(type, path, timeoutOn({ kind: 'MeshHTTPRoute', name: 'r' }, conf));
    expect(answer.status, answer.text).toBeLessThan(300);
    const expected = fields.map((field) => expect.stringContaining(`spec.to[0].default.${field}: has no effect`) as unknown);
    expect(answer.warnings).toEqual(expected);
  });
});
