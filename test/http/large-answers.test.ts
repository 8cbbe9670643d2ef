// Answers about a route of thousands of rules are made and printed in the turns of their caller, and have the text that they had.
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { FairQueue } from '../../src/base/fair-queue.ts';
import type { Steps } from '../../src/base/steps.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const RULES = 1_000;
/** The work is divided into at least so many steps. */
const MANY = 10;

let app: FastifyInstance;
/** Steps that were taken, of each work. */
let taken: number[] = [];

beforeEach(() => {
  taken = [];
  vi.spyOn(FairQueue.prototype, 'run').mockImplementation(async <T>(_caller: string, steps: Steps<T>): Promise<T> => {
    for (let count = 0; ; count += 1) {
      const { done, value } = steps.next();
      if (done !== true) continue;
      taken.push(count);
      return value;
    }
  });
});
afterEach(() => void vi.restoreAllMocks());

beforeAll(async () => {
  app = testApi(new TinyStore(), 'alone', { addRoutes: addPolicyInspect(globalSendRules()) });
  await put('/meshes/shop', { type: 'Mesh', name: 'shop' });
  const ports = [{ name: 'main', port: 80, targetPort: 80, appProtocol: 'http' }];
  const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
  await put('/meshes/shop/meshservices/cart', { type: 'MeshService', mesh: 'shop', name: 'cart', spec: { selector, ports } });
  const outbound = [{ port: 10_080, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];
  const inbound = [{ name: 'main', port: 80, tags: { 'kuma.io/service': 'web' } }];
  const networking = { address: '192.0.2.1', inbound, outbound };
  await put('/meshes/shop/dataplanes/web', { type: 'Dataplane', mesh: 'shop', name: 'web', networking });
  await put('/meshes/shop/meshhttproutes/long', document(1));
});
afterAll(async () => await app.close());

function document(version: number): object {
  const rules = Array.from({ length: RULES }, (_, at) => ({
    matches: [{ path: { type: 'PathPrefix', value: at === 0 ? `/v${String(version)}` : `/${String(at)}` } }],
    default: { backendRefs: [{ kind: 'MeshService', name: 'cart', port: 80 }] },
  }));
  const to = [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules }];
  return { type: 'MeshHTTPRoute', mesh: 'shop', name: 'long', spec: { to } };
}

async function put(url: string, payload: object): Promise<LightMyRequestResponse> {
  const answer = await app.inject({ method: 'PUT', url, payload });
  expect([200, 201]).toContain(answer.statusCode);
  return answer;
}

it.each([
  ['a resource', '/meshes/shop/meshhttproutes/long'],
  ['a list', '/meshes/shop/meshhttproutes'],
  ['a list of all meshes', '/meshhttproutes'],
])('%s', async (_, url) => {
  const answer = await app.inject({ url });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.body).toBe(`${JSON.stringify(answer.json(), null, 1)}\n`);
  expect(answer.body).toContain(`"/${String(RULES - 1)}"`);
  expect(Math.max(...taken)).toBeGreaterThan(MANY);
});

it.each(['_rules', '_effective', '_config', '_config?shadow=true&include=diff'])('%s of a proxy', async (view) => {
  const answer = await app.inject({ url: `/meshes/shop/dataplanes/web/${view}` });
  expect(answer.statusCode, answer.body).toBe(200);
  expect(answer.body).toContain(`"/${String(RULES - 1)}"`);
  // It is made in steps, and printed in others.
  expect(taken.filter((steps) => steps > MANY).length).toBeGreaterThanOrEqual(2);
});

it('a dry run that compares two versions', async () => {
  const url = '/meshes/shop/meshhttproutes/long?dryRun=true';
  const answer = await app.inject({ method: 'PUT', url, payload: document(2) });
  expect(answer.json<{ diff: object[] }>().diff).toEqual([
    { op: 'replace', path: '/spec/to/0/rules/0/matches/0/path/value', value: '/v2' },
  ]);
  // Each rule is compared in a step, and the answer is printed in others.
  expect(taken.filter((steps) => steps > MANY).length).toBeGreaterThanOrEqual(2);
  expect(Math.max(...taken)).toBeGreaterThanOrEqual(RULES);
});
