// Which parts of a proxy a change makes again, by the policies that the proxy has.
import { describe, expect, it, vi } from 'vitest';
import type { Policy } from '../policy/parse-policy.ts';
import { targetRefOf } from '../policy/target-ref.ts';
import { ServiceSet, type ChangeScope } from '../xds/change-scope.ts';
import { Change, type Touching } from './change.ts';
import type { ConnectedProxy } from './connected-proxy.ts';

const policy = (name: string): Policy => ({ displayName: name }) as Policy;
const [EVERYONES, OWN, OTHER, UNKNOWN] = ['everyones', 'own', 'other', 'unknown'].map(policy) as [Policy, Policy, Policy, Policy];

function services(...named: string[]): ServiceSet {
  const set = new ServiceSet();
  for (const name of named) set.add(name);
  return set;
}

function changeOf(scope: Partial<ChangeScope> = {}): Change {
  const base = {
    ...{ hasServices: false, services: services('changed'), endpoints: services('served') },
    ...{ dataplaneNames: new Set<string>(), dataplanes: new Set<string>(), means: () => false },
    policies: [
      { policy: EVERYONES, isShared: true, services: services('all'), isInbound: false, isProxyWide: false },
      { policy: OWN, isShared: false, services: services('mine'), isInbound: true, isProxyWide: false },
      { policy: OTHER, isShared: false, services: services('theirs'), isInbound: false, isProxyWide: true },
    ],
  };
  return new Change({ ...base, ...scope } as unknown as ChangeScope);
}

function shown({ services: { named, isEvery }, isInbound, isProxyWide }: Touching): unknown {
  return [[...named].sort(), { isEvery, isInbound, isProxyWide }];
}

const NOTHING_MORE = { isEvery: false, isInbound: false, isProxyWide: false };

describe('a change', () => {
  const set = (...policies: Policy[]): Set<Policy> => new Set(policies);

  it.each<[whom: string, before: Set<Policy>, after: Set<Policy>, named: string[], more: object]>([
    ['without policies of its own', set(), set(), [], {}],
    ['that has a changed policy', set(OWN), set(OWN), ['mine'], { isInbound: true }],
    ['that had a changed policy', set(OTHER), set(), ['theirs'], { isProxyWide: true }],
    ['that gets a changed policy', set(), set(OWN), ['mine'], { isInbound: true }],
    ['with two changed policies', set(OWN), set(OTHER), ['mine', 'theirs'], { isInbound: true, isProxyWide: true }],
    ['that keeps a policy which did not change', set(UNKNOWN), set(UNKNOWN), [], {}],
    ['that loses a policy which did not change', set(UNKNOWN), set(), [], { isInbound: true, isProxyWide: true }],
    ['that gets a policy which did not change', set(), set(UNKNOWN), [], { isInbound: true, isProxyWide: true }],
  ])('touches on a proxy %s what its policies are about, and what all have', (_, before, after, named, more) => {
    const change = changeOf();
    const touching = change.touching({ before, after });
    expect(shown(touching)).toEqual([['all', 'changed', ...named], { ...NOTHING_MORE, ...more }]);
    // Proxies on which it touches the same are looked up once.
    expect(touching === change.shared).toBe(named.length === 0 && Object.keys(more).length === 0);
  });

  it('of every service touches every service', () => {
    const every = new ServiceSet();
    every.isEvery = true;
    expect(changeOf({ services: every }).shared.services.isEvery).toBe(true);
  });

  it('lists the names of listeners and clusters, with those of endpoints for clusters alone, once for all proxies', () => {
    const change = changeOf();
    const namesOf = vi.fn((given: Iterable<string>) => [...given].map((name) => `${name}-80`).sort());
    expect(change.listed(change.shared, namesOf)).toEqual({
      listeners: ['all-80', 'changed-80'],
      clusters: ['all-80', 'changed-80', 'served-80'],
    });
    const asked = namesOf.mock.calls.length;
    change.listed(change.shared, namesOf);
    expect(namesOf).toHaveBeenCalledTimes(asked);
  });

  const ref = targetRefOf({ kind: 'MeshService', name: 'cart' });
  const connected = (refs: unknown[] = [], virtual: unknown = null): ConnectedProxy =>
    ({ proxy: { displayName: 'web', resource: { name: 'web.east' } }, refs, listed: { virtual } }) as unknown as ConnectedProxy;

  it.each<[when: string, scope: object, expected: boolean]>([
    ['another Dataplane of its display name changed', { dataplaneNames: new Set(['web']) }, true],
    ['it changed itself', { dataplaneNames: new Set(['web']), dataplanes: new Set(['web.east']) }, false],
    ['a Dataplane of another name changed', { dataplaneNames: new Set(['cart']) }, false],
  ])('may make a reference by name mean a proxy: %s', (_, scope, expected) => {
    expect(changeOf(scope).isNamedBy(connected())).toBe(expected);
  });

  it.each<[when: string, scope: object, proxy: ConnectedProxy, expected: boolean]>([
    [
      'one of its references means a changed service',
      { hasServices: true, means: (given: unknown) => given === ref },
      connected([null, ref]),
      true,
    ],
    ['none of its references means a changed service', { hasServices: true }, connected([ref]), false],
    ['a service changed, and it calls services at virtual addresses', { hasServices: true }, connected([], {}), true],
    ['no service changed', { hasServices: false, means: () => true }, connected([ref], {}), false],
  ])('may give a proxy other outbounds: %s', (_, scope, proxy, expected) => {
    expect(changeOf(scope).mayList(proxy)).toBe(expected);
  });
});
