// What MeshHTTPRoute and MeshTCPRoute do to requests that pass a real Envoy.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from 'node:http';
import type { JsonObject } from '../../src/resource/types.ts';
import type { Application } from './application.ts';
import { countBy, expectShares } from './shares.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';

let mesh: EnvoyMesh;
let client: Proxy;
let [v1, v2]: Application[] = [];
let cart: number;
let db: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('routes');
  [v1, v2] = await Promise.all(['v1', 'v2'].map((version) => mesh.endpoint(version, { app: 'cart', version })));
  await Promise.all(['db-1', 'db-2'].map((at) => mesh.endpoint(at, { app: 'db', at }, 'tcp')));
  for (const version of ['v1', 'v2']) await mesh.service(`cart-${version}`, { app: 'cart', version });
  await mesh.service('cart', { app: 'cart', version: 'v1' });
  await mesh.service('db', { app: 'db', at: 'db-1' }, 'tcp');
  for (const at of ['db-1', 'db-2']) await mesh.service(at, { app: 'db', at }, 'tcp');
  const { list, portOf } = await mesh.outbounds(['cart', 'db']);
  client = await mesh.proxy('client', { outbounds: list });
  [cart, db] = [portOf('cart'), portOf('db')];
});
afterAll(() => mesh.close());

/** A MeshHTTPRoute of the cart that goes with the test. */
async function route(...rules: JsonObject[]): Promise<void> {
  await mesh.policy('MeshHTTPRoute', 'route', { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules }] });
}

const to = (name: string, weight = 1): JsonObject => ({ kind: 'MeshService', name, port: 80, weight });
const below = (value: string): JsonObject => ({ path: { type: 'PathPrefix', value } });
/** A rule that sends requests to v2. */
const toV2 = (...matches: JsonObject[]): JsonObject => ({ matches, default: { backendRefs: [to('cart-v2')] } });
const body = async (path: string, question = {}): Promise<string> => (await mesh.get(cart, path, question)).body;

