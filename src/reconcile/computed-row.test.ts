// Rows that a control plane computes.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { byAge, newRow, sameContent } from './computed-row.ts';

it('a new row is of the zone, and goes with its mesh', () => {
  const now = new Date(5);
  expect(newRow({ type: 'MeshService', mesh: 'shop', name: 'cart' }, now)).toEqual({
    ...{ type: 'MeshService', mesh: 'shop', name: 'cart', labels: { 'kuma.io/origin': 'zone' }, spec: {}, status: {} },
    ...{ version: 0, creationTime: now, modificationTime: now, syncVersion: null },
    owner: { type: 'Mesh', mesh: '', name: 'shop' },
  });
});

it('rows are in the order of their age, then of their names', () => {
  const rows = [
    { created: 2, name: 'a' },
    { created: 1, name: 'c' },
    { created: 1, name: 'b' },
  ];
  expect(rows.sort(byAge).map(({ name }) => name)).toEqual(['b', 'c', 'a']);
});

describe('the content of a row', () => {
  const row = makeRow('MeshService', 'cart', { labels: { a: '1' }, spec: { b: 1 }, status: { c: 1 } });

  it('is the same for other objects and another version', () => {
    const other = { ...row, labels: { a: '1' }, spec: { b: 1 }, status: { c: 1 }, version: 7 };
    expect(sameContent(row, other)).toBe(true);
  });

  it.each([{ labels: { a: '2' } }, { spec: { b: 2 } }, { status: {} }])('differs with %j', (fields) => {
    expect(sameContent(row, { ...row, ...fields })).toBe(false);
  });
});
