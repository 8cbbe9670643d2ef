// Inspect with real processes: policies from global and from a zone, queries to global, to the zone and from the command line.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { outputOf } from '../support/run-meridian.ts';
import { asInTheZone } from '../inspect/as-in-the-zone.ts';

const ORIGIN = { 'kuma.io/origin': 'zone' };
const CART = 'kri_msvc_shop_east__cart_80';
const SLOW = 'kri_mhttpr_shop___slow_';

let fleet: Fleet;
let global: ControlPlane;
let east: ControlPlane;
let west: ControlPlane;

beforeAll(async () => {
  fleet = await startFleet(inject('postgresUrl'), ['east', 'west']);
  ({ global } = fleet);
  [east, west] = fleet.zones as [ControlPlane, ControlPlane];
  await put(global, 'meshes/shop', { type: 'Mesh', name: 'shop', skipCreatingInitialPolicies: ['*'] });
  for (const zone of [east, west]) await until(async () => (await zone.rows('Mesh')).has('shop'), true);
  await put(east, 'meshes/shop/meshservices/cart', {
    ...{ type: 'MeshService', mesh: 'shop', name: 'cart', labels: ORIGIN },
    spec: { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } }, ports: [{ port: 80, appProtocol: 'http' }] },
  });
  for (const zone of [east, west]) {
    const networking = { address: '10.0.0.1', inbound: [{ port: 8080, name: 'http' }] };
    const body = { type: 'Dataplane', mesh: 'shop', name: 'web-1', labels: { app: 'web' }, networking };
    await put(zone, 'meshes/shop/dataplanes/web-1', body);
  }
  const slow = { path: { type: 'PathPrefix', value: '/slow' } };
  const byLabels = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };
  await put(global, 'meshes/shop/meshhttproutes/slow', {
    ...{ type: 'MeshHTTPRoute', mesh: 'shop', name: 'slow' },
    spec: { to: [{ targetRef: byLabels, rules: [{ matches: [slow], default: {} }] }] },
  });
  await put(global, 'meshes/shop/meshtimeouts/all', timeout('all', { kind: 'Mesh' }, '5s'));
  await put(global, 'meshes/shop/meshtimeouts/on-slow', timeout('on-slow', { kind: 'MeshHTTPRoute', name: 'slow' }, '30s'));
  await put(global, 'meshes/shop/meshtimeouts/lost', timeout('lost', { kind: 'MeshService', name: 'gone' }, '1s'));
  await put(east, 'meshes/shop/meshtimeouts/local', { ...timeout('local', { kind: 'Mesh' }, '7s'), labels: ORIGIN });
  for (const zone of [east, west]) await until(async () => (await zone.rows('MeshTimeout')).has(stored('lost')), true);
  await until(async () => (await west.rows('MeshService')).size, 1);
  await until(async () => (await global.rows('MeshTimeout')).has(stored('local', 'east')), true);
  for (const zone of ['east', 'west']) await until(async () => (await global.rows('Dataplane')).has(stored('web-1', zone)), true);
});

afterAll(() => fleet.stop());

describe('inspect', () => {
  it.each([
    '_rules',
    '_policies',
    '_layout',
    '_effective',
    '_config?include=diff&shadow=true',
    `_outbounds/${CART}/_policies`,
    `_outbounds/${CART}/_routes`,
    `_outbounds/${CART}/_routes/${SLOW}/_policies`,
  ])('%s of a proxy is the same on global and in its zone', async (question) => {
    for (const [name, zone] of [['east', east] as const, ['west', west] as const]) {
      const here = await ask(zone, `meshes/shop/dataplanes/web-1/${question}`);
      const there = await ask(global, `meshes/shop/dataplanes/${stored('web-1', name)}/${question}`);
      expect(asInTheZone(there, name)).toEqual(asInTheZone(here, name));
    }
  });

  it('gives each zone its own configuration in force', async () => {
    const path = `meshes/shop/dataplanes/web-1/_outbounds/${CART}`;
    const confOf = async (zone: ControlPlane, question: string): Promise<unknown> => {
      const { policies } = (await ask(zone, `${path}/${question}`)) as { policies: { kind: string; conf: unknown }[] };
      return policies.find(({ kind }) => kind === 'MeshTimeout')?.conf;
    };
    expect(await confOf(east, '_policies')).toEqual([{ http: { requestTimeout: '7s' } }]);
    expect(await confOf(west, '_policies')).toEqual([{ http: { requestTimeout: '5s' } }]);
    for (const zone of [east, west])
      expect(await confOf(zone, `_routes/${SLOW}/_policies`)).toEqual([{ http: { requestTimeout: '30s' } }]);
  });

  it('shows a write at once', async () => {
    const path = `meshes/shop/dataplanes/${stored('web-1', 'west')}/_outbounds/${CART}/_policies`;
    for (const seconds of ['11s', '12s', '13s', '5s']) {
      await put(global, 'meshes/shop/meshtimeouts/all', timeout('all', { kind: 'Mesh' }, seconds));
      expect(await ask(global, path)).toMatchObject({ policies: [{ conf: [{ http: { requestTimeout: seconds } }] }] });
    }
  });

  it('refuses an invalid policy with all violations, and changes nothing', async () => {
    const body = timeout('all', { kind: 'MeshHTTPRoute', name: 'slow' }, 'soon');
    const response = await fetch(url(global, 'meshes/shop/meshtimeouts/all'), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, spec: { targetRef: { kind: 'Nothing' }, ...(body['spec'] as object) } }),
    });
    expect(response.status).toBe(400);
    const { invalid_parameters: fields } = (await response.json()) as { invalid_parameters: { field: string }[] };
    expect(fields.map(({ field }) => field)).toEqual(['spec.targetRef.kind', 'spec.to[0].default.http.requestTimeout']);
    expect((await ask(global, 'meshes/shop/meshtimeouts/all')) as object).toMatchObject({
      spec: timeout('all', { kind: 'Mesh' }, '5s')['spec'],
    });
  });
});