describe('a MeshHTTPRoute', () => {
  it('matches by prefix, by the whole path and by a regular expression', async () => {
    const match = (type: string, value: string): JsonObject => toV2({ path: { type, value } });
    await route(match('PathPrefix', '/below'), match('Exact', '/exact'), match('RegularExpression', '/r[0-9]+x'));
    await expect.poll(() => body('/below/it')).toBe('v2');
    expect(await Promise.all(['/below', '/exact', '/r12x'].map((path) => body(path)))).toEqual(['v2', 'v2', 'v2']);
    const others = ['/belowit', '/exact/it', '/r12xy', '/rx', '/'];
    expect(await Promise.all(others.map((path) => body(path)))).toEqual(others.map(() => 'v1'));
  });

  it('matches by header, method and query, all of one match', async () => {
    const isCanary = [{ type: 'Exact', name: 'x-canary', value: 'yes' }];
    const absent = [
      { type: 'Absent', name: 'x-old' },
      { type: 'Prefix', name: 'x-team', value: 'pay' },
    ];
    await route(
      toV2({ ...below('/both'), headers: isCanary, method: 'POST' }),
      toV2({ ...below('/query'), queryParams: [{ type: 'Exact', name: 'to', value: 'v2' }] }),
      toV2({ ...below('/team'), headers: absent }),
    );
    const canary = { 'x-canary': 'yes' };
    await expect.poll(() => body('/both', { method: 'POST', headers: canary })).toBe('v2');
    expect(await body('/both', { headers: canary })).toBe('v1');
    expect(await body('/both', { method: 'POST' })).toBe('v1');
    expect([await body('/query?to=v2'), await body('/query?to=v1'), await body('/query')]).toEqual(['v2', 'v1', 'v1']);
    expect(await body('/team', { headers: { 'x-team': 'payments' } })).toBe('v2');
    expect(await body('/team', { headers: { 'x-team': 'payments', 'x-old': '1' } })).toBe('v1');
  });

  it('takes the longest prefix first', async () => {
    const rule = (value: string, backend: string): JsonObject => ({
      matches: [below(value)],
      default: { backendRefs: [to(backend)] },
    });
    await route(rule('/a', 'cart-v2'), rule('/a/b', 'cart-v1'), rule('/a/b/c', 'cart-v2'));
    await expect.poll(() => body('/a')).toBe('v2');
    expect([await body('/a/b'), await body('/a/b/c/d'), await body('/a/bc')]).toEqual(['v1', 'v2', 'v2']);
  });

  it('rewrites paths and hosts', async () => {
    const rewrite = (value: string, urlRewrite: JsonObject): JsonObject => ({
      matches: [below(value)],
      default: { filters: [{ type: 'URLRewrite', urlRewrite }], backendRefs: [to('cart-v2')] },
    });
    await route(
      rewrite('/prefix', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/three' } }),
      rewrite('/shop', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } }),
      rewrite('/full', { path: { type: 'ReplaceFullPath', replaceFullPath: '/whole' } }),
      rewrite('/backslash', { path: { type: 'ReplaceFullPath', replaceFullPath: String.raw`/x\0\b` } }),
      rewrite('/host', { hostname: 'cart.example' }),
    );
    await expect.poll(() => body('/host')).toBe('v2');
    const arrives = async (path: string): Promise<string> => {
      await mesh.get(cart, path);
      const { path: given = '', host = '' } = v2?.seen.at(-1) ?? {};
      return `${host.replace(/^127.*/, '')}${given}`;
    };
    expect(await arrives('/prefix/a?q=1')).toBe('/three/a?q=1');
    expect(await arrives('/prefix')).toBe('/three');
    expect(await arrives('/shop/a')).toBe('/a');
    expect(await arrives('/shop')).toBe('/');
    expect(await arrives('/full/a/b?q=1')).toBe('/whole?q=1');
    expect(await arrives('/backslash/a')).toBe(String.raw`/x\0\b`);
    expect(await arrives('/host')).toBe('cart.example/host');
  });

  it('redirects', async () => {
    const redirect = (value: string, requestRedirect: JsonObject): JsonObject => ({
      matches: [below(value)],
      default: { filters: [{ type: 'RequestRedirect', requestRedirect }] },
    });
    const path = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' };
    await route(
      redirect('/moved', { scheme: 'https', hostname: 'shop.example', port: 8443, statusCode: 301 }),
      redirect('/old', { path, statusCode: 308 }),
      redirect('/usual', { hostname: 'shop.example' }),
    );
    const answer = async (asked: string): Promise<[number, string | undefined]> => {
      const { status, headers } = await mesh.get(cart, asked, { headers: { host: 'cart.example' } });
      return [status, headers.location];
    };
    await expect.poll(() => answer('/moved/a')).toEqual([301, 'https://shop.example:8443/moved/a']);
    expect(await answer('/old/a?q=1')).toEqual([308, 'http://cart.example/new/a?q=1']);
    expect(await answer('/usual')).toEqual([302, 'http://shop.example/usual']);
  });

  it('copies requests to a mirror and drops its answers', async () => {
    const requestMirror = { percentage: 100, backendRef: { kind: 'MeshService', name: 'cart-v2', port: 80 } };
    const filters = [{ type: 'RequestMirror', requestMirror }];
    await route({ matches: [below('/copied')], default: { filters, backendRefs: [to('cart-v1')] } });
    const mirrored = (): number => v2?.seen.filter(({ path }) => path === '/copied/it').length ?? 0;
    await expect
      .poll(async () => {
        expect(await body('/copied/it')).toBe('v1');
        return mirrored();
      })
      .toBeGreaterThan(0);
    expect(v1?.seen.filter(({ path }) => path === '/copied/it').length).toBeGreaterThanOrEqual(mirrored());
  });

  it('leads to the only port of a service where a reference names none', async () => {
    const byLabels = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart-v2' } };
    const byName = { kind: 'MeshService', name: 'cart-v2' };
    const requestMirror = { percentage: 100, backendRef: byLabels };
    await route(
      { matches: [below('/labels')], default: { backendRefs: [byLabels] } },
      { matches: [below('/name')], default: { backendRefs: [byName] } },
      { matches: [below('/copy')], default: { filters: [{ type: 'RequestMirror', requestMirror }] } },
      { matches: [below('/tcp')], default: { backendRefs: [{ kind: 'MeshService', name: 'db' }] } },
    );
    await expect.poll(() => body('/labels/a')).toBe('v2');
    expect(await body('/name/a')).toBe('v2');
    expect(await body('/copy/a')).toBe('v1');
    await expect.poll(() => v2?.seen.some(({ path }) => path === '/copy/a')).toBe(true);
    // A backend of TCP would get HTTP that it does not read.
    expect((await mesh.get(cart, '/tcp/a')).status).toBe(500);
  });

  it('changes headers of requests and answers', async () => {
    const change = {
      set: [{ name: 'x-set', value: 'set' }],
      add: [{ name: 'x-add', value: 'two' }],
      remove: ['x-gone'],
    };
    const filters = [
      { type: 'RequestHeaderModifier', requestHeaderModifier: change },
      { type: 'ResponseHeaderModifier', responseHeaderModifier: { ...change, remove: ['x-application'] } },
    ];
    await route({ matches: [below('/headers')], default: { filters, backendRefs: [to('cart-v2')] } });
    const headers = { 'x-set': 'old', 'x-add': 'one', 'x-gone': 'here' };
    await expect.poll(async () => (await mesh.get(cart, '/headers', { headers })).headers['x-set']).toBe('set');
    const answer = await mesh.get(cart, '/headers', { headers });
    expect(answer.headers).toMatchObject({ 'x-add': 'two' });
    expect(answer.headers).not.toHaveProperty('x-application');
    expect(v2?.seen.at(-1)?.headers).toMatchObject({ 'x-set': 'set', 'x-add': 'one, two' });
    expect(v2?.seen.at(-1)?.headers).not.toHaveProperty('x-gone');
  });

  it('changes headers by several modifiers of a rule, one after the other', async () => {
    const changes: JsonObject[] = [
      { set: [{ name: 'x-a', value: '1' }], add: [{ name: 'x-b', value: '2' }] },
      { set: [{ name: 'x-c', value: '3' }], add: [{ name: 'x-b', value: '4' }], remove: ['x-a'] },
      { add: [{ name: 'x-d', value: '5' }], remove: ['x-e'] },
    ];
    const filters = changes.map((requestHeaderModifier) => ({ type: 'RequestHeaderModifier', requestHeaderModifier }));
    await route({ matches: [below('/several')], default: { filters, backendRefs: [to('cart-v2')] } });
    const headers = { 'x-a': '0', 'x-b': '0', 'x-c': '0', 'x-e': '0' };
    const seen = async (): Promise<unknown> => {
      await mesh.get(cart, '/several', { headers });
      return v2?.seen.at(-1)?.headers;
    };
    await expect.poll(seen).toMatchObject({ 'x-b': '0, 2, 4', 'x-c': '3', 'x-d': '5' });
    for (const gone of ['x-a', 'x-e']) expect(await seen()).not.toHaveProperty(gone);
  });

  it('changes headers for one backend alone, after those of the rule', async () => {
    const modifiers = (backend: string): JsonObject => ({
      filters: [
        {
          type: 'RequestHeaderModifier',
          requestHeaderModifier: {
            set: [{ name: 'x-to', value: backend }],
            add: [{ name: 'x-by', value: backend }],
            remove: ['x-gone'],
          },
        },
        {
          type: 'ResponseHeaderModifier',
          responseHeaderModifier: { set: [{ name: 'x-from', value: backend }], add: [{ name: 'x-rule', value: backend }] },
        },
      ],
    });
    const filters = [
      { type: 'RequestHeaderModifier', requestHeaderModifier: { add: [{ name: 'x-by', value: 'rule' }] } },
      { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name: 'x-rule', value: 'rule' }] } },
    ];
    const [first, second] = [
      { ...to('cart-v1'), ...modifiers('v1') },
      { ...to('cart-v2'), ...modifiers('v2') },
    ];
    await route(
      { matches: [below('/one')], default: { filters, backendRefs: [second] } },
      { matches: [below('/both')], default: { filters, backendRefs: [first, second] } },
      { matches: [below('/half')], default: { backendRefs: [to('cart-v1'), second] } },
    );
    const headers = { 'x-to': 'old', 'x-gone': 'here' };
    const ask = async (path: string) => {
      const { headers: answered, body: name } = await mesh.get(cart, path, { headers });
      const { 'x-to': given, 'x-by': by, 'x-gone': gone } = (name === 'v1' ? v1 : v2)?.seen.at(-1)?.headers ?? {};
      return { name, given, by, gone, from: answered['x-from'], rule: answered['x-rule'] };
    };
    const changed = (name: string) => ({
      name,
      given: name,
      by: `rule, ${name}`,
      gone: undefined,
      from: name,
      rule: `rule, ${name}`,
    });
    await expect.poll(() => ask('/one')).toEqual(changed('v2'));
    const half = { v1: { name: 'v1', given: 'old', gone: 'here' }, v2: { name: 'v2', given: 'v2', by: 'v2', from: 'v2' } };
    const seen = { '/both': new Set<string>(), '/half': new Set<string>() };
    while (Object.values(seen).some(({ size }) => size < 2)) {
      const [both, part] = [await ask('/both'), await ask('/half')];
      expect(both).toEqual(changed(both.name));
      expect(part).toMatchObject(part.name === 'v1' ? half.v1 : half.v2);
      if (part.name === 'v1') expect(part).toMatchObject({ by: undefined, from: undefined });
      seen['/both'].add(both.name);
      seen['/half'].add(part.name);
    }
  });

  it('splits requests by weight, and answers 500 for the share of a backend that does not exist', async () => {
    const backendRefs = [to('cart-v1', 60), to('cart-v2', 30), to('nothing', 10)];
    await route({ matches: [below('/split')], default: { backendRefs } });
    await expect.poll(() => body('/split')).toBe('v2');
    const answers = await mesh.many(1_000, cart, '/split');
    const counts = countBy(answers, ({ status, body: text }) => (status === 200 ? text : String(status)));
    expectShares(counts, { v1: 0.6, v2: 0.3, 500: 0.1 });
  });

  it('answers 500 where no backend exists, and nothing else is hurt', async () => {
    await route({ matches: [below('/nowhere')], default: { backendRefs: [to('nothing')] } });
    await expect.poll(async () => (await mesh.get(cart, '/nowhere')).status).toBe(500);
    expect(await body('/elsewhere')).toBe('v1');
  });
});

