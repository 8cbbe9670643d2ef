import { describe, expect, it } from 'vitest';
import { applyMutant, blockAround, mutantsOf } from '../../scripts/mutation/mutants.ts';
import { shuffled } from '../../scripts/mutation/random.ts';

const changed = (text: string): string[] => mutantsOf(text).map((mutant) => applyMutant(text, mutant));

describe('the changes of a text', () => {
  it.each([
    ['a < b', ['a <= b']],
    ['a === b && !c', ['a !== b && !c', 'a === b || !c', 'a === b && c']],
    ['a ?? b', ['a', 'b']],
    ['a + 9', ['a - 9', 'a + 10']],
    ['x.filter(f)', ['x']],
    ['c ? a : b', ['(a)', '(b)']],
    ["'a' + b", []],
  ])('of %s include each operator, number, call and branch', (expression, expected) => {
    const found = changed(`export const it = ${expression};`).map((text) => text.slice('export const it = '.length, -1));
    expect(found.sort()).toEqual(expected.sort());
  });

  it('remove statements and awaits, but no log line, type or import', () => {
    const body = "log.info('x', 1);\n  await g();\n  if (h) return;";
    const text = `import { a } from 'b';\ntype T = 1 | 2;\nasync function f() {\n  ${body}\n}`;
    const found = mutantsOf(text).map(({ kind, replacement }) => `${kind} ${replacement}`);
    expect(found.sort()).toEqual(['await void g()', 'statement ;', 'statement ;']);
  });

  it('name their innermost block', () => {
    const text = 'const f = (a) => a + 1; function g() { if (h) { i(); } }';
    const around = (part: string): string | null => {
      const block = blockAround(text, text.indexOf(part));
      return block === null ? null : text.slice(block.start, block.end);
    };
    expect([around('1;'), around('i();'), around('const')]).toEqual(['a + 1', '{ i(); }', null]);
  });
});

it('a seed always gives the same order', () => {
  const items = Array.from({ length: 50 }, (_, index) => index);
  expect(shuffled(items, 7)).toEqual(shuffled(items, 7));
  expect(shuffled(items, 7)).not.toEqual(shuffled(items, 8));
  expect(shuffled(items, 7).sort((a, b) => a - b)).toEqual(items);
});
