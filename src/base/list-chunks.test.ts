// The small documents of a large one.
import { describe, expect, it } from 'vitest';
import { chunksOf, listChunks } from './list-chunks.ts';
import { MIN_ITEMS } from './long-lists.ts';

const list = (length: number, name = 'r'): { id: string }[] =>
  Array.from({ length }, (_, at) => ({ id: `${name}${String(at)}` }));

describe('a document in small ones', () => {
  it('has each item of its long lists in one of them, and the rest in all', () => {
    const document = {
      name: 'route',
      to: [
        { kind: 'A', rules: list(300, 'a') },
        { kind: 'B', rules: list(100, 'b'), few: list(3) },
      ],
    };
    const chunks = [...listChunks(document)];
    const ids = (at: number): string[] => chunks.flatMap(({ to }) => to[at]?.rules.map(({ id }) => id) ?? []);
    expect([ids(0), ids(1)]).toEqual([list(300, 'a').map(({ id }) => id), list(100, 'b').map(({ id }) => id)]);
    for (const { name, to } of chunks)
      expect({ name, to: to.map(({ kind, few }) => ({ kind, few })) }).toEqual({
        name: 'route',
        to: [
          { kind: 'A', few: undefined },
          { kind: 'B', few: list(3) },
        ],
      });
  });

  it('is none where no list is long', () => {
    expect([...listChunks({ to: [{ rules: list(MIN_ITEMS - 1) }] })]).toEqual([]);
  });
});

it.each([MIN_ITEMS, 64, 65, 95, 96, 97, 1000])('the parts of a list of %s are long lists', (length) => {
  const parts = [...chunksOf(list(length))];
  expect(parts.flat()).toEqual(list(length));
  expect(parts.every((part) => part.length >= MIN_ITEMS && part.length < 3 * MIN_ITEMS)).toBe(true);
});
