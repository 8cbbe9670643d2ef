// The older inspect endpoints of a proxy (rest-api 4): the attached policies, and the configuration that a zone would generate.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { objectOf } from '../../src/resource/read-json.ts';
import { testApi, type Place } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

const PROXY = '/meshes/default/dataplanes/web-1';
let store: TinyStore;
let app: FastifyInstance;

async function create(type: string, name: string, spec: object, labels: Record<string, string> = {}): Promise<void> {
  const mesh = type === 'Mesh' ? '' : 'default';
  await store.write({ op: 'create', key: { type, mesh, name }, labels, spec: spec as Record<string, never> });
}

beforeEach(async () => {
  store = new TinyStore();
  await create('Mesh', 'default', {});
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  await create('Dataplane', 'web-1', { networking: { address: '10.0.0.1', inbound } }, { app: 'web' });
  const ports = [{ port: 80, targetPort: 8080, name: 'http', appProtocol: 'http' }];
  await create('MeshService', 'cart', { selector: { dataplaneLabels: { matchLabels: { app: 'web' } } }, ports });
  open('global');
});

afterEach(async () => app.close());

function open(place: Place): void {
  app = testApi(store, place, { addRoutes: addPolicyInspect(globalSendRules()) });
}

async function ask(path: string): Promise<{ status: number; body: Record<string, unknown>; allow: unknown }> {
  const answer = await app.inject(`${PROXY}${path}`);
  return { status: answer.statusCode, body: answer.json(), allow: answer.headers['allow'] };
}

describe('a missing object', () => {
  const nobody = '/meshes/default/dataplanes/nobody';
  it.each([
    [`${nobody}/_rules`, 'Could not retrieve Dataplane'],
    [`${nobody}/_policies`, 'Could not retrieve Dataplane'],
    [`${nobody}/_inbounds/kri_dp_default___nobody_http/_policies`, 'Could not retrieve Dataplane'],
    [`${nobody}/_outbounds/kri_msvc_default___cart_80/_policies`, 'Could not retrieve Dataplane'],
    [`${nobody}/_outbounds/kri_msvc_default___cart_80/_routes`, 'Could not retrieve Dataplane'],
    [`${nobody}/policies`, 'Could not get MatchedPolicies'],
    [`${nobody}/_layout`, 'Failed to retrieve Dataplane'],
    [`${nobody}/xds`, 'Could not get dataplane resource'],
    [`${nobody}/stats`, 'Could not get dataplane resource'],
    ['/meshes/default/meshtimeouts/none/_resources/dataplanes', 'Could not retrieve policy'],
    ['/meshes/default/meshtimeouts/none/dataplanes', 'Could not retrieve policy'],
    ['/meshes/default/meshservices/none/_dataplanes', 'Could not retrieve policy'],
    ['/meshes/none/meshservices/none/_dataplanes', 'Failed to retrieve Mesh'],
    ['/meshes/none/dataplanes/none/_rules', 'Failed to retrieve Mesh'],
  ])('gives a 404 with the title that kumactl prints, and is named: %s', async (url, title) => {
    const answer = await app.inject(url);
    const name = /\/(none|nobody)\b/.exec(url)?.[1];
    expect([answer.statusCode, answer.json()]).toMatchObject([404, { title, missing: { name } }]);
  });
});

it('a list of other things than resources has no filter by label', async () => {
  const reason = 'this list has no filter but name=<part of a name>';
  for (const field of ['filter[labels.a]', 'filter[x]'])
    expect(await ask(`/_effective?${field}=b`)).toMatchObject({ status: 400, body: { invalid_parameters: [{ field, reason }] } });
});

describe('policies of a proxy', () => {
  const conf = { http: { requestTimeout: '5s' } };

  it('are listed by their attachment: the proxy, its inbounds, its outbounds', async () => {
    await create('MeshTrace', 'trace', { default: { sampling: { overall: 80 } } });
    await create('MeshTimeout', 'in', { rules: [{ default: conf }] });
    await create('MeshTimeout', 'all', { to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
    await create('MeshTimeout', 'cart', {
      to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: { idleTimeout: '1s' } }],
    });
    const { status, body } = await ask('/policies');
    const named = (name: string): unknown => expect.objectContaining({ mesh: 'default', name, labels: {} });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        kind: 'SidecarDataplane',
        total: 3,
        items: [
          { type: 'dataplane', matchedPolicies: { MeshTrace: [named('trace')] } },
          { type: 'inbound', name: 'http', matchedPolicies: { MeshTimeout: [named('in')] } },
          {
            type: 'outbound',
            name: 'kri_msvc_default___cart_http',
            service: 'cart',
            matchedPolicies: { MeshTimeout: [named('all'), named('cart')] },
          },
        ],
      },
    });
  });

  it('are empty when none is attached', async () => {
    expect((await ask('/policies')).body).toEqual({ kind: 'SidecarDataplane', total: 0, items: [] });
    expect((await app.inject('/meshes/default/dataplanes/none/policies')).statusCode).toBe(404);
  });
});

