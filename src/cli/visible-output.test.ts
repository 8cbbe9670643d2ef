// All output of commands is escaped: no character of a resource or a peer reaches the terminal as a control character.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fc } from '../../test/support/property.ts';
import { isUnsafe } from '../base/visible-text.ts';
import { serialize } from './output.ts';
import { table } from './views/table.ts';

const text = fc
  .array(
    fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.constantFrom('\u001b[2J', '\u009b1m', '\u202e', '\r', '\n', 'a: b')),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join('').toWellFormed());

describe('output', () => {
  it('of a table has no unsafe character', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), (rows) => {
        expect(isUnsafe(table(['NAME', 'WHY'], rows))).toBe(false);
      }),
    );
  });

  it.each(['json', 'yaml'] as const)('in %s has no unsafe character, and is parsed to the same value', (format) => {
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text, { maxLength: 3 })), { maxKeys: 4 }), (value) => {
        const printed = serialize({ ...value }, format);
        expect(isUnsafe(printed)).toBe(false);
        expect(format === 'json' ? JSON.parse(printed) : parse(`${printed}\n`)).toEqual({ ...value });
      }),
    );
  });
});
