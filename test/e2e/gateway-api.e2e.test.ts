// Gateway API routes on running control planes: refusals and their reasons, the derived resources and where they are synced, the
// status while a service is missing, and the deletion of everything derived with the route (GEP-718, D24, D25).
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';

type Body = Record<string, unknown>;
type Answer = { status: number; body: { invalid_parameters?: { field: string; reason: string }[] } & Body };
type Condition = { type: string; status: string; reason: string; message: string };

const MESH = 'shop';
const ZONE_ORIGIN = { 'kuma.io/origin': 'zone' };
const inNamespace = (namespace: string): Record<string, string> => ({ 'k8s.kuma.io/namespace': namespace });

async function call(at: ControlPlane, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${String(at.api)}${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function meridian(args: readonly string[], input = ''): Promise<Outcome> {
  return await runMeridian(args, { input });
}

/** A route to `cart` of namespace `shop`: `/stable` to cart itself, `/next` to a service that may not be there. */
function route(namespace: string, next: string, labels: Record<string, string> = {}): Body {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'cart-route', namespace, labels: { 'kuma.io/mesh': MESH, ...labels } },
    spec: {
      parentRefs: [{ kind: 'Service', name: 'cart', namespace: 'shop' }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/stable' } }],
          forwardTo: [{ backendRef: { name: 'cart', namespace: 'shop' }, port: 80 }],
        },
        {
          matches: [{ path: { type: 'PathPrefix', value: '/next' } }],
          backendRefs: [{ name: next, namespace: 'shop', port: 80, weight: 10 }],
          timeouts: { request: '2s' },
        },
      ],
    },
  };
}

async function putService(at: ControlPlane, name: string): Promise<void> {
  const body = {
    ...{ type: 'MeshService', mesh: MESH, name, labels: { ...ZONE_ORIGIN, ...inNamespace('shop') } },
    spec: { ports: [{ port: 80, targetPort: 80, appProtocol: 'http' }] },
  };
  expect((await call(at, 'PUT', `/meshes/${MESH}/meshservices/${name}`, body)).status).toBeLessThan(300);
}

async function conditionsOf(at: ControlPlane, name = 'cart-route.shop'): Promise<Record<string, Condition>> {
  const { body } = await call(at, 'GET', `/meshes/${MESH}/httproutes/${name}`);
  const { parents = [] } = (body['status'] ?? {}) as { parents?: { conditions: Condition[] }[] };
  return Object.fromEntries((parents[0]?.conditions ?? []).map((condition) => [condition.type, condition]));
}

/** The paths that the mesh routes of a control plane match, and of which route: `cart-route /stable`. */
async function pathsAt(at: ControlPlane): Promise<string[]> {
  type Spec = { to: { rules: { matches: { path: { value: string } }[] }[] }[] };
  return [...(await at.rows('MeshHTTPRoute')).values()]
    .flatMap(({ labels, spec }) =>
      (spec as Spec).to.flatMap(({ rules }) =>
        rules.flatMap(({ matches }) =>
          matches.map(
            ({ path }) => `${String(labels['kuma.io/display-name'])} ${path.value} ${String(labels['kuma.io/policy-role'])}`,
          ),
        ),
      ),
    )
    .sort();
}

const WHOLE = ['cart-route /stable producer', 'cart-route-t02 /next producer'];