describe('the configuration of a proxy', () => {
  const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
  const ROUTES = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';

  it.each(['global', 'zone', 'alone'] as const)('is answered by a control plane %s, by type and name', async (place) => {
    await app.close();
    open(place);
    const { status, body } = await ask('/_config');
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['xds']);
    expect(body['xds']).toMatchObject({ [LISTENER]: { self_inbound_dp_http: { name: 'self_inbound_dp_http' } } });
    expect((await app.inject('/meshes/default/dataplanes/none/_config')).statusCode).toBe(404);
  });

  it('shows the changes by shadow policies, and nothing of them without the option', async () => {
    const spec = { rules: [{ default: { http: { requestTimeout: '7s' } } }] };
    const labels = { 'kuma.io/effect': 'shadow' };
    await store.write({ op: 'create', key: { type: 'MeshTimeout', mesh: 'default', name: 'shadow' }, labels, spec });
    const plain = await ask('/_config?include=diff');
    expect(plain.body['diff']).toEqual([]);
    const { body } = await ask('/_config?shadow=true&include=diff');
    expect(body['diff']).not.toEqual([]);
    expect(JSON.stringify(body['diff'])).toContain('7s');
    expect(JSON.stringify(objectOf(body['xds'])[ROUTES])).toContain('7s');
    expect(JSON.stringify(plain.body['xds'])).not.toContain('7s');
  });

  it('is not that of a proxy with another word in the query', async () => {
    expect((await ask('/_config?shadow=yes')).status).toBe(400);
    expect((await ask('/_config?include=all')).status).toBe(400);
  });

  it('follows what the proxy can do', async () => {
    const key = { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' };
    const listener = async (): Promise<unknown> => objectOf((await ask('/_config')).body['xds'])[LISTENER];
    const before = JSON.stringify(await listener());
    expect(before).toContain('"enableReusePort":false');
    await store.write({ op: 'create', key, labels: {}, spec: { metadata: { features: ['feature-reuse-port'] } } });
    expect(JSON.stringify(await listener())).not.toBe(before);
  });
});

describe('_sync', () => {
  it('is answered under every path of a type', async () => {
    await store.write({ op: 'create', key: { type: 'GlobalSecret', mesh: '', name: 's' }, labels: {}, spec: { data: '' } });
    for (const path of ['/globalsecrets/s/_sync', '/global-secrets/s/_sync'])
      expect((await app.inject({ url: path, headers: { host: 'localhost' } })).statusCode).toBe(200);
  });
});

describe('a proxy with redirected connections', () => {
  const REDIRECTED = '/meshes/default/dataplanes/redirected';
  const ports = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };
  const outbound = [{ port: 10_001, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];
  const put = (more: object): Promise<void> =>
    create('Dataplane', 'redirected', { networking: { address: '10.0.0.2', inbound: [{ port: 8080 }], ...more } });
  const read = async (path: string): Promise<Record<string, unknown>> => (await app.inject(REDIRECTED + path)).json();

  it.each<[what: string, more: object, ports: string[]]>([
    ['all services', {}, ['cart']],
    ['none', { reachableBackends: { refs: [] } }, []],
    ['those that it names', { reachableBackends: { refs: [{ kind: 'MeshService', name: 'cart' }] } }, ['cart']],
  ])('has outbounds to %s, which it does not list', async (_, more, services) => {
    await app.close();
    open('zone');
    await put({ transparentProxying: { ...ports, ...more } });
    expect((await read('/_layout'))['outbounds']).toHaveLength(services.length);
    expect(await read('/_effective')).toMatchObject({ total: services.length });
  });

  it('has the outbounds that it lists beside those that it reaches', async () => {
    await put({ transparentProxying: { ...ports, reachableBackends: { refs: [] } }, outbound });
    expect((await read('/_layout'))['outbounds']).toHaveLength(1);
    expect(await read('/_effective')).not.toHaveProperty('problems');
  });
});
