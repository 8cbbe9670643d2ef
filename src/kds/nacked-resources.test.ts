import { beforeEach, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
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
  expect(revisions).toEqual([0, 1, 1, 2, 3]);
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

it('names and solved names are those of the items, after any changes', () => {
  // Two items have each name, as a removed resource and one that was made again.
  const items = Array.from({ length: 8 }, (_, n): Item => {
    const name = `r${String(n % 4)}`;
    return { wireName: name, plainName: name, isStray: true };
  });
  const some = fc.uniqueArray(fc.constantFrom(...items), { minLength: 1, maxLength: 4 });
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('refuse', 'suspect', 'delete', 'report'), some }),
    fc.record({ kind: fc.constant('report'), some }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const nacked = new NackedResources();
      let reported = new Set<string>();
      for (const { kind, some: given } of steps) {
        if (kind === 'refuse') nacked.refuse(given, 'no');
        else if (kind === 'suspect') nacked.suspect(given, 'no');
        else if (kind === 'delete') for (const item of given) nacked.delete(item);
        const { refused, suspects } = nacked.names;
        expect(new Set(refused.keys())).toEqual(new Set(namesOf(nacked.refused.keys())));
        expect(new Set(suspects.keys())).toEqual(new Set(namesOf(nacked.suspects.keys())));
        if (kind !== 'report') continue;
        const now = new Set([...refused.keys(), ...suspects.keys()]);
        const solved = nacked.takeSolved();
        for (const name of reported) if (!now.has(name)) expect(solved).toContain(name);
        for (const name of solved) expect(now).not.toContain(name);
        reported = now;
      }
    }),
  );
});