describe('Gateway API routes', () => {
  let global: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west']);
    global = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    const mesh = { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] };
    expect(await global.put(`/meshes/${MESH}`, mesh)).toBe(201);
    const until = (isTrue: () => Promise<boolean>): Promise<void> =>
      vi.waitFor(async () => expect(await isTrue()).toBe(true), WAIT);
    for (const zone of [east, west]) await until(async () => (await zone.rows('Mesh')).has(MESH));
    await putService(east, 'cart');
    await until(async () => (await west.rows('MeshService')).size === 1);
  });

  afterAll(() => fleet.stop());

  beforeEach(async () => {
    for (const at of [global, east, west]) expect(await pathsAt(at)).toEqual([]);
  });

  it('are refused with the invalid field, as it was spelled, and nothing is stored', async () => {
    const wrong = route('shop', 'next', ZONE_ORIGIN);
    (wrong['spec'] as Body)['rules'] = [
      { forwardTo: [{ serviceName: 'cart', port: 80 }] },
      { forwardTo: [{ backendRef: { name: 'cart' }, port: 80, weight: 1_000_001 }] },
      { backendRefs: [{ name: 'cart' }, { name: 'cart', port: 80, weight: -1 }] },
      { forwardTo: [{ serviceName: 'cart', backendRef: { name: 'cart' }, port: 80 }] },
      { backendRefs: [{ name: 'cart', port: 80 }], filters: [{ type: 'CORS', cors: {} }] },
    ];
    const fields = [
      'rules[0].forwardTo[0].serviceName',
      'rules[1].forwardTo[0].weight',
      'rules[2].backendRefs[0].port',
      'rules[2].backendRefs[1].weight',
      'rules[3].forwardTo[0].serviceName',
      'rules[4].filters[0].type',
    ];
    const { status, body } = await call(east, 'POST', '/_apply', [wrong]);
    expect(status).toBe(400);
    const named = (body.invalid_parameters ?? []).map(({ field }) => field).toSorted();
    expect(named).toEqual(fields.map((field) => `documents[0].spec.${field}`));
    expect(body.invalid_parameters?.[0]?.reason).toContain('write backendRef: {name: "cart"} and port: 80');

    const universal = { type: 'HTTPRoute', mesh: MESH, name: 'cart-route', labels: { ...ZONE_ORIGIN, ...inNamespace('shop') } };
    const put = await call(east, 'PUT', `/meshes/${MESH}/httproutes/cart-route`, { ...universal, spec: wrong['spec'] });
    expect([put.status, (put.body.invalid_parameters ?? []).map(({ field }) => field).toSorted()]).toEqual([
      400,
      fields.map((field) => `spec.${field}`),
    ]);

    const other = await call(east, 'POST', '/_apply', [{ ...wrong, kind: 'TLSRoute' }]);
    expect([other.status, other.body.invalid_parameters?.[0]?.field]).toEqual([400, 'documents[0].kind']);
    const nameless = await call(east, 'POST', '/_apply', [{ ...route('shop', 'next'), metadata: {} }]);
    expect([nameless.status, nameless.body.invalid_parameters?.[0]?.field]).toEqual([400, 'documents[0].metadata.name']);
    expect((await east.rows('HTTPRoute')).size).toBe(0);
  });

  it('omit a rule while its service is missing, report it, and include it when the service is synced from another zone', async () => {
    expect((await call(east, 'POST', '/_apply', [route('shop', 'next', ZONE_ORIGIN)])).status).toBe(200);
    await expect.poll(() => pathsAt(east), WAIT).toEqual(['cart-route /stable producer']);
    await expect
      .poll(() => conditionsOf(east), WAIT)
      .toMatchObject({
        Accepted: { status: 'True' },
        ResolvedRefs: { status: 'False', reason: 'DegradedRoutes' },
        PartiallyInvalid: { status: 'True', reason: 'BackendNotFound' },
      });
    expect((await conditionsOf(east))['PartiallyInvalid']?.message).toContain('spec.rules[1].backendRefs[0]: Service "next"');
    // A producer route goes to the other zone, its source stays.
    for (const at of [global, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual(['cart-route /stable producer']);

    await putService(west, 'next');
    for (const at of [east, global, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual(WHOLE);
    await expect
      .poll(async () => Object.entries(await conditionsOf(east)).map(([type, { status }]) => `${type} ${status}`), WAIT)
      .toEqual(['Accepted True', 'ResolvedRefs True']);
    const identity = { mesh: MESH, name: 'cart-route', zone: 'east', namespace: 'shop' };
    expect((await west.rows('MeshHTTPRoute')).has(hashName(identity))).toBe(true);
    for (const at of [global, west]) expect((await at.rows('HTTPRoute')).size).toBe(0);

    expect((await call(west, 'DELETE', `/meshes/${MESH}/meshservices/next.shop`)).status).toBe(200);
    for (const at of [east, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual(['cart-route /stable producer']);
    await expect.poll(async () => (await conditionsOf(east))['ResolvedRefs']?.status, WAIT).toBe('False');

    expect((await call(east, 'DELETE', `/meshes/${MESH}/httproutes/cart-route.shop`)).status).toBe(200);
    for (const at of [east, global, west]) {
      await expect.poll(() => pathsAt(at), WAIT).toEqual([]);
      const timeouts = async (): Promise<string[]> =>
        [...(await at.rows('MeshTimeout'))].filter(([, { mesh }]) => mesh === MESH).map(([name]) => name);
      await expect.poll(timeouts, WAIT).toEqual([]);
    }
  });

  it('apply to clients of their own namespace only as consumer routes', async () => {
    expect((await call(east, 'POST', '/_apply', [route('web', 'cart', ZONE_ORIGIN)])).status).toBe(200);
    const consumer = ['cart-route /stable consumer', 'cart-route-t02 /next consumer'];
    for (const at of [east, global]) await expect.poll(() => pathsAt(at), WAIT).toEqual(consumer);
    // What is sent to west after the route has reached global: when it is there, the route would be too.
    await putService(east, 'after');
    await expect.poll(async () => (await west.rows('MeshService')).size, WAIT).toBe(2);
    expect(await pathsAt(west)).toEqual([]);
    expect((await call(east, 'DELETE', `/meshes/${MESH}/httproutes/cart-route.web`)).status).toBe(200);
    for (const at of [east, global]) await expect.poll(() => pathsAt(at), WAIT).toEqual([]);
  });

  it('on global resolve the services of zones, and apply in every zone', async () => {
    expect((await call(global, 'POST', '/_apply', [route('shop', 'cart')])).status).toBe(200);
    for (const at of [global, east, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual(WHOLE);
    await expect.poll(async () => (await conditionsOf(global))['ResolvedRefs']?.status, WAIT).toBe('True');
    for (const at of [east, west]) expect((await at.rows('HTTPRoute')).size).toBe(0);
    expect((await call(global, 'DELETE', `/meshes/${MESH}/httproutes/cart-route.shop`)).status).toBe(200);
    for (const at of [global, east, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual([]);
  });

  it('are applied as YAML and shown with conditions on the command line, which shows a mesh route as an HTTPRoute', async () => {
    const address = ['--address', `http://127.0.0.1:${String(east.api)}`];
    const applied = await meridian(['apply', '-f', '-', ...address], stringify(route('shop', 'next')));
    expect(applied, applied.stderr).toMatchObject({ code: 0 });
    await expect.poll(async () => (await conditionsOf(east))['ResolvedRefs']?.reason, WAIT).toBe('DegradedRoutes');
    const shown = await meridian(['get', 'httproutes', 'cart-route', '--mesh', MESH, '-o', 'yaml', ...address]);
    expect(shown.stdout).toMatch(/status:\n\s+parents:[\s\S]*conditions:[\s\S]*reason: DegradedRoutes/);
    const { body: object } = await call(east, 'GET', `/meshes/${MESH}/httproutes/cart-route.shop?format=k8s`);
    expect(object).toMatchObject({
      ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', spec: route('shop', 'next')['spec'] },
      metadata: { name: 'cart-route', namespace: 'shop' },
      status: { parents: [{ controllerName: 'meridian.internal/gateway-api' }] },
    });
    const inTable = await meridian(['get', 'httproutes', '--mesh', MESH, ...address]);
    expect(inTable.stdout).toMatch(/ACCEPTED\s+RESOLVED REFS[\s\S]*cart-route\s+east\s+True\s+False/);
    const inspected = await meridian(['inspect', 'routes', 'cart-route', '--mesh', MESH, ...address]);
    expect(inspected.stdout).toContain('    ResolvedRefs False (DegradedRoutes)\n');
    expect(inspected.stdout).toContain('the route became MeshHTTPRoute cart-route\n');
    const exported = await meridian(['export', '--mesh', MESH, ...address]);
    expect(exported.stdout).toContain('type: HTTPRoute');
    expect(exported.stdout).not.toContain('type: MeshHTTPRoute');
    const inverse = ['get', 'meshhttproutes', 'cart-route', '--mesh', MESH, '--format', 'gateway-api', '-o', 'yaml', ...address];
    const inGatewayForm = await meridian(inverse);
    expect(inGatewayForm.stdout).toContain('kind: HTTPRoute\nmetadata:\n  name: cart-route\n  namespace: shop\n');
    // The printed route can be applied again.
    const renamed = inGatewayForm.stdout.replace('name: cart-route', 'name: cart-route-again');
    const again = await meridian(['apply', '-f', '-', ...address], renamed);
    expect(again, again.stderr).toMatchObject({ code: 0 });
    await expect.poll(() => pathsAt(west), WAIT).toEqual(['cart-route /stable producer', 'cart-route-again /stable producer']);
    for (const name of ['cart-route', 'cart-route-again'])
      expect((await call(east, 'DELETE', `/meshes/${MESH}/httproutes/${name}.shop`)).status).toBe(200);
    for (const at of [global, east, west]) await expect.poll(() => pathsAt(at), WAIT).toEqual([]);
  });
});
