// No character of an untrusted text reaches the terminal as a control character.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { isUnsafe, visibleLine, visibleText } from './visible-text.ts';

const hostile = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.constantFrom('\u001b[2J', '\u009b', '\u0007', '\r', '\u202e', '\u2066', '\ufeff', '\u{e0041}', '\u0000', '\u007f'),
  ),
  { maxLength: 12 },
);

describe('visible text', () => {
  it.each([
    ['cart', 'cart'],
    ['żółw 😀', 'żółw 😀'],
    ['a\n\tb', 'a\n\tb'],
    ['\u001b[31mred', String.raw`\u001b[31mred`],
    ['\u009b2J', String.raw`\u009b2J`],
    ['a\u202eb', String.raw`a\u202eb`],
    ['\u{e0041}', String.raw`\udb40\udc41`],
  ])('of %j', (text, visible) => {
    expect(visibleText(text)).toBe(visible);
  });

  it('has no control characters, and decodes to the original text as a JSON string', () => {
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join('');
        expect(isUnsafe(visibleText(text))).toBe(false);
        expect(visibleLine(text)).not.toMatch(/[\n\t]/);
        expect(JSON.parse(visibleText(JSON.stringify(text)))).toBe(text);
      }),
    );
  });
});