describe('a MeshTCPRoute', () => {
  it('splits connections by weight', async () => {
    const rules = [{ default: { backendRefs: [to('db-1', 50), to('db-2', 50)] } }];
    await mesh.policy('MeshTCPRoute', 'split', { to: [{ targetRef: { kind: 'MeshService', name: 'db' }, rules }] });
    await expect.poll(() => mesh.say(db)).toBe('db-2');
    const said = await Promise.all(Array.from({ length: 200 }, () => mesh.say(db)));
    expectShares(countBy(said, String), { 'db-1': 0.5, 'db-2': 0.5 });
  });

  it('leads to the only port of a service where a reference names none', async () => {
    const rules = [{ default: { backendRefs: [{ kind: 'MeshService', name: 'db-2' }] } }];
    await mesh.policy('MeshTCPRoute', 'without-port', { to: [{ targetRef: { kind: 'MeshService', name: 'db' }, rules }] });
    await expect.poll(() => mesh.say(db)).toBe('db-2');
  });

  it('sends the share of a backend that does not exist to the others', async () => {
    const rules = [{ default: { backendRefs: [to('db-2', 1), to('nothing', 9)] } }];
    await mesh.policy('MeshTCPRoute', 'missing', { to: [{ targetRef: { kind: 'MeshService', name: 'db' }, rules }] });
    const reached = async (): Promise<string[]> => {
      const said = await Promise.all(Array.from({ length: 20 }, () => mesh.say(db)));
      return [...countBy(said, String).keys()];
    };
    await expect.poll(reached).toEqual(['db-2']);
  });

  it.each([
    ['where no backend exists', [to('nothing')]],
    ['where no backend has a weight', [to('db-2', 0)]],
  ])('closes connections %s, also if another route leads to the service', async (_, backendRefs) => {
    const there = [{ default: { backendRefs: [to('db')] } }];
    await mesh.policy('MeshTCPRoute', 'there', { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules: there }] });
    await expect.poll(async () => await client.admin('/clusters')).toContain('__db_main::');
    const rules = [{ default: { backendRefs } }];
    await mesh.policy('MeshTCPRoute', 'nowhere', { to: [{ targetRef: { kind: 'MeshService', name: 'db' }, rules }] });
    expect(await mesh.say(db)).toBe(null);
    expect(await client.admin('/clusters')).toContain('__db_main::');
  });
});

