// The rows that the planner writes for each Workload, and those that it leaves.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { planWorkloads } from './plan-workloads.ts';
import { WorkloadsView } from './workloads-view.ts';

const now = new Date('2026-01-01T00:00:00Z');
const proxies = (total: number): JsonObject => ({ dataplaneProxies: { total, connected: 0, healthy: total } });
const dataplane = makeRow('Dataplane', 'cart-1', {
  labels: { 'kuma.io/workload': 'cart' },
  spec: { networking: { inbound: [{ port: 80 }] } },
});
const workload = (fields: Partial<Resource>): Resource =>
  makeRow('Workload', 'cart', { ...fields, labels: { 'kuma.io/origin': 'zone', ...fields.labels } });

function planned(...rows: Resource[]) {
  const view = new WorkloadsView();
  for (const row of [makeRow('Mesh', 'default'), ...rows]) view.put(row);
  const writes = planWorkloads(view, { zone: 'east', now });
  for (const write of writes) if (write.op === 'put') view.put({ ...write.row, version: write.row.version + 1 });
  view.touchAll();
  expect(planWorkloads(view, { zone: 'east', now }).filter(({ op }) => op === 'put')).toEqual([]);
  return writes;
}

describe('the Workload of a label', () => {
  it('is created with its zone and its counts, and is not written again', () => {
    const [write] = planned(dataplane);
    expect(write).toMatchObject({
      op: 'put',
      before: undefined,
      row: {
        ...{ type: 'Workload', mesh: 'default', name: 'cart' },
        labels: { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone', 'kuma.io/env': 'universal', 'kuma.io/display-name': 'cart' },
        status: proxies(1),
      },
    });
  });

  it('is deleted with its last proxy, unless a user wrote it', () => {
    const [ours] = planned(dataplane);
    const made = ours?.op === 'put' ? ours.row : workload({});
    expect(planned(made)).toEqual([{ op: 'delete', before: made }]);
    expect(planned(workload({}))).toMatchObject([{ op: 'put', row: { status: proxies(0) } }]);
  });

  it('of a user keeps its labels and the rest of its status', () => {
    const stored = workload({ labels: { team: 'a' }, status: { other: 'x', ...proxies(7) } });
    const [write] = planned(stored, dataplane);
    expect(write).toMatchObject({ op: 'put', before: stored });
    expect(write?.op === 'put' && [write.row.labels, write.row.status]).toEqual([stored.labels, { other: 'x', ...proxies(1) }]);
  });
});
