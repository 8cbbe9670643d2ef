// JSON Patch on any documents: it gives JSON or a JsonPatchError, and the document that it was given stays.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { applyJsonPatch, JsonPatchError } from './json-patch.ts';

const key = fc.constantFrom('a', 'b_c', 'bC', '0', '1', '-', 'constructor', 'toString', '__proto__', 'length');
const path = fc.array(key, { maxLength: 3 }).map((keys) => keys.map((one) => `/${one}`).join(''));
const { document } = fc.letrec<{ document: Json }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(1, 'text', null),
    fc.array(tie('document'), { maxLength: 3 }),
    fc.dictionary(key, tie('document'), { maxKeys: 3 }),
  ),
}));
const operation = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace', 'copy', 'move', 'test'),
  path,
  from: path,
  value: document,
});

describe('a JSON Patch', () => {
  it('gives JSON, or says why it does not fit', () => {
    fc.assert(
      fc.property(document, fc.array(operation, { minLength: 1, maxLength: 40 }), (given, operations) => {
        const before = JSON.stringify(given);
        try {
          const text = JSON.stringify(applyJsonPatch(given, operations));
          expect(JSON.stringify(JSON.parse(text))).toBe(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonPatchError);
        }
        expect(JSON.stringify(given)).toBe(before);
      }),
    );
  });

  it('does not grow without bounds by copies of the document into itself', () => {
    const copies: JsonObject[] = Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '', path: `/copy${String(at)}` }));
    expect(() => applyJsonPatch({ name: 'cluster' }, copies)).toThrow('a copy makes it larger than');
  });

  it('finds no field that every object inherits', () => {
    for (const op of ['copy', 'move', 'replace', 'remove'])
      expect(() => applyJsonPatch({}, [{ op, from: '/constructor', path: '/constructor', value: 1 }])).toThrow(
        'there is no /constructor',
      );
  });
});
