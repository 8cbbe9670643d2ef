import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { diffLines } from './text-diff.ts';

describe('the difference of two texts', () => {
  it('shows removed lines, added lines and three lines of context', () => {
    expect(diffLines('a\nb\nc\nd\ne\nf\ng\nh\ni\n', 'a\nb\nc\nd\nE\nf\ng\nh\ni\n')).toEqual([
      '  b',
      '  c',
      '  d',
      '- e',
      '+ E',
      '  f',
      '  g',
      '  h',
    ]);
  });

  it('prints … in place of omitted equal lines', () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${String(index)}`);
    const changed = lines.with(0, 'first').with(19, 'last');
    const shown = diffLines(lines.join('\n'), changed.join('\n'));
    expect(shown.filter((line) => line === '…')).toHaveLength(1);
    expect(shown).toEqual(expect.arrayContaining(['- line 0', '+ first', '- line 19', '+ last']));
  });

  it('is empty for equal texts and all additions for a new one', () => {
    expect(diffLines('a\nb\n', 'a\nb\n')).toEqual([]);
    expect(diffLines('', 'a\nb\n')).toEqual(['+ a', '+ b']);
  });

  it('shows a text with too many differences as replaced', () => {
    const lines = (sign: string): string[] => Array.from({ length: 1_500 }, (_, index) => `${sign} ${String(index)}`);
    const text = (sign: string): string => `${lines(sign).join('\n')}\n`;
    expect(diffLines(text('a'), text('b'))).toEqual([
      ...lines('a').map((line) => `- ${line}`),
      ...lines('b').map((line) => `+ ${line}`),
    ]);
  });

  it('never loses or invents a line', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const shown = diffLines(before.join('\n'), after.join('\n'));
        const count = (lines: readonly string[], line: string): number => lines.filter((one) => one === line).length;
        for (const line of ['a', 'b', 'c', 'd'])
          expect(count(after, line) - count(before, line)).toBe(count(shown, `+ ${line}`) - count(shown, `- ${line}`));
      }),
    );
  });
});
