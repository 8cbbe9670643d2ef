import { expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { WorkloadsView } from './workloads-view.ts';

it('the view yields a Workload once for each change, and again when it is touched', () => {
  const view = new WorkloadsView();
  view.put(makeRow('Mesh', 'default'));
  view.put(makeRow('Dataplane', 'cart-1', { labels: { 'kuma.io/workload': 'cart' } }));
  const names = (): string[] => view.takeMarked().map(({ key }) => key.name);
  expect(names()).toEqual(['cart']);
  expect(names()).toEqual([]);
  view.touch({ type: 'Workload', mesh: 'default', name: 'cart' });
  view.touch({ type: 'Workload', mesh: 'default', name: 'unknown' });
  expect(names()).toEqual(['cart']);
});

it('a Workload without a row and without proxies is forgotten', () => {
  const view = new WorkloadsView();
  view.put(makeRow('Mesh', 'default'));
  const workload = makeRow('Workload', 'cart', { labels: { 'kuma.io/origin': 'zone' } });
  const proxy = makeRow('Dataplane', 'cart-1', { labels: { 'kuma.io/workload': 'cart' } });
  const known = (): string[] => {
    view.takeMarked();
    view.touchAll();
    return view.takeMarked().map(({ key }) => key.name);
  };
  for (const [first, second] of [
    [workload, proxy],
    [proxy, workload],
  ] as const) {
    view.put(workload);
    view.put(proxy);
    expect(known()).toEqual(['cart']);
    view.remove(first);
    expect(known()).toEqual(['cart']);
    view.remove(second);
    expect(known()).toEqual([]);
  }
});

it('a change marks the Workloads whose counts it can change, and no others', () => {
  const view = new WorkloadsView();
  const names = (): string[] => view.takeMarked().map(({ key }) => key.name);
  const inbound = (state: string): object => ({ networking: { inbound: [{ port: 80, state }] } });
  const dataplane = (labels: Record<string, string>, spec: object): ReturnType<typeof makeRow> =>
    makeRow('Dataplane', 'one', { labels, spec: spec as Record<string, never> });
  const cart = { 'kuma.io/workload': 'cart' };
  view.put(dataplane(cart, inbound('Ready')));
  expect(names()).toEqual([]);
  view.put(makeRow('Mesh', 'default'));
  expect(names()).toEqual(['cart']);
  view.put(makeRow('Mesh', 'default'));
  view.put(dataplane({ ...cart, more: 'a' }, inbound('Ready')));
  view.put(makeRow('DataplaneInsight', 'two', { spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] } }));
  expect(names()).toEqual([]);
  view.put(dataplane(cart, inbound('NotReady')));
  expect(names()).toEqual(['cart']);
  view.put(makeRow('DataplaneInsight', 'one', { spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] } }));
  expect(view.takeMarked().map(({ counts }) => counts)).toEqual([{ total: 1, connected: 1, healthy: 0 }]);
  view.put(makeRow('DataplaneInsight', 'one', { spec: { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }, {}] } }));
  expect(names()).toEqual([]);
  view.touchAll();
  expect(names()).toEqual(['cart']);
  view.put(dataplane({ 'kuma.io/workload': 'shop' }, inbound('NotReady')));
  expect(names().sort()).toEqual(['shop']);
  view.remove({ type: 'Dataplane', mesh: 'default', name: 'one' });
  view.put(dataplane({ 'kuma.io/workload': 'No name' }, inbound('Ready')));
  expect(names()).toEqual([]);
});
