// Random histories of the smaller reconcilers: the incremental result equals that of a new view over the same rows.
import { describe, expect, it } from 'vitest';
import { keyText, type JsonObject, type Resource, type ResourceKey } from '../../src/resource/types.ts';
import { BackendRefsView, viewedTypes as backendTypes } from '../../src/reconcile/backend-refs/backend-refs-view.ts';
import { planConditions } from '../../src/reconcile/backend-refs/plan-conditions.ts';
import { putAll, type PlannedWrite, type ReconciledView } from '../../src/reconcile/reconcile.ts';
import { planWorkloads } from '../../src/reconcile/workloads/plan-workloads.ts';
import { viewedTypes as workloadTypes, WorkloadsView } from '../../src/reconcile/workloads/workloads-view.ts';
import { makeRow } from '../support/make-row.ts';
import { fc } from '../support/property.ts';

const now = new Date(0);
type Change = { readonly do: 'put' | 'delete' | 'lose' | 'settle' | 'edit'; readonly row: Resource };
type Machine<View> = {
  readonly types: readonly string[];
  readonly create: () => View;
  readonly plan: (view: View) => PlannedWrite[];
};

/** A table with a view that hears of every change. */
class Table<View extends ReconciledView> {
  readonly rows = new Map<string, Resource>();
  readonly #machine: Machine<View>;
  readonly #view: View;

  constructor(machine: Machine<View>) {
    this.#machine = machine;
    this.#view = machine.create();
  }

  apply({ do: what, row }: Change): void {
    const before = this.rows.get(keyText(row));
    if (what === 'settle') this.settle();
    else if (what === 'lose') this.#lose(row);
    else if (what === 'delete') this.#delete(row);
    else if (what === 'put') this.#put({ ...row, status: before?.status ?? {} });
    else if (before !== undefined) this.#put({ ...before, status: {} });
  }

  settle(): void {
    for (const write of this.#machine.plan(this.#view)) {
      if (write.op === 'delete') this.#delete(write.before);
      else {
        this.rows.set(keyText(write.row), write.row);
        this.#view.accept(write.row);
      }
    }
  }

  /** The writes of a new view over the same rows. */
  leftover(): PlannedWrite[] {
    const view = this.#machine.create();
    for (const type of this.#machine.types)
      putAll(
        view,
        type,
        [...this.rows.values()].filter((row) => row.type === type),
      );
    return this.#machine.plan(view);
  }

  /** Deletes a row without a notification, and then reads its type again. */
  #lose(row: Resource): void {
    this.rows.delete(keyText(row));
    const ofType = [...this.rows.values()].filter(({ type }) => type === row.type);
    putAll(this.#view, row.type, ofType);
    expect([...this.#view.keysOf(row.type)].every((key) => this.rows.has(keyText(key)))).toBe(true);
  }

  #put(row: Resource): void {
    this.rows.set(keyText(row), row);
    this.#view.put(row);
  }

  #delete({ type, mesh, name }: ResourceKey): void {
    this.rows.delete(keyText({ type, mesh, name }));
    this.#view.remove({ type, mesh, name });
  }
}

function historyOf(row: fc.Arbitrary<Resource>): fc.Arbitrary<Change[]> {
  const what = fc.constantFrom(
    'put' as const,
    'put' as const,
    'delete' as const,
    'lose' as const,
    'settle' as const,
    'edit' as const,
  );
  return fc.array(fc.record({ do: what, row }), { maxLength: 80 });
}

function restsAfter<View extends ReconciledView>(machine: Machine<View>, row: fc.Arbitrary<Resource>): void {
  fc.assert(
    fc.property(historyOf(row), (changes) => {
      const table = new Table(machine);
      for (const change of changes) table.apply(change);
      table.settle();
      expect(table.leftover()).toEqual([]);
    }),
    { numRuns: 300 },
  );
}

const name = fc.constantFrom('a', 'b', 'c');
const mesh = fc.constantFrom('default', 'other');
const workload = fc.constantFrom<Record<string, string>>({}, { 'kuma.io/workload': 'w1' }, { 'kuma.io/workload': 'w2' });

describe('after any history a new view writes nothing', () => {
  it('of Workloads', () => {
    const state = fc.constantFrom('Ready', 'NotReady', 'Ignored');
    const row = fc.oneof(
      mesh.map((one) => makeRow('Mesh', one, { mesh: '' })),
      fc.record({ mesh, name, labels: workload, state }).map(({ name: dp, labels, ...given }) => {
        const spec: JsonObject = { networking: { address: '10.0.0.1', inbound: [{ port: 80, state: given.state }] } };
        return makeRow('Dataplane', dp, { mesh: given.mesh, labels, spec });
      }),
      fc.record({ mesh, name, isOpen: fc.boolean() }).map(({ name: dp, isOpen, ...given }) => {
        const subscription = {
          id: 'i',
          connectTime: '2026-01-01T00:00:00Z',
          ...(!isOpen && { disconnectTime: '2026-01-02T00:00:00Z' }),
        };
        return makeRow('DataplaneInsight', dp, { mesh: given.mesh, spec: { subscriptions: [subscription] } });
      }),
      fc
        .record({ mesh, labels: fc.constantFrom<Record<string, string>>({}, { 'kuma.io/managed-by': 'workload-generator' }) })
        .map(({ labels, ...given }) => makeRow('Workload', 'w1', { mesh: given.mesh, labels })),
    );
    const plan = (view: WorkloadsView): PlannedWrite[] => planWorkloads(view, { zone: 'east', now });
    restsAfter({ types: workloadTypes, create: () => new WorkloadsView(), plan }, row);
  });

  it('of references to backends', () => {
    const labels = fc.constantFrom<Record<string, string>>({ team: 'x' }, { team: 'y' }, { team: 'x', tier: 'z' });
    const place = fc.constantFrom<Record<string, string>>(
      ...[{}, { 'k8s.kuma.io/namespace': 'shop' }, { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' }],
    );
    const placed = fc.record({ labels, place }).map((one) => ({ ...one.labels, ...one.place }));
    const refs = fc.array(
      fc.oneof(
        labels.map((one) => ({ labels: one })),
        name.map((one) => ({ name: one })),
      ),
      { maxLength: 3 },
    );
    const row = fc.oneof(
      fc
        .record({ mesh, name, labels: placed })
        .map(({ name: backend, ...given }) => makeRow('MeshOpenTelemetryBackend', backend, given)),
      fc
        .record({ mesh, name, place, refs, type: fc.constantFrom('MeshTrace', 'MeshMetric') })
        .map(({ type, name: policy, ...given }) => {
          const backends = given.refs.map((one) => ({
            ...{ type: 'OpenTelemetry', openTelemetry: { backendRef: { kind: 'MeshOpenTelemetryBackend', ...one } } },
          }));
          return makeRow(type, policy, { mesh: given.mesh, labels: given.place, spec: { default: { backends } } });
        }),
    );
    restsAfter({ types: backendTypes, create: () => new BackendRefsView('east'), plan: planConditions }, row);
  });
});
