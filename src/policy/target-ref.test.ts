// A targetRef as it is read, and as it is shown to people.
import { expect, it } from 'vitest';
import type { Json } from '../resource/types.ts';
import { describeRef, targetRefOf, type TargetRef } from './target-ref.ts';

const empty: TargetRef = { kind: '', name: '', namespace: '', labels: null, sectionName: '', tags: {}, proxyTypes: [] };

it.each<[Json | undefined, Partial<TargetRef>]>([
  [undefined, { kind: 'Mesh' }],
  [null, { kind: 'Mesh' }],
  [{}, {}],
  [
    { kind: 'MeshService', name: 'a', namespace: 'b', sectionName: 'c' },
    { kind: 'MeshService', name: 'a', namespace: 'b', sectionName: 'c' },
  ],
  [
    { kind: 'MeshService', labels: { a: 'b' } },
    { kind: 'MeshService', labels: { a: 'b' } },
  ],
  [{ kind: 'MeshService', labels: {} }, { kind: 'MeshService' }],
  [
    { kind: 'MeshSubset', tags: { a: 'b' }, proxyTypes: ['Sidecar'] },
    { kind: 'MeshSubset', tags: { a: 'b' }, proxyTypes: ['Sidecar'] },
  ],
  [{ kind: 'Mesh', proxyTypes: 'Sidecar' }, { kind: 'Mesh' }],
])('the targetRef %j is read with empty fields for missing ones', (given, expected) => {
  expect(targetRefOf(given)).toEqual({ ...empty, ...expected });
});

it.each<[Partial<TargetRef>, string]>([
  [{ kind: 'Mesh' }, 'Mesh'],
  [{ kind: 'Dataplane', sectionName: 'http' }, 'Dataplane section http'],
  [{ kind: 'MeshService', name: 'a' }, 'MeshService a'],
  [{ kind: 'MeshService', name: 'a', namespace: 'shop', sectionName: '80' }, 'MeshService a in namespace shop section 80'],
  [{ kind: 'MeshService', labels: { a: '1', b: '2' }, sectionName: '80' }, 'MeshService with labels a=1, b=2 section 80'],
  [{ kind: 'MeshService', labels: { a: '1' }, name: 'x' }, 'MeshService with labels a=1'],
])('a reference is shown by its labels or its name: %j', (given, expected) => {
  expect(describeRef({ ...empty, ...given })).toBe(expected);
});