describe('a connection', () => {
  it('outlives changes of routes, timeouts, retries, hashes and endpoints', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (): Promise<void> => {
      const { status, headers } = await mesh.get(cart, '/kept', { agent });
      expect([status, headers.connection]).toEqual([200, undefined]);
    };
    const opened = (): Promise<number> => client.sum(/^http\.kri_msvc_routes_east__cart_main\.downstream_cx_total$/);
    const target = { targetRef: { kind: 'MeshService', name: 'cart' } };
    const conf = (type: string, conf: JsonObject) => async (): Promise<void> =>
      mesh.policy(type, 'kept', { to: [{ ...target, default: conf }] });
    await ask();
    const before = await opened();
    const hashPolicies = [{ type: 'Header', header: { name: 'x-user' } }];
    for (const change of [
      () => route({ matches: [below('/kept')], default: { backendRefs: [to('cart-v2')] } }),
      conf('MeshTimeout', { http: { requestTimeout: '7s' } }),
      conf('MeshRetry', { http: { numRetries: 4 } }),
      conf('MeshLoadBalancingStrategy', { loadBalancer: { type: 'RingHash' }, hashPolicies }),
      async () => void (await mesh.endpoint('v1-more', { app: 'cart', version: 'v1' })),
      () => mesh.delete('Dataplane', 'v1-more'),
    ]) {
      await change();
      await mesh.settle();
      await ask();
    }
    expect(await opened()).toBe(before);
    expect(before).toBeGreaterThan(0);
    agent.destroy();
  });
});
