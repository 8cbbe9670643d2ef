// Sets of names against plain sets, and how many of them there are.
import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { NameSet, NameSets, type NameEdit } from './name-sets.ts';

const same = (name: string): string => name;
const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `name-${String(from + index)}`);

it('sets of names follow their edits', () => {
  const name = fc.integer({ min: 0, max: 12 }).map(String);
  const edit = fc.record({ add: fc.array(name, { maxLength: 6 }), remove: fc.array(name, { maxLength: 6 }) });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), edit), { maxLength: 40 }), (edits) => {
      const sets = new NameSets();
      const held = [sets.empty, sets.empty, sets.empty];
      const plain = [new Set<string>(), new Set<string>(), new Set<string>()];
      for (const [at, { add, remove }] of edits) {
        held[at] = sets.edit(held[at] ?? sets.empty, { add, remove }, same);
        for (const one of remove) plain[at]?.delete(one);
        for (const one of add) plain[at]?.add(one);
        for (const [index, set] of plain.entries()) expect(held[index]?.copy()).toEqual(set);
      }
    }),
  );
});

it('equal sets of names are one object, however they were made', () => {
  const sets = new NameSets();
  const all = names(0, 200);
  const edited = (...edits: NameEdit[]): unknown => edits.reduce((set, edit) => sets.edit(set, edit, same), sets.empty);
  const once = edited({ add: all, remove: [] });
  expect(edited({ add: all, remove: [] })).toBe(once);
  expect(edited({ add: all.slice(100), remove: [] }, { add: all.slice(0, 150), remove: [] })).toBe(once);
  expect(edited({ add: [...all, 'more'], remove: [] }, { add: [], remove: ['more'] })).toBe(once);
  expect(edited({ add: all, remove: [] }, { add: [], remove: all })).toBe(sets.empty);
});

it('a set of more than a thousand names belongs to its proxy, and is changed in place', () => {
  const sets = new NameSets();
  const [one, other] = [0, 1].map(() => sets.edit(sets.empty, { add: names(0, 2_000), remove: [] }, same));
  expect(one).not.toBe(other);
  expect(one && sets.edit(one, { add: ['more'], remove: ['name-0', 'name-1'] }, same)).toBe(one);
  expect([one?.size, other?.size]).toEqual([1_999, 2_000]);
});

it('a set knows sixteen next sets, while something holds them', () => {
  const set = new NameSet(new Set(), true);
  const made = Array.from({ length: 17 }, (_, n) => ({
    edit: { add: [String(n)], remove: [] },
    next: new NameSet(new Set([String(n)]), true),
  }));
  for (const { edit, next } of made) set.noteNext(edit, next);
  expect(made.map(({ edit }) => set.next(edit))).toEqual([...made.slice(0, 16).map(({ next }) => next), undefined]);
  expect(set.next({ add: ['0'], remove: ['1'] })).toBeUndefined();
});
