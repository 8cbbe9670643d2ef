// What a session does by itself when time has passed: removals, and another try of what was refused.
import { beforeEach, describe, expect, it } from 'vitest';
import { Proxy, request, sessionOf, type Contents } from './session.fixture.ts';

const SECOND = 1_000;
let now: number;
const time = { elapsed: () => now, drainMs: 30 * SECOND };

beforeEach(() => {
  now = 0;
});

/** A listener with its routes, and the cluster to which they lead. */
const serving = (listener: string, cluster: string): Contents => ({
  ...{ Cluster: { [cluster]: '1' }, ClusterLoadAssignment: { [cluster]: '1' } },
  ...{ Listener: { [listener]: cluster }, RouteConfiguration: { [listener]: cluster } },
});

describe('a removal', () => {
  it('of a cluster waits until connections with a replaced listener have ended', () => {
    const { session, replace } = sessionOf(serving('out', 'a'), time);
    const proxy = new Proxy(session);
    proxy.settle();
    replace(serving('out', 'b'));
    proxy.settle();
    expect([...(proxy.held.get('Cluster') ?? [])]).toEqual([
      ['a', '1'],
      ['b', '1'],
    ]);
    expect(session.waitMs).toBe(30 * SECOND);
    now += 30 * SECOND;
    proxy.settle();
    expect(proxy.log.at(-1)).toBe('Cluster -a');
    expect(session.waitMs).toBeNull();
  });

  it('does not come for a cluster that is used again, and waits its whole time when that ends', () => {
    const { session, replace } = sessionOf(serving('out', 'a'), time);
    const proxy = new Proxy(session);
    proxy.settle();
    replace(serving('out', 'b'));
    proxy.settle();
    now += 20 * SECOND;
    replace(serving('out', 'a'));
    proxy.settle();
    now += 20 * SECOND;
    replace(serving('out', 'b'));
    proxy.settle();
    expect(proxy.held.get('Cluster')?.has('a')).toBe(true);
    expect(session.waitMs).toBe(30 * SECOND);
  });

  it('of a listener that clients still have waits until they have another place, and as long as that of others then', () => {
    const { session, replace, kept } = sessionOf(serving('in', 'a'), time);
    const proxy = new Proxy(session);
    proxy.settle();
    kept.add('in');
    replace(serving('out', 'b'));
    proxy.settle();
    now += 60 * SECOND;
    proxy.settle();
    expect([session.stays('Listener', 'in'), session.waitMs]).toEqual([true, null]);
    kept.clear();
    session.viewChanged(new Map());
    proxy.settle();
    expect(session.waitMs).toBe(10 * SECOND);
    now += 10 * SECOND;
    proxy.settle();
    expect(proxy.held.get('Listener')?.has('in')).toBe(false);
  });

  it('of a listener that clients still have waits also where a stream begins with it', () => {
    const { session, kept } = sessionOf(serving('out', 'b'), time);
    kept.add('in');
    session.receive(
      request('Listener', {
        initialVersions: new Map([
          ['in', 'a'],
          ['former', 'a'],
        ]),
      }),
    );
    expect(session.stays('Listener', 'in')).toBe(true);
    const removed = session.take().flatMap((response) => response.removed);
    expect([removed, session.stays('Listener', 'in')]).toEqual([['former'], true]);
  });

  it('of a listener that others connect to waits as long where the proxy has it from before its stream', () => {
    const { session, replace } = sessionOf(serving('in', 'a'), time);
    session.receive(request('Listener', { initialVersions: new Map([['in', 'a']]) }));
    expect(session.take()).toMatchObject([{ resources: [] }]);
    session.receive(request('Listener', { nonce: '1' }));
    replace(serving('out', 'b'));
    const [added] = session.take();
    session.receive(request('Listener', { nonce: added?.nonce ?? '' }));
    expect([session.take(), session.waitMs]).toEqual([[], 10 * SECOND]);
  });

  it('does not come for a filter that a proxy holds when its stream begins: its listener may be one that clients still have', () => {
    const { session } = sessionOf(serving('out', 'b'), time);
    const [held, subscribe] = [new Map([['in', 'a']]), ['in', 'unknown']];
    session.receive(request('TypedExtensionConfig', { initialVersions: held, subscribe }));
    expect(session.take().flatMap((response) => response.removed)).toEqual(['unknown']);
  });

  it('of a listener that others connect to waits until they have heard of another one, and its cluster longer', () => {
    const { session, replace } = sessionOf(serving('in', 'a'), time);
    const proxy = new Proxy(session);
    proxy.settle();
    replace(serving('out', 'b'));
    proxy.settle();
    expect([session.stays('Listener', 'in'), session.waitMs]).toEqual([true, 10 * SECOND]);
    now += 10 * SECOND;
    proxy.settle();
    expect(proxy.log.at(-1)).toBe('Listener -in');
    expect([session.stays('Listener', 'in'), session.waitMs]).toEqual([false, 30 * SECOND]);
    now += 30 * SECOND;
    proxy.settle();
    expect(proxy.log.at(-1)).toBe('Cluster -a');
  });

  it('of a listener to which the proxy alone connects comes at once', () => {
    const { session, replace } = sessionOf(serving('out', 'a'), time);
    const proxy = new Proxy(session);
    proxy.settle();
    replace({});
    proxy.settle();
    expect(proxy.log.at(-1)).toBe('Listener -out');
  });
});

it('a listener that a proxy has from another control plane goes with the first listeners of this one', () => {
  const { session } = sessionOf({ Listener: { '10.0.0.1:80': '1' } }, time);
  session.receive(request('Listener', { initialVersions: new Map([['self_inbound_dp_http', '1']]) }));
  const [first] = session.take();
  expect([first?.resources.map(({ name }) => name), first?.removed]).toEqual([['10.0.0.1:80'], ['self_inbound_dp_http']]);
});

describe('a refused resource', () => {
  it('is tried again every ten seconds, alone, until the proxy accepts it', () => {
    const { session } = sessionOf({ Listener: { l: '1', m: '1' } }, time);
    const named = (): unknown[] => session.take().map(({ resources }) => resources.map(({ name }) => name).join());
    const answer = (nonce: string, error: string | null = null): void =>
      void session.receive(request('Listener', { nonce, error }));
    session.receive(request('Listener'));
    expect(named()).toEqual(['l,m']);
    answer('1', 'l: cannot bind, m: cannot bind');
    expect([named(), session.waitMs]).toEqual([[], 10 * SECOND]);
    now += 10 * SECOND;
    expect(named()).toEqual(['l']);
    answer('2', 'l: cannot bind');
    expect(named()).toEqual(['m']);
    answer('3');
    expect([named(), session.refusals.map(({ name }) => name), session.waitMs]).toEqual([[], ['l'], 10 * SECOND]);
    now += 10 * SECOND;
    expect(named()).toEqual(['l']);
    answer('4');
    expect([named(), session.refusals]).toEqual([[], []]);
    now += 10 * SECOND;
    expect([named(), session.waitMs]).toEqual([[], null]);
  });

  it('is not sent again in a version that the view no longer has', () => {
    const { session, replace } = sessionOf({ Listener: { l: '1' } }, time);
    session.receive(request('Listener'));
    session.take();
    session.receive(request('Listener', { nonce: '1', error: 'l: bad' }));
    replace({});
    session.take();
    now += 10 * SECOND;
    expect([session.take(), session.waitMs]).toEqual([[], null]);
  });
});