describe('on a terminal', () => {
  it('inspect dataplane prints each value with its policy, the same in the zone and on global', async () => {
    const here = await meridian(east, 'inspect', 'dataplane', 'web-1', '--mesh', 'shop');
    expect(here).toContain('Dataplane web-1 (east)');
    expect(here).toMatch(/OUTBOUND MeshService cart \(east\) 80: port 80, http/);
    expect(here).toMatch(/http\.requestTimeout +7s +local \(east\)/);
    expect(here).toMatch(/ROUTE MeshHTTPRoute slow: PathPrefix \/slow/);
    expect(here).toMatch(/http\.requestTimeout +30s +on-slow/);
    expect(Math.max(...here.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    const there = await meridian(global, 'inspect', 'dataplane', stored('web-1', 'east'), '--mesh', 'shop');
    expect(there).toBe(here);
  });

  it('inspect dataplane --config prints what Envoy gets', async () => {
    const args = ['inspect', 'dataplane', 'web-1', '--mesh', 'shop', '--config'];
    expect(await meridian(east, ...args)).toMatch(
      /^type\.googleapis\.com\/envoy\.config\.listener\.v3\.Listener:\n {2}self_inbound_dp/m,
    );
    expect((await meridian(east, ...args, '--diff')).trim()).toBe('[]');
  });

  it('inspect policy prints the proxies of the policy, or why there are none', async () => {
    expect(await meridian(global, 'inspect', 'policy', 'mt', 'all', '--mesh', 'shop')).toMatch(
      /touches 2 proxies[^]*web-1 \(west\)/,
    );
    const lost = await meridian(global, 'inspect', 'policy', 'mt', 'lost', '--mesh', 'shop');
    expect(lost).toContain('touches no proxy');
    expect(lost).toContain('MeshService gone does not exist');
  });

  it('explain-sync names each zone, the name there and the rule', async () => {
    const shared = await meridian(global, 'explain-sync', 'mt', 'all', '--mesh', 'shop');
    for (const zone of ['east', 'west'])
      expect(shared).toMatch(new RegExp(`${zone} +yes +in sync, v\\d+ +\\d+[sm] +${stored('all')}`));
    const local = await meridian(global, 'explain-sync', 'mt', 'local', '--mesh', 'shop');
    expect(local).toMatch(/west +no +- +- +-/);
    expect(local).toContain('west: only producer policies cross zones');
    expect(await meridian(east, 'explain-sync', 'mt', 'local', '--mesh', 'shop')).toMatch(/global +yes +in sync, v\d+/);
  });

  it('a zone that does not answer is neither online nor in sync, and a disabled one is not healthy', async () => {
    const stateOf = async (): Promise<string | undefined> => {
      const answer = await ask(global, 'meshes/shop/meshtimeouts/all/_sync');
      return (answer as { targets: { to: string; state?: { kind: string } }[] }).targets.find(({ to }) => to === 'west')?.state
        ?.kind;
    };
    west.child?.kill('SIGSTOP');
    try {
      await put(global, 'meshes/shop/meshtimeouts/all', timeout('all', { kind: 'Mesh' }, '6s'));
      expect(await stateOf()).toBe('pending');
      await vi.waitFor(
        async () => expect(await meridian(global, 'inspect', 'zones')).toMatch(/west +Lagging +all +\d+s +\d+s +MeshTimeout/),
        WAIT,
      );
    } finally {
      west.child?.kill('SIGCONT');
    }
    await until(stateOf, 'inSync');
    await put(global, 'zones/west', { type: 'Zone', name: 'west', enabled: false });
    expect(await meridian(global, 'inspect', 'zones')).toMatch(/west +Disabled/);
    await put(global, 'zones/west', { type: 'Zone', name: 'west', enabled: true });
  });
});

async function until<T>(look: () => Promise<T>, wanted: T): Promise<void> {
  await vi.waitFor(async () => expect(await look()).toBe(wanted), WAIT);
}

async function put(plane: ControlPlane, path: string, body: Record<string, unknown>): Promise<void> {
  expect(await plane.put(`/${path}`, body), path).toBeLessThan(300);
}

async function ask(plane: ControlPlane, path: string): Promise<unknown> {
  const response = await fetch(url(plane, path));
  expect(response.status, path).toBe(200);
  return await response.json();
}

async function meridian(plane: ControlPlane, ...args: string[]): Promise<string> {
  return await outputOf([...args, '--address', url(plane, '')]);
}

function url(plane: ControlPlane, path: string): string {
  return `http://127.0.0.1:${String(plane.api)}/${path}`;
}

/** The name on global and in other zones. */
function stored(name: string, zone?: string): string {
  return hashName({ mesh: 'shop', name, zone });
}

function timeout(name: string, targetRef: unknown, seconds: string): Record<string, unknown> {
  const spec = { to: [{ targetRef, default: { http: { requestTimeout: seconds } } }] };
  return { type: 'MeshTimeout', mesh: 'shop', name, spec };
}
