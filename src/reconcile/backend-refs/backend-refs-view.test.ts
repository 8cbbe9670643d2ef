import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { targetRefOf } from '../../policy/target-ref.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import { BACKEND, BackendRefsView, readBackendRefs } from './backend-refs-view.ts';

it('the view reads the references of a policy to collectors, and no references of other kinds', () => {
  const backend = (backendRef: object): object => ({ backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef } }] });
  const spec = {
    default: backend({ kind: 'MeshOpenTelemetryBackend', name: 'otel' }),
    to: [{ default: backend({ kind: 'MeshService', name: 'collector' }) }],
    rules: [{ default: backend({ kind: 'MeshOpenTelemetryBackend', labels: { team: 'b', env: 'a' } }) }],
  };
  expect(readBackendRefs(JSON.parse(JSON.stringify(spec)) as typeof spec & Record<string, never>)).toEqual([
    { target: targetRefOf({ kind: BACKEND, name: 'otel' }), text: 'name:otel' },
    { target: targetRefOf({ kind: BACKEND, labels: { team: 'b', env: 'a' } }), text: 'labels:env=a,team=b' },
  ]);
});

it('a reference without a name and labels refers to no collector', () => {
  const refOf = (backendRef: JsonObject): JsonObject => ({ backends: [{ openTelemetry: { backendRef } }] });
  for (const ref of [{}, { name: '' }, { labels: {} }, { name: '', labels: {} }])
    expect(readBackendRefs({ default: refOf({ kind: BACKEND, ...ref }) })).toEqual([]);
});

describe('a view of collectors and policies', () => {
  let view: BackendRefsView;
  const refTo = (...names: string[]): JsonObject => ({
    default: {
      backends: names.map((name) => ({ type: 'OpenTelemetry', openTelemetry: { backendRef: { kind: BACKEND, name } } })),
    },
  });
  const backend = (name: string, fields: Partial<Resource> = {}): Resource =>
    makeRow(BACKEND, name, { labels: { 'kuma.io/display-name': name }, ...fields });
  const policy = (name: string, spec: JsonObject, fields: Partial<Resource> = {}): Resource =>
    makeRow('MeshTrace', name, { spec, ...fields });

  /** The marked rows: policies with their references that resolve to nothing, backends with the number of their references. */
  function marked(): string[] {
    const { policies, backends } = view.takeMarked();
    return [
      ...policies.map(({ row, unresolved }) => [row.name, ...unresolved].join(' ')),
      ...backends.map(({ row, references }) => `${row.name} ${String(references)}`),
    ].sort();
  }

  beforeEach(() => {
    view = new BackendRefsView('east');
    for (const row of [backend('a'), backend('b'), policy('p', refTo('a', 'a')), policy('none', {})]) view.put(row);
    marked();
  });

  it('marks nothing for the same row, and for another row without references', () => {
    for (const row of [backend('a', { version: 3 }), policy('p', refTo('a', 'a'), { version: 3 }), policy('none', {})])
      view.put(row);
    expect(marked()).toEqual([]);
  });

  it('marks a row whose status has changed', () => {
    view.put(backend('b', { status: { conditions: [] } }));
    view.put(policy('none', {}, { status: { conditions: [] } }));
    expect(marked()).toEqual(['b 0', 'none']);
  });

  it('marks a policy and the backends whose references change', () => {
    view.put(policy('p', refTo('a', 'b')));
    expect(marked()).toEqual(['a 1', 'b 1', 'p']);
    view.put(policy('p', { to: [refTo('a', 'b')] }));
    expect(marked()).toEqual([]);
    view.put(policy('p', refTo('a', 'b', 'c')));
    expect(marked()).toEqual(['p name:c']);
    view.remove({ type: 'MeshTrace', mesh: 'default', name: 'p' });
    expect(marked()).toEqual(['a 0', 'b 0']);
  });

  it('resolves the references of its mesh again when a backend comes, goes or changes its labels', () => {
    view.put(policy('q', refTo('c')));
    expect(marked()).toEqual(['q name:c']);
    view.put(makeRow(BACKEND, 'c', { mesh: 'other', labels: { 'kuma.io/display-name': 'c' } }));
    expect(marked()).toEqual(['c 0']);
    view.put(backend('c'));
    expect(marked()).toEqual(['c 1', 'p', 'q']);
    view.put(backend('c', { labels: { 'kuma.io/display-name': 'd' } }));
    expect(marked()).toEqual(['c 0', 'p', 'q name:c']);
    view.remove({ type: BACKEND, mesh: 'default', name: 'a' });
    expect(marked()).toEqual(['p name:a', 'q name:c']);
    view.remove({ type: BACKEND, mesh: 'default', name: 'unknown' });
    expect(marked()).toEqual([]);
  });

  it('means the oldest of several backends with the labels, and of one age the first by KRI', () => {
    const labels = { team: 'x' };
    const aged = (name: string, created: number): void => view.put(backend(name, { labels, creationTime: new Date(created) }));
    const openTelemetry = { backendRef: { kind: BACKEND, labels } };
    view.put(policy('q', { default: { backends: [{ type: 'OpenTelemetry', openTelemetry }] } }));
    aged('m', 1);
    marked();
    aged('older', 0);
    expect(marked()).toEqual(['m 0', 'older 1', 'p', 'q']);
    aged('first', 0);
    expect(marked()).toEqual(['first 1', 'older 0', 'p', 'q']);
    // The backend was deleted and created again between two reads.
    aged('first', 2);
    expect(marked()).toEqual(['first 0', 'older 1', 'p', 'q']);
  });

  it('resolves the references of a policy again when its place changes', () => {
    view.put(policy('p', refTo('a', 'a'), { labels: { 'k8s.kuma.io/namespace': 'shop' } }));
    expect(marked()).toEqual(['a 0', 'p name:a']);
    view.put(policy('p', refTo('a', 'a')));
    expect(marked()).toEqual(['a 2', 'p']);
  });

  it('takes in what was written, and marks it when it is touched', () => {
    view.accept(policy('p', refTo('a', 'a'), { version: 9 }));
    view.accept(backend('a', { version: 9 }));
    view.accept(backend('unknown'));
    expect(marked()).toEqual([]);
    view.touch({ type: BACKEND, mesh: 'default', name: 'b' });
    view.touch({ type: BACKEND, mesh: 'default', name: 'unknown' });
    expect(marked()).toEqual(['b 0']);
    view.touchAll();
    const { policies, backends } = view.takeMarked();
    expect([policies, backends].map((rows) => rows.map(({ row }) => [row.name, row.version]))).toEqual([
      [
        ['p', 9],
        ['none', 0],
      ],
      [
        ['a', 9],
        ['b', 0],
      ],
    ]);
    expect([...view.keysOf(BACKEND), ...view.keysOf('MeshTrace'), ...view.keysOf('MeshMetric')].map(({ name }) => name)).toEqual([
      'a',
      'b',
      'p',
      'none',
    ]);
  });
});
