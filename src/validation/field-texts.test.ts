// Each field of each spec that users write has a description for `meridian explain` and OpenAPI, which says more than the words
// of its name.
import { describe, expect, it } from 'vitest';
import { objectOf, textOf } from '../resource/read-json.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { specJsonSchema } from './spec-json-schema.ts';

const MAX_TEXT = 140;
/** Words that say nothing about a field beside those of its name. */
const EMPTY_WORDS = new Set(['a', 'an', 'and', 'as', 'by', 'for', 'in', 'its', 'of', 'on', 'or', 'that', 'the', 'this', 'to']);

type FieldText = { readonly path: string; readonly text: string };

/** Every field below a schema, through lists, maps and alternatives. */
function fieldsIn(schema: Json | undefined, path: string): FieldText[] {
  if (schema === undefined) return [];
  if (Array.isArray(schema)) return schema.flatMap((one) => fieldsIn(one, path));
  const { properties, items, additionalProperties, anyOf, oneOf, allOf } = objectOf(schema);
  return [
    ...Object.entries(objectOf(properties)).flatMap(([key, member]) => {
      const at = `${path}.${key}`;
      return [{ path: at, text: textOf(objectOf(member)['description']) }, ...fieldsIn(member, at)];
    }),
    ...[items, additionalProperties, anyOf, oneOf, allOf].flatMap((part) => fieldsIn(part, path)),
  ];
}

/** `maxEjectionPercent` → `max`, `ejection`, `percent`. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z0-9/]+/)
    .filter((word) => word !== '' && !EMPTY_WORDS.has(word));
}

/** Whether a text only says the name of its field, and that of the field above, in other order. */
function isNameAlone({ path, text }: FieldText): boolean {
  const named = new Set(path.split('.').slice(-2).flatMap(wordsOf));
  const isNamed = (word: string): boolean => named.has(word) || named.has(word.replace(/s$/, '')) || named.has(`${word}s`);
  const [first = ''] = text.split(/\.(?: |$)/);
  return wordsOf(first).every(isNamed);
}

const written = resourceTypes.flatMap(({ name, writers }): [string, JsonObject][] => {
  const schema = writers === 'none' ? null : specJsonSchema(name);
  return schema === null ? [] : [[name, schema]];
});

describe.each(written)('the fields of %s', (name, schema) => {
  const fields = fieldsIn(schema, name);
  const wrong = (is: (field: FieldText) => boolean): string[] => [
    ...new Set(fields.filter(is).map(({ path, text }) => `${path}: ${text}`)),
  ];

  it('have a text each', () => {
    expect(wrong(({ text }) => text === '')).toEqual([]);
  });

  it('have texts that are short and end as sentences do', () => {
    expect(wrong(({ text }) => text.length > MAX_TEXT || (text !== '' && !/^[A-Z0-9/"].*\.$/.test(text)))).toEqual([]);
  });

  it('have texts that say more than the name', () => {
    expect(wrong((field) => field.text !== '' && isNameAlone(field))).toEqual([]);
  });
});

it('are found in lists, maps and alternatives, and told from a name', () => {
  const inner = { properties: { b: { type: 'string' } } };
  const paths = (part: JsonObject): string[] => fieldsIn({ properties: { a: part } }, 'T').map(({ path }) => path);
  for (const part of [inner, { items: inner }, { additionalProperties: inner }, { anyOf: [inner] }])
    expect(paths(part)).toEqual(['T.a', 'T.a.b']);
  expect(isNameAlone({ path: 'T.header.name', text: 'Name of the header.' })).toBe(true);
  expect(isNameAlone({ path: 'T.header.name', text: 'Name of the header, in lower case.' })).toBe(false);
});
