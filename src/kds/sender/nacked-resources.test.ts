import { beforeEach, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import type { Item } from './response-draft.ts';
import { MAX_PROBES, NackedResources } from './nacked-resources.ts';

const itemOf = (name: string): Item => ({ wireName: name, plainName: name, isStray: true });
const [a, b, c] = [itemOf('a'), itemOf('b'), itemOf('c')];

let nacked: NackedResources;
const namesOf = (items: Iterable<Item> | null): string[] | null =>
  items === null ? null : [...items].map(({ wireName }) => wireName);
const state = (): unknown => ({
  refused: namesOf(nacked.refused.keys()),
  suspects: namesOf(nacked.suspects.keys()),
  size: nacked.size,
});

beforeEach(() => {
  nacked = new NackedResources();
});

it('a response of one resource that is refused names the culprit, one of two does not', () => {
  nacked.suspect([a], 'no');
  expect(state()).toEqual({ refused: ['a'], suspects: [], size: 1 });
  nacked.suspect([b, c], 'no');
  expect(state()).toEqual({ refused: ['a'], suspects: ['b', 'c'], size: 3 });
  expect([namesOf(nacked.takeDue()), namesOf(nacked.takeDue()), nacked.takeDue()]).toEqual([['b'], ['c'], null]);
});

it('a refused resource stays refused when its response is refused again', () => {
  nacked.refuse([a], 'by name');
  nacked.suspect([a, b, c], 'later');
  expect(state()).toEqual({ refused: ['a'], suspects: ['b', 'c'], size: 3 });
  expect([namesOf(nacked.takeDue()), namesOf(nacked.takeDue())]).toEqual([['a', 'b'], ['c']]);
  nacked.refuse([b], 'by name');
  expect(state()).toEqual({ refused: ['a', 'b'], suspects: ['c'], size: 3 });
});

it('a retry repeats the unsent and all refused items, the last confirmed one last', () => {
  nacked.refuse([a, b], 'no');
  nacked.refuse([a], 'no');
  expect(nacked.takeDue()).toBeNull();
  nacked.retry();
  expect([namesOf(nacked.takeDue()), nacked.takeDue()]).toEqual([['b', 'a'], null]);
  nacked.delete(a);
  nacked.delete(b);
  nacked.retry();
  expect(nacked.takeDue()).toBeNull();
});

it('an accepted item is not sent again', () => {
  nacked.suspect([a, b], 'no');
  nacked.delete(a);
  expect([namesOf(nacked.takeDue()), nacked.takeDue(), nacked.size]).toEqual([['b'], null, 1]);
});

it('each change raises the revision, and no other call does', () => {
  const revisions: number[] = [];
  const note = (): number => revisions.push(nacked.revision);
  nacked.delete(a);
  note();
  nacked.refuse([a], 'no');
  note();
  nacked.delete(b);
  note();
  nacked.suspect([b, c], 'no');
  note();
  nacked.delete(c);
  note();
  expect(revisions).toEqual([0, 1, 1, 3, 4]);
});

it('between two retries the number of responses is bounded; items without room do not count', () => {
  for (let n = 0; n < MAX_PROBES; n += 1) nacked.suspect([itemOf(`${String(n)}-a`), itemOf(`${String(n)}-b`)], 'no');
  for (let n = 0; n < MAX_PROBES - 1; n += 1) expect(nacked.takeDue()).not.toBeNull();
  const last = nacked.takeDue();
  expect([last === null, nacked.takeDue()]).toEqual([false, null]);
  nacked.putBack(last ?? []);
  expect(namesOf(nacked.takeDue())).toEqual(namesOf(last));
  expect(nacked.takeDue()).toBeNull();
  nacked.retry();
  expect(nacked.takeDue()).not.toBeNull();
});

it('a report names the first items, and what changed since the one before, after any changes', () => {
  // Two items have each name, as a removed resource and one that was made again.
  const items = Array.from({ length: 8 }, (_, n): Item => {
    const name = `r${String(n % 4)}`;
    return { wireName: name, plainName: name, isStray: true };
  });
  const some = fc.uniqueArray(fc.constantFrom(...items), { minLength: 1, maxLength: 4 });
  const step = fc.record({
    kind: fc.constantFrom('refuse', 'suspect', 'delete', 'report', 'report'),
    some,
    reason: fc.constantFrom('a', 'b'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const nacked = new NackedResources();
      const told = new Map<string, string>();
      for (const { kind, some: given, reason } of steps) {
        if (kind === 'refuse') nacked.refuse(given, reason);
        else if (kind === 'suspect') nacked.suspect(given, reason);
        else if (kind === 'delete') for (const item of given) nacked.delete(item);
        if (kind !== 'report') continue;
        const { refused, suspects, changed, solved } = nacked.takeReport();
        for (const name of solved) told.delete(name);
        for (const [name, text] of changed) told.set(name, text);
        const named = [nacked.refused, nacked.suspects].map((of) => new Set(namesOf(of.keys())));
        expect(new Set(told.keys())).toEqual(new Set([...(named[0] ?? []), ...(named[1] ?? [])]));
        expect([refused, suspects].map(({ count, first }) => [count, new Set(first)])).toEqual(named.map((of) => [of.size, of]));
      }
    }),
  );
});

it('the report of many refused items names ten, and the next one only what changed', () => {
  const many = Array.from({ length: 5_000 }, (_, n) => itemOf(`r${String(n)}`));
  nacked.refuse(many, 'no');
  const first = nacked.takeReport();
  expect([first.refused.count, first.refused.first.length, first.changed.size, first.solved]).toEqual([5_000, 10, 5_000, []]);
  nacked.delete(many[7] as Item);
  nacked.refuse([many[8] as Item], 'again');
  const second = nacked.takeReport();
  expect([second.refused.count, [...second.changed], second.solved]).toEqual([4_999, [['r8', 'again']], ['r7']]);
  // The halves of a refused response are refused for the reason of the whole.
  nacked.suspect([a, b, c], 'no');
  nacked.takeReport();
  nacked.suspect([a, b], 'no');
  expect([...nacked.takeReport().changed]).toEqual([]);
});
