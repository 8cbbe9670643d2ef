import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { createLogger } from '../../base/log.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import type { Write } from '../../store/resource-store.ts';
import { deriveGatewayRoutes, runGatewayRoutes } from './run-gateway-routes.ts';

const route = {
  parentRefs: [{ kind: 'Service', name: 'cart' }],
  rules: [
    { matches: [{ path: { type: 'Exact', value: '/a' } }], forwardTo: [{ backendRef: { name: 'cart' }, port: 80 }] },
    { matches: [{ path: { type: 'Exact', value: '/b' } }], forwardTo: [{ backendRef: { name: 'next' }, port: 80 }] },
  ],
};
const labels = { 'k8s.kuma.io/namespace': 'shop', 'kuma.io/display-name': 'cart-route', 'kuma.io/mesh': 'default' };
const key = { type: 'HTTPRoute', mesh: 'default', name: 'cart-route.shop' };
const meshRoute = { type: 'MeshHTTPRoute', mesh: 'default', name: 'cart-route.shop' };

describe('the rows derived from Gateway API routes', () => {
  let store: TinyStore;
  let writes: Write[];
  let clock: ManualClock;

  const service = async (name: string): Promise<void> => {
    const spec = { ports: [{ port: 80, appProtocol: 'http' }] };
    const serviceKey = { type: 'MeshService', mesh: 'default', name: `${name}.shop` };
    await store.write({
      ...{ op: 'put', key: serviceKey, labels: { 'k8s.kuma.io/namespace': 'shop', 'kuma.io/display-name': name }, spec },
    });
  };
  /** A pass, a minute after the one before. */
  const derive = async (): Promise<void> => {
    writes = [];
    await clock.advance(60_000);
    const writer = { mode: 'zone', zone: 'east', federated: true } as const;
    await deriveGatewayRoutes({ store, writer, clock, log: createLogger('silent') }, 'default');
  };
  const conditions = async (): Promise<Record<string, string>> => {
    const parents = (await store.get(key))?.status['parents'] as { conditions: JsonObject[] }[];
    const [parent] = parents;
    const pairs = (parent?.conditions ?? []).map(({ type, status, reason }): [string, string] => [
      String(type),
      `${String(status)} ${String(reason)}`,
    ]);
    return Object.fromEntries(pairs);
  };
  const derived = async (): Promise<Resource | undefined> => store.get(meshRoute);
  const paths = async (): Promise<string[]> => {
    type To = { rules: { matches: { path: { value: string } }[] }[] };
    const sections = ((await derived())?.spec['to'] ?? []) as To[];
    return sections.flatMap(({ rules }) => rules.flatMap(({ matches }) => matches.map(({ path }) => path.value)));
  };

  beforeEach(async () => {
    clock = new ManualClock();
    store = new TinyStore();
    store.beforeWrite = (write) => void writes.push(write);
    writes = [];
    await service('cart');
    await store.write({ op: 'create', key, labels, spec: route as unknown as JsonObject });
  });

  it('omit a rule whose referent is missing, report it, and include it when the referent appears', async () => {
    await derive();
    expect(await paths()).toEqual(['/a']);
    expect(await conditions()).toMatchObject({ ResolvedRefs: 'False DegradedRoutes', Accepted: 'True Accepted' });
    await service('next');
    await derive();
    expect(await paths()).toEqual(['/a', '/b']);
    expect(await conditions()).toEqual({ ResolvedRefs: 'True ResolvedRefs', Accepted: 'True Accepted' });
  });

  it('have the labels and role of a resource of this control plane, and are owned by the route', async () => {
    await derive();
    expect(await derived()).toMatchObject({
      owner: key,
      labels: {
        ...{ 'kuma.io/display-name': 'cart-route', 'k8s.kuma.io/namespace': 'shop', 'kuma.io/managed-by': 'gateway-api' },
        ...{ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/policy-role': 'producer' },
      },
    });
  });

  it('are written once, and a second pass changes nothing', async () => {
    await derive();
    expect(writes).toHaveLength(2);
    const writeBatch = vi.spyOn(store, 'writeBatch');
    await derive();
    expect(writeBatch).not.toHaveBeenCalled();
  });

  it('are deleted with the route', async () => {
    await derive();
    await store.write({ op: 'delete', key });
    await derive();
    expect(await derived()).toBeUndefined();
  });

  it('never replace a row of the same name that a user wrote', async () => {
    const own = { targetRef: { kind: 'Mesh' } };
    await store.write({ op: 'create', key: meshRoute, labels: {}, spec: own });
    await derive();
    expect((await derived())?.spec).toEqual(own);
    expect((await store.get(key))?.status['parents']).toMatchObject([{ parentRef: { kind: 'Service', name: 'cart' } }]);
    expect(await conditions()).toEqual({
      ...{ Accepted: 'False NameConflict', PartiallyInvalid: 'True BackendNotFound', ResolvedRefs: 'False DegradedRoutes' },
    });
    await derive();
    expect(writes).toEqual([]);
  });

  it('are refused with NameConflict only for the parent whose row has a taken name, and keep the time of the transition', async () => {
    const parentRefs = ['cart', 'next', 'gone'].map((name) => ({ kind: 'Service', name }));
    const accepted = async (): Promise<unknown[]> => {
      const parents = (await store.get(key))?.status['parents'] as { parentRef: JsonObject; conditions: JsonObject[] }[];
      return parents.map(({ parentRef, conditions: all }) => {
        const { status, reason, lastTransitionTime } = all.find(({ type }) => type === 'Accepted') ?? {};
        return [parentRef['name'], status, reason, lastTransitionTime];
      });
    };
    await service('next');
    await store.write({ op: 'create', key: meshRoute, labels: {}, spec: { targetRef: { kind: 'Mesh' } } });
    await store.write({ op: 'put', key, labels, spec: { ...route, parentRefs } as unknown as JsonObject });
    await derive();
    const first = await accepted();
    expect(first).toEqual([
      ['cart', 'False', 'NameConflict', expect.any(String)],
      ['next', 'True', 'Accepted', expect.any(String)],
      ['gone', 'False', 'NoMatchingParent', expect.any(String)],
    ]);
    expect(await store.list({ type: 'MeshHTTPRoute', mesh: 'default' })).toHaveLength(2);
    // Another condition changes.
    const rules = [...route.rules, { forwardTo: [{ backendRef: { name: 'missing' }, port: 80 }] }];
    await store.write({ op: 'put', key, labels, spec: { parentRefs, rules } as unknown as JsonObject });
    await derive();
    expect(await conditions()).toMatchObject({ PartiallyInvalid: 'True BackendNotFound' });
    expect(await accepted()).toEqual(first);
  });

  it('are deleted with a reason in the status when an unreadable route is written past the API', async () => {
    await derive();
    await store.write({ op: 'put', key, labels, spec: { ...route, rules: [{ backendRefs: [{ name: 'cart' }] }] } });
    await derive();
    expect(await derived()).toBeUndefined();
    expect(await conditions()).toEqual({ Accepted: 'False UnsupportedValue' });
    await derive();
    expect(writes).toEqual([]);
  });

  it('are deleted when a stored route has an error outside of its rules, though all of its rules are valid', async () => {
    await service('next');
    await derive();
    expect(await paths()).toEqual(['/a', '/b']);
    await store.write({ op: 'put', key, labels, spec: { ...route, hostnames: ['cart.example'] } });
    await derive();
    expect(await derived()).toBeUndefined();
    expect(await conditions()).toEqual({ Accepted: 'False UnsupportedValue' });
    expect(JSON.stringify((await store.get(key))?.status)).toContain('spec.hostnames: is not supported in a mesh');
  });

  it('lose only the invalid rule of a stored route, which the status names', async () => {
    const [first, second] = route.rules;
    const invalid = { ...second, matches: [{ path: { type: 'RegularExpression', value: '/b(' } }] };
    await service('next');
    await store.write({ op: 'put', key, labels, spec: { ...route, rules: [first, invalid, null] } as unknown as JsonObject });
    await derive();
    expect(await paths()).toEqual(['/a']);
    expect(await conditions()).toEqual({
      ...{ Accepted: 'True Accepted', ResolvedRefs: 'True ResolvedRefs', PartiallyInvalid: 'True UnsupportedValue' },
    });
    const status = JSON.stringify((await store.get(key))?.status);
    expect(status).toContain('Dropped Rules 1, 2: spec.rules[1].matches[0].path.value: must be a regular expression');
    expect(status).toContain('spec.rules[2]: must be an object');
    await derive();
    expect(writes).toEqual([]);
  });

  it('of a mesh without routes are not looked at again', async () => {
    const writer = { mode: 'zone', zone: 'east', federated: true } as const;
    const options = { store, writer, clock: new ManualClock(), log: createLogger('silent') };
    expect(await deriveGatewayRoutes(options, 'default')).toBe(true);
    expect(await deriveGatewayRoutes(options, 'other')).toBe(false);
    await store.write({ op: 'delete', key });
    expect(await deriveGatewayRoutes(options, 'default')).toBe(false);
  });

  it('are tried five times against another writer', async () => {
    let attempts = 0;
    store.beforeWrite = () => {
      attempts += 1;
      return { result: 'conflict' };
    };
    const writer = { mode: 'zone', zone: 'east', federated: true } as const;
    const options = { store, writer, clock: new ManualClock(), log: createLogger('silent') };
    expect(await deriveGatewayRoutes(options, 'default')).toBe(true);
    // Each attempt writes the row and the status of the route.
    expect(attempts).toBe(10);
  });

  it('are written again when another writer has changed one of them', async () => {
    let attempts = 0;
    store.beforeWrite = (write) => {
      if (write.key.type !== 'HTTPRoute') return undefined;
      attempts += 1;
      return attempts === 1 ? { result: 'conflict' } : undefined;
    };
    await derive();
    expect([attempts, await conditions()]).toMatchObject([2, { Accepted: 'True Accepted' }]);
  });

  describe('while the store is followed', () => {
    let stop: AbortController;
    let running: Promise<void>;

    const start = (): void => {
      stop = new AbortController();
      const writer = { mode: 'zone', zone: 'east', federated: true } as const;
      running = runGatewayRoutes({ store, writer, clock: new ManualClock(), log: createLogger('silent') }, stop.signal);
    };

    afterEach(async () => {
      stop.abort();
      await running;
    });

    it('are made for the routes that are there, for new ones, and again when a service appears', async () => {
      start();
      await vi.waitFor(async () => expect(await paths()).toEqual(['/a']));
      await service('next');
      await vi.waitFor(async () => expect(await paths()).toEqual(['/a', '/b']));
      const second = { ...key, name: 'second.shop' };
      const named = { ...labels, 'kuma.io/display-name': 'second' };
      await store.write({ op: 'create', key: second, labels: named, spec: route as unknown as JsonObject });
      await vi.waitFor(async () => expect(await store.get({ ...meshRoute, name: 'second.shop' })).toBeDefined());
      await store.write({ op: 'delete', key });
      await vi.waitFor(async () => expect(await derived()).toBeUndefined());
    });

    it('are made when the first route of a mesh comes; a mesh without one is not read', async () => {
      await store.write({ op: 'delete', key });
      const list = vi.spyOn(store, 'list');
      start();
      await new Promise(setImmediate);
      await service('next');
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      expect(list).not.toHaveBeenCalled();
      await store.write({ op: 'create', key, labels, spec: route as unknown as JsonObject });
      await vi.waitFor(async () => expect(await paths()).toEqual(['/a', '/b']));
    });
  });
});
