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
