// JSON Patch on any documents: it gives JSON or a JsonPatchError, and the document that it was given stays.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { JsonPatch } from '../policies/mesh-proxy-patch/spec.ts';
import type { Json } from '../resource/types.ts';
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
  op: fc.constantFrom<JsonPatch['op'][]>('add', 'remove', 'replace', 'copy', 'move'),
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
    const copies: JsonPatch[] = Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '', path: `/copy${String(at)}` }));
    expect(() => applyJsonPatch({ name: 'cluster' }, copies)).toThrow('a copy makes it larger than');
  });

  it('finds no field that every object inherits', () => {
    for (const op of ['copy', 'move', 'replace', 'remove'] as const)
      expect(() => applyJsonPatch({}, [{ op, from: '/constructor', path: '/constructor', value: 1 }])).toThrow(
        'there is no /constructor',
      );
  });

  it.each<[string, Json, JsonPatch[], Json]>([
    ['adds a field', {}, [{ op: 'add', path: '/a', value: 1 }], { a: 1 }],
    ['adds null without a value', {}, [{ op: 'add', path: '/a' }], { a: null }],
    ['adds into a list', [1, 2], [{ op: 'add', path: '/1', value: 3 }], [1, 3, 2]],
    ['adds behind a list', [1], [{ op: 'add', path: '/-', value: 3 }], [1, 3]],
    ['adds at the end of a list', [1], [{ op: 'add', path: '/1', value: 3 }], [1, 3]],
    ['adds the whole document', { a: 1 }, [{ op: 'add', path: '', value: { b: 1 } }], { b: 1 }],
    ['removes a field', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['removes from a list', [1, 2, 3], [{ op: 'remove', path: '/1' }], [1, 3]],
    ['replaces a field', { a: 1 }, [{ op: 'replace', path: '/a', value: 2 }], { a: 2 }],
    ['replaces by null without a value', { a: 1 }, [{ op: 'replace', path: '/a' }], { a: null }],
    ['replaces in a list', [1, 2], [{ op: 'replace', path: '/0', value: 3 }], [3, 2]],
    ['replaces the whole document', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
    ['copies', { a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
    ['moves', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    ['finds names of proto files', { aB: { c1: 1 } }, [{ op: 'replace', path: '/a_b/c_1', value: 2 }], { aB: { c_1: 2 } }],
    ['prefers the name as it is written', { a_b: 1, aB: 2 }, [{ op: 'remove', path: '/a_b' }], { aB: 2 }],
    ['adds unknown names as they are written', {}, [{ op: 'add', path: '/a_b', value: 1 }], { a_b: 1 }],
    ['reads ~1 as / and ~0 as ~', { 'a/b': 1, 'c~1': 2 }, [{ op: 'remove', path: '/a~1b' }], { 'c~1': 2 }],
    ['reads ~01 as ~1', { 'a/b': 1, 'c~1': 2 }, [{ op: 'remove', path: '/c~01' }], { 'a/b': 1 }],
  ])('%s', (_, given, operations, expected) => {
    expect(applyJsonPatch(given, operations)).toEqual(expected);
  });

  it.each<[string, Json, JsonPatch]>([
    ['there is no /a', {}, { op: 'remove', path: '/a' }],
    ['there is no /a', {}, { op: 'replace', path: '/a', value: 1 }],
    ['there is no /a', {}, { op: 'replace', path: '/a/b', value: 1 }],
    ['there is no /a~1b/c~0', { 'a/b': {} }, { op: 'remove', path: '/a~1b/c~0' }],
    ['there is no /2', [1, 2], { op: 'remove', path: '/2' }],
    ['there is no place /3 in the list', [1, 2], { op: 'add', path: '/3', value: 1 }],
    ['there is no place /01 in the list', [1, 2], { op: 'add', path: '/01', value: 1 }],
    ['/a is neither an object nor a list', { a: 1 }, { op: 'add', path: '/a/b', value: 1 }],
    ['the whole resource cannot be removed', {}, { op: 'remove', path: '' }],
    ['"a" is no JSON pointer: begin with "/"', {}, { op: 'remove', path: 'a' }],
    ['null is no JSON pointer: begin with "/"', {}, { op: 'copy', path: '/a' }],
    ["/__proto__/a names no field of Envoy's API", {}, { op: 'add', path: '/__proto__/a', value: 1 }],
  ])('says that %s', (message, given, operation) => {
    expect(() => applyJsonPatch(given, [operation])).toThrow(new JsonPatchError(message));
  });
});
