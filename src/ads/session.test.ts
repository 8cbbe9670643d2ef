// A proxy that gets deltas ends with its view, whatever it asks, refuses or forgets on the way.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { Proxy, request, sessionOf, type Contents } from './session.fixture.ts';
import { XDS_TYPES, type XdsResource, type XdsType } from './session-messages.ts';
import { XdsSession } from './session.ts';

const FULL: Contents = {
  Cluster: { a: '1', b: '1' },
  ClusterLoadAssignment: { a: '1', b: '1' },
  Listener: { l: '1' },
  RouteConfiguration: { l: '1' },
};

describe('an xDS session', () => {
  it('sends clusters, their assignments, listeners and routes, in this order', () => {
    const proxy = new Proxy(sessionOf(FULL).session);
    proxy.settle();
    expect(proxy.log).toEqual(['Cluster +a+b', 'ClusterLoadAssignment +a+b', 'Listener +l', 'RouteConfiguration +l']);
  });

  it('sends a cluster or listener that needs a changed secret after the secret was accepted', () => {
    const held = { Secret: { trust: '1' }, ...FULL };
    const { session, replace } = sessionOf(held);
    const proxy = new Proxy(session);
    proxy.settle();
    session.receive(request('Secret', { subscribe: ['trust'] }));
    proxy.settle();
    replace({ ...held, Secret: { trust: '2' }, Cluster: { a: '2', b: '1' }, Listener: { l: '2' } });
    const [secret, ...others] = session.take();
    expect([secret?.type, others.map(({ type }) => type)]).toEqual(['Secret', []]);
    expect(session.holds('Secret', 'trust')).toBe(false);
    session.receive(request('Secret', { nonce: secret?.nonce ?? '' }));
    expect(session.holds('Secret', 'trust')).toBe(true);
    proxy.settle();
    expect(proxy.log.slice(-3)).toEqual(['Cluster +a', 'ClusterLoadAssignment +a', 'Listener +l']);
  });

  it('holds no part of a response before it is answered', () => {
    const { session, replace } = sessionOf({ Listener: { l: '1', m: '1', n: '1' } });
    const held = (): boolean[] => ['l', 'm', 'n', 'none'].map((name) => session.holds('Listener', name));
    session.receive(request('Listener'));
    expect(held()).toEqual([false, false, false, false]);
    const [first] = session.take();
    expect(held()).toEqual([false, false, false, false]);
    session.receive(request('Listener', { nonce: first?.nonce ?? '' }));
    expect(held()).toEqual([true, true, true, false]);
    replace({ Listener: { l: '2', m: '2', n: '1' } });
    expect(held()).toEqual([false, false, true, false]);
    const [second] = session.take();
    expect(held()).toEqual([false, false, true, false]);
    session.receive(request('Listener', { nonce: second?.nonce ?? '' }));
    expect(held()).toEqual([true, true, true, false]);
  });

  it('sends a changed route alone', () => {
    const { session, replace } = sessionOf(FULL);
    const proxy = new Proxy(session);
    proxy.settle();
    replace({ ...FULL, RouteConfiguration: { l: '2' } });
    proxy.settle();
    expect(proxy.log.slice(4)).toEqual(['RouteConfiguration +l']);
  });

  it('sends the assignment of another name behind a changed cluster', () => {
    const resource = (name: string, version: string, assignment?: string): XdsResource => ({
      ...{ name, version, bytes: new Uint8Array() },
      ...(assignment !== undefined && { assignment }),
    });
    let version = '1';
    const session = new XdsSession({
      get: (type) => (type === 'Cluster' ? resource('one', version, 'shared') : resource('shared', '1')),
      names: (type) => (type === 'Cluster' ? ['one'] : ['shared']),
    });
    const take = (): unknown[] => session.take().map(({ type, resources }) => [type, ...resources.map(({ name }) => name)]);
    session.receive(request('Cluster'));
    expect(take()).toEqual([['Cluster', 'one']]);
    session.receive(request('ClusterLoadAssignment', { subscribe: ['shared'] }));
    expect(take()).toEqual([['ClusterLoadAssignment', 'shared']]);
    session.receive(request('Cluster', { nonce: '1' }));
    session.receive(request('ClusterLoadAssignment', { nonce: '2' }));
    version = '2';
    session.viewChanged(new Map([['Cluster', new Map([['one', '1']])]]));
    expect(take()).toEqual([
      ['Cluster', 'one'],
      ['ClusterLoadAssignment', 'shared'],
    ]);
  });

  it('sends the assignment behind a changed cluster, and no other', () => {
    const { session, replace } = sessionOf(FULL);
    const proxy = new Proxy(session);
    proxy.settle();
    replace({ ...FULL, Cluster: { a: '2', b: '1' } });
    proxy.settle();
    expect(proxy.log.slice(4)).toEqual(['Cluster +a', 'ClusterLoadAssignment +a']);
  });

  it('removes a cluster after the listener that led to it', () => {
    const { session, replace } = sessionOf(FULL);
    const proxy = new Proxy(session);
    proxy.settle();
    replace({ Cluster: { b: '1' }, ClusterLoadAssignment: { b: '1' } });
    proxy.settle();
    expect(proxy.log.slice(4).filter((line) => !line.startsWith('ClusterLoad') && !line.startsWith('Route'))).toEqual([
      'Listener -l',
      'Cluster -a',
    ]);
  });

  it('resends nothing to a proxy that reconnects with its resources', () => {
    const { session } = sessionOf(FULL);
    for (const type of XDS_TYPES) {
      const initialVersions = new Map(Object.entries(FULL[type] ?? {}));
      session.receive(
        request(type, { initialVersions, subscribe: type === 'Cluster' || type === 'Listener' ? [] : ['a', 'b', 'l'] }),
      );
    }
    for (const { type, resources } of session.take()) expect([type, resources]).toEqual([type, []]);
  });

  it('answers a name that does not exist at once', () => {
    const { session } = sessionOf(FULL);
    session.receive(request('ClusterLoadAssignment', { subscribe: ['nowhere'] }));
    expect(session.take()).toMatchObject([{ type: 'ClusterLoadAssignment', resources: [], removed: ['nowhere'] }]);
  });

  const ALL: Contents = Object.fromEntries(XDS_TYPES.map((type) => [type, { x: '1' }]));

  /** A session of a proxy that has subscribed to everything of these types, and has accepted it. */
  function settled(contents: Contents, types: readonly XdsType[] = XDS_TYPES): Omit<ReturnType<typeof sessionOf>, 'kept'> {
    const { session, replace } = sessionOf(contents);
    for (const type of types) session.receive(request(type));
    for (let responses = session.take(); responses.length > 0; responses = session.take())
      for (const { type, nonce } of responses) session.receive(request(type, { nonce }));
    return { session, replace };
  }

  it.each<[XdsType, XdsType[]]>([
    ['Secret', ['ClusterLoadAssignment', 'TypedExtensionConfig', 'RouteConfiguration']],
    ['Cluster', ['Secret', 'ClusterLoadAssignment']],
    ['ClusterLoadAssignment', ['Secret', 'Cluster']],
    ['Listener', ['Secret', 'Cluster', 'ClusterLoadAssignment', 'TypedExtensionConfig', 'RouteConfiguration']],
    ['TypedExtensionConfig', ['Secret', 'Cluster', 'ClusterLoadAssignment', 'Listener', 'RouteConfiguration']],
    ['RouteConfiguration', ['Secret', 'Cluster', 'ClusterLoadAssignment', 'Listener', 'TypedExtensionConfig']],
  ])('while a %s waits for its answer, sends changes of %j alone', (pending, sent) => {
    const isSent = (other: XdsType): boolean => {
      const { session, replace } = settled(ALL);
      const waiting = { ...ALL, [pending]: { x: '2' } };
      replace(waiting);
      // The assignment of a changed cluster goes behind it.
      for (const { type, nonce } of session.take()) if (type !== pending) session.receive(request(type, { nonce }));
      replace({ ...waiting, [other]: { x: '3' } });
      return session.take().some(({ type }) => type === other);
    };
    expect(XDS_TYPES.filter((other) => other !== pending && isSent(other))).toEqual(sent);
  });

  it('makes no list of responses while it has nothing to send', () => {
    const { session } = sessionOf({ Listener: { one: '1' } });
    const nothing = session.take();
    session.receive(request('Listener'));
    const [response] = session.take();
    expect(session.take()).toBe(nothing);
    session.receive(request('Listener', { nonce: response?.nonce ?? '' }));
    expect(session.take()).toBe(nothing);
  });

  it('removes nothing while anything waits for its answer', () => {
    for (const pending of XDS_TYPES.filter((type) => type !== 'Listener')) {
      const { session, replace } = settled(ALL);
      replace({ ...ALL, [pending]: { x: '2' }, Listener: {} });
      expect(session.take().flatMap(({ removed }) => removed)).toEqual([]);
    }
    const { session, replace } = settled(ALL);
    replace({ ...ALL, Listener: {}, Cluster: {} });
    expect(session.take()).toMatchObject([{ type: 'Listener', resources: [], removed: ['x'] }]);
    expect(session.take()).toEqual([]);
  });

  it('holds the resources that it accepted in the version of the view, and no others', () => {
    const { session, replace } = sessionOf({ Listener: { l: '1' } });
    expect(session.holds('Listener', 'l')).toBe(false);
    session.receive(request('Listener', { subscribe: ['l', 'none'] }));
    expect(session.holds('Listener', 'l')).toBe(false);
    const [response] = session.take();
    expect(session.holds('Listener', 'l')).toBe(false);
    session.receive(request('Listener', { nonce: response?.nonce ?? '' }));
    expect([session.holds('Listener', 'l'), session.holds('Listener', 'none')]).toEqual([true, false]);
    replace({ Listener: { l: '2' } });
    expect(session.holds('Listener', 'l')).toBe(false);
    replace({ Listener: { l: '1' } });
    expect(session.holds('Listener', 'l')).toBe(true);
    session.receive(request('Listener', { unsubscribe: ['l'] }));
    expect(session.holds('Listener', 'l')).toBe(false);
  });

  it('takes an answer to the last response of its type alone', () => {
    const { session, replace } = sessionOf({ Listener: { l: '1' } });
    expect(session.receive(request('Listener', { nonce: '1' }))).toBeNull();
    const [first] = session.take();
    expect(session.receive(request('Listener', { nonce: 'other' }))).toBeNull();
    expect(session.take()).toEqual([]);
    expect(session.receive(request('Listener', { nonce: first?.nonce ?? '' }))).toEqual({ nonce: first?.nonce, refusals: null });
    replace({ Listener: { l: '2' } });
    const [second] = session.take();
    expect(session.receive(request('Listener', { nonce: first?.nonce ?? '' }))).toBeNull();
    expect(second?.nonce).not.toBe(first?.nonce);
  });

  it('answers the first request of a type, even with nothing, and once', () => {
    const { session } = sessionOf({});
    session.receive(request('Cluster'));
    expect(session.take()).toMatchObject([{ type: 'Cluster', resources: [], removed: [] }]);
    expect(session.take()).toEqual([]);
  });

  it('resends a resource that is requested by name, but none of a wildcard', () => {
    const { session } = settled({ Listener: { l: '1' } }, ['Listener']);
    session.receive(request('Listener', { subscribe: ['*'] }));
    expect(session.take()).toEqual([]);
    session.receive(request('Listener', { subscribe: ['l'] }));
    expect(session.take()).toMatchObject([{ resources: [{ name: 'l' }], removed: [] }]);
  });

  it('sends no changes of unsubscribed names; a name beside the wildcard stays', () => {
    const { session, replace } = settled({ Listener: { l: '1', m: '1' } }, ['Listener']);
    session.receive(request('Listener', { subscribe: ['l'] }));
    const [again] = session.take();
    session.receive(request('Listener', { nonce: again?.nonce ?? '', unsubscribe: ['*'] }));
    replace({ Listener: { l: '2', m: '2', n: '1' } });
    expect(session.take()).toMatchObject([{ resources: [{ name: 'l', version: '2' }], removed: [] }]);
  });

  it('sends and keeps nothing of a type that is not subscribed to any more', () => {
    const { session, replace } = settled({ Listener: { l: '1', m: '1' } }, ['Listener']);
    replace({ Listener: { l: '2', n: '1' } });
    session.receive(request('Listener', { unsubscribe: ['*'] }));
    expect([session.take(), session.size]).toEqual([[], 0]);
  });

  it('lets a proxy subscribe to 100,000 names of a type', () => {
    const { session } = sessionOf({});
    const subscribe = Array.from({ length: 100_000 }, (_, at) => String(at));
    session.receive(request('Cluster', { subscribe }));
    expect(() => session.receive(request('Cluster', { subscribe: ['one more'] }))).toThrow(
      'a proxy may subscribe to 100000 resources of a type',
    );
  });

  it('lets a proxy say that it has 100,000 resources of a type', () => {
    const had = (count: number): Map<string, string> =>
      new Map(Array.from({ length: count }, (_, at) => [String(at), '1'] as const));
    const { session } = sessionOf({});
    session.receive(request('ClusterLoadAssignment', { initialVersions: had(100_000) }));
    expect(() => session.receive(request('Cluster', { initialVersions: had(100_001) }))).toThrow('100000 resources of a type');
    expect(session.size).toBe(100_000);
  });

  it('counts the names that are asked for, those to be sent or removed, those to be answered, and refusals', () => {
    const { session, replace } = sessionOf({ Listener: { l: '1' } });
    session.receive(request('Listener', { subscribe: ['l', 'missing'] }));
    // Both are asked for and unanswered, and one is to be sent.
    expect(session.size).toBe(5);
    const [response] = session.take();
    expect([response?.resources.map(({ name }) => name), response?.removed, session.size]).toEqual([['l'], ['missing'], 2]);
    session.receive(request('Listener', { nonce: response?.nonce ?? '', error: 'l: bad' }));
    // The missing one is answered again.
    expect(session.size).toBe(4);
    const [again] = session.take();
    expect([again?.resources, again?.removed, session.size]).toEqual([[], ['missing'], 3]);
    session.receive(request('Listener', { nonce: again?.nonce ?? '' }));
    expect(session.size).toBe(3);
    replace({});
    expect(session.size).toBe(4);
    const [removal] = session.take();
    expect([removal?.removed, session.size]).toEqual([['l'], 3]);
    session.receive(request('Listener', { nonce: removal?.nonce ?? '' }));
    expect(session.size).toBe(2);
  });

  it('answers a name at once that leaves the view while it waits for clusters', () => {
    const { session, replace } = sessionOf(FULL);
    session.receive(request('Cluster'));
    expect(session.take().map(({ type }) => type)).toEqual(['Cluster']);
    session.receive(request('RouteConfiguration', { subscribe: ['l'] }));
    expect([session.take(), session.take()]).toEqual([[], []]);
    replace({ ...FULL, RouteConfiguration: {} });
    expect(session.take()).toMatchObject([{ type: 'RouteConfiguration', resources: [], removed: ['l'] }]);
  });

  it('keeps nothing of the name for everything, and has no work for it', () => {
    const { session } = sessionOf({ Cluster: { a: '1' } });
    session.receive(request('Cluster', { subscribe: ['*'] }));
    const [response] = session.take();
    expect([response?.resources.map(({ name }) => name), response?.removed, session.size]).toEqual([['a'], [], 0]);
    session.receive(request('Cluster', { nonce: response?.nonce ?? '' }));
    expect([session.take(), session.size]).toEqual([[], 0]);
    session.receive(request('Cluster', { subscribe: ['*', 'none'] }));
    const [answer] = session.take();
    expect([answer?.resources, answer?.removed, session.size]).toEqual([[], ['none'], 1]);
  });

  it('keeps nothing of names that the proxy does not ask for any more', () => {
    const { session } = sessionOf(FULL);
    new Proxy(session).settle();
    const ask = (name: string): number => {
      const names = [name, '*', '*'];
      session.receive(request('ClusterLoadAssignment', { subscribe: names }));
      session.receive(request('ClusterLoadAssignment', { unsubscribe: names }));
      return session.size;
    };
    const size = ask('first');
    for (let round = 0; round < 100; round += 1) expect(ask(`other ${String(round)}`)).toBe(size);
  });

  const names = fc.constantFrom('a', 'b', 'c', 'd');
  const versions = fc.dictionary(names, fc.constantFrom('1', '2', '3'), { maxKeys: 4 });
  const contents = fc.tuple(versions, versions, versions, versions).map(
    // A proxy holds assignments of its clusters and routes of its listeners alone, and each of those exists.
    ([clusters, assignments, listeners, routes]): Contents => ({
      Cluster: clusters,
      ClusterLoadAssignment: Object.fromEntries(Object.keys(clusters).map((name) => [name, assignments[name] ?? '1'])),
      Listener: listeners,
      RouteConfiguration: Object.fromEntries(Object.keys(listeners).map((name) => [name, routes[name] ?? '1'])),
    }),
  );

  it('leaves the proxy with its view after any changes, and no cluster without its assignment', () => {
    fc.assert(
      fc.property(
        fc.array(contents, { minLength: 1, maxLength: 12 }),
        fc.array(fc.boolean(), { maxLength: 12 }),
        (views, settles) => {
          const { session, replace } = sessionOf(views[0] ?? {});
          const proxy = new Proxy(session);
          for (const [at, view] of views.entries()) {
            replace(view);
            if (settles[at] === true) proxy.settle();
          }
          proxy.settle();
          const last = views.at(-1) ?? {};
          for (const type of XDS_TYPES)
            expect([type, Object.fromEntries(proxy.held.get(type) ?? [])]).toEqual([type, { ...last[type] }]);
          expect([...proxy.warming]).toEqual([]);
        },
      ),
    );
  });
});
