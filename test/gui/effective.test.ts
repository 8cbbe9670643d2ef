// The values that the page of a proxy shows with the policies that set them, and those that match and set nothing.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { sectionsOf, type Effective } from '../../web/src/effective.ts';
import { losersOf, type Rules } from '../../web/src/losers.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

let store: TinyStore;
let app: FastifyInstance;

const OWNER = { type: 'Zone', mesh: '', name: 'east' };
const labelsOf = (name: string) => ({
  ...{ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/mesh': 'shop', 'kuma.io/display-name': name },
  app: name,
});
const CART = { kind: 'Dataplane', labels: { app: 'cart' } };
const MESH = { kind: 'Mesh' };
const exact = (name: string) => ({ spiffeID: { type: 'Exact', value: `spiffe://shop/${name}` } });

beforeEach(async () => {
  store = new TinyStore().withZones('east');
  app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()) });
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  const inbound = [{ port: 8080, name: 'main', protocol: 'http', tags: { 'kuma.io/service': 'cart' } }];
  const spec = { networking: { address: '192.0.2.1', inbound } };
  const key = { type: 'Dataplane', mesh: 'shop', name: 'cart' };
  await store.write({ op: 'create', key, labels: labelsOf('cart'), spec, owner: OWNER });
});
afterEach(async () => app.close());

async function apply(...policies: readonly (readonly [type: string, name: string, spec: object])[]): Promise<void> {
  const payload = policies.map(([type, name, spec]) => ({ type, mesh: 'shop', name, spec }));
  const answer = await app.inject({ method: 'POST', url: '/_apply', payload });
  expect([answer.statusCode, answer.body]).toEqual([200, expect.anything()]);
}

async function get<T>(path: string): Promise<T> {
  return (await app.inject(`/meshes/shop/dataplanes/cart/${path}`)).json<T>();
}

async function rows(): Promise<string[]> {
  return sectionsOf(await get<Effective>('_effective')).flatMap(({ title, rows: found }) =>
    found.map(({ kind, where, path, value, origins }) =>
      [title, kind, ...(where === '' ? [] : [where]), path, value, origins.map(({ name }) => name).join()].join(' | '),
    ),
  );
}

async function losers(): Promise<string[] | undefined> {
  return losersOf(await get<Effective>('_effective'), await get<Rules>('_rules'))?.map(({ name }) => name);
}

it('an inbound has the values of each match with the policy of each', async () => {
  await apply(
    ['MeshTrafficPermission', 'who', { targetRef: MESH, rules: [{ default: { allow: [exact('web')] } }] }],
    ['MeshTrafficPermission', 'who-else', { targetRef: MESH, rules: [{ default: { allow: [exact('jobs')] } }] }],
    [
      'MeshFaultInjection',
      'slowly',
      {
        targetRef: MESH,
        rules: [{ matches: [exact('web')], default: { http: [{ abort: { httpStatus: 503, percentage: 50 } }] } }],
      },
    ],
  );
  const allowed = (name: string): string => JSON.stringify([exact(name)]);
  expect((await rows()).toSorted()).toEqual([
    'Inbound main | MeshFaultInjection | Exact spiffe://shop/web | http | [{"abort":{"httpStatus":503,"percentage":50}}] | slowly',
    `Inbound main | MeshTrafficPermission | allow | ${allowed('jobs')} | who-else`,
    `Inbound main | MeshTrafficPermission | allow | ${allowed('web')} | who`,
  ]);
  expect(await losers()).toEqual([]);
});

it('a value of an inbound is of the policy that set it, and the other one is a loser', async () => {
  await apply(
    ['MeshTimeout', 'for-all', { targetRef: MESH, rules: [{ default: { idleTimeout: '5s' } }] }],
    ['MeshTimeout', 'for-cart', { targetRef: CART, rules: [{ default: { idleTimeout: '7s' } }] }],
  );
  expect(await rows()).toEqual(['Inbound main | MeshTimeout | idleTimeout | 7s | for-cart']);
  expect(await losers()).toEqual(['for-all']);
});

it('a value of the whole proxy is of the policy that set it, and the other one is a loser', async () => {
  await apply(
    ['MeshMetric', 'for-all', { targetRef: MESH, default: { sidecar: { includeUnused: false } } }],
    ['MeshMetric', 'for-cart', { targetRef: CART, default: { sidecar: { includeUnused: true } } }],
  );
  expect(await rows()).toEqual(['The whole proxy | MeshMetric | sidecar.includeUnused | true | for-cart']);
  expect(await losers()).toEqual(['for-all']);
});

it('an empty object is a value', async () => {
  const outlierDetection = { detectors: { totalFailures: {} } };
  await apply(['MeshCircuitBreaker', 'breaks', { targetRef: MESH, rules: [{ default: { outlierDetection } }] }]);
  expect(await rows()).toEqual(['Inbound main | MeshCircuitBreaker | outlierDetection.detectors.totalFailures | {} | breaks']);
});

it('the losers are unknown when the answer lacks outbounds', async () => {
  const ports = [{ port: 80, name: 'main', appProtocol: 'http', targetPort: 80 }];
  for (const name of ['first', 'second']) {
    const spec = { selector: { dataplaneLabels: { matchLabels: { app: 'none' } } }, ports };
    const key = { type: 'MeshService', mesh: 'shop', name };
    await store.write({ op: 'create', key, labels: labelsOf(name), spec, owner: OWNER });
  }
  const toSecond = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'second' } };
  const to = [{ targetRef: toSecond, default: { idleTimeout: '7s' } }];
  await apply(['MeshTimeout', 'of-second', { targetRef: MESH, to }]);
  const answered = await get<Rules>('_rules');
  expect(losersOf(await get<Effective>('_effective?size=1'), answered)).toBeNull();
  expect(losersOf(await get<Effective>('_effective'), answered)).toEqual([]);
});
