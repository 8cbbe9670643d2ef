import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { isStorable, isStorableJson, storablePart } from './storable-text.ts';
import { describeProblem } from '../zone-status/sync-problem.ts';

/** The text has any UTF-16 units, so that pairs are cut and NUL is met. */
const units = fc
  .array(fc.oneof(fc.constantFrom(0, 0xd83d, 0xde00, 0x5c), fc.nat(0xffff)), { maxLength: 20 })
  .map((codes) => String.fromCharCode(...codes));

describe('storable text', () => {
  it('is storable for any text and any cut', () => {
    fc.assert(
      fc.property(units, fc.nat(20), (text, most) => {
        const part = storablePart(text, most);
        expect(isStorable(part)).toBe(true);
        expect(part.length).toBeLessThanOrEqual(most);
        if (isStorable(text) && text.length <= most) expect(part).toBe(text);
      }),
    );
  });

  it('is recognized in JSON by its characters, not by their escapes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), units, (value, text) => {
        const parts = JSON.stringify(value).includes('\\u0000') ? null : value;
        expect(isStorableJson([parts, { [text]: 1 }])).toBe(isStorable(text));
        expect(isStorableJson({ a: [{ b: text }] })).toBe(isStorable(text));
      }),
    );
  });

  it.each(['a peer’s text \0', `${'x'.repeat(1_999)}😀`])('keeps the whole text of a problem', (text) => {
    const at = { stream: 'globalToZone', type: 'MeshTimeout', kind: 'refused' } as const;
    const { message, resources } = describeProblem(at, { count: 1, first: [text] }, text, new Date(0));
    expect([message, ...resources].map(isStorable)).toEqual([true, true]);
  });
});
