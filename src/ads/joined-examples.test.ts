// From which connected proxy one that joins takes its outbounds, and that examples of proxies that are gone are not kept.
import { beforeEach, expect, it } from 'vitest';
import type { ConnectedProxy } from './connected-proxy.ts';
import { JoinedExamples } from './joined-examples.ts';

type Played = {
  key: string;
  listed: { virtual: unknown; serial: number };
  proxy: { namespace: string; resource: { spec: { networking: { outbound: unknown } } } };
};

const LIST = [{ port: 1 }];
const OTHER_LIST = [{ port: 1 }];

const DECLARED: Played['listed'] = { virtual: null, serial: 1 };
const REDIRECTED = { virtual: {}, serial: 2 };

function proxyOf({ list = LIST, key = 'k', namespace = '', listed = DECLARED } = {}): ConnectedProxy & Played {
  const proxy = { namespace, resource: { spec: { networking: { outbound: list } } } };
  return { key, proxy, listed, view: { whatItCalls: {} } } as unknown as ConnectedProxy & Played;
}

let examples: JoinedExamples;
beforeEach(() => {
  examples = new JoinedExamples();
});

it('a proxy takes the outbounds of one with equal list, key and namespace', () => {
  const first = proxyOf();
  examples.add(first);
  expect(examples.of(proxyOf())).toBe(first.view.whatItCalls);
  for (const other of [proxyOf({ list: OTHER_LIST }), proxyOf({ key: 'other' }), proxyOf({ namespace: 'ns' })])
    expect(examples.of(other)).toBeNull();
});

it('a redirected proxy takes the outbounds of one with the same list of outbounds and an equal key', () => {
  const first = proxyOf({ listed: REDIRECTED });
  examples.add(first);
  expect(examples.of(proxyOf({ listed: REDIRECTED, list: OTHER_LIST }))).toBe(first.view.whatItCalls);
  const others = [proxyOf(), proxyOf({ listed: { ...REDIRECTED, serial: 3 } }), proxyOf({ listed: REDIRECTED, key: 'other' })];
  for (const other of others) expect(examples.of(other)).toBeNull();
});

it('a proxy that has changed since is no example', () => {
  const list = proxyOf();
  examples.add(list);
  list.proxy.resource.spec.networking.outbound = OTHER_LIST;
  expect(examples.of(proxyOf())).toBeNull();
  const key = proxyOf();
  examples.add(key);
  (key as Played).key = 'other';
  expect(examples.of(proxyOf())).toBeNull();
});

it('each place has one example: the proxy that joined last', () => {
  const [first, second] = [proxyOf(), proxyOf()];
  examples.add(first);
  examples.add(second);
  expect([examples.of(proxyOf()), examples.size]).toEqual([second.view.whatItCalls, 1]);
  examples.remove(first);
  expect([examples.of(proxyOf()), examples.size]).toEqual([second.view.whatItCalls, 1]);
});

it('a proxy that is gone is no example at any place', () => {
  const [one, other] = [proxyOf(), proxyOf({ key: 'other' })];
  examples.add(one);
  examples.add(other);
  (one as Played).key = 'changed';
  examples.remove(one);
  (one as Played).key = 'k';
  expect([examples.of(proxyOf()), examples.size]).toEqual([null, 1]);
  expect(examples.of(proxyOf({ key: 'other' }))).toBe(other.view.whatItCalls);
  examples.remove(other);
  examples.remove(other);
  expect(examples.size).toBe(0);
});
