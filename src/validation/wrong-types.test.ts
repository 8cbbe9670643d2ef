// Every field of every type: a value of another JSON type, or a number that a Go control plane cannot hold, is a violation of that
// field. The fields come from the schemas themselves, so that a new one is covered.
import { describe, expect, it } from 'vitest';
import { typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { checkSpec } from './check-spec.ts';
import { specDefinitions } from './schemas.ts';
import { specJsonSchema } from './spec-json-schema.ts';
import { child } from '../resource/spec-path.ts';

type Step = string | number;
type Field = { readonly path: readonly Step[]; readonly schema: JsonObject };

const ANY: readonly Json[] = ['text', 7.5, true, [], {}];
/** Numbers that do not fit the format, by format; each also fails the range of a field. */
const OVERFLOWS: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31, -(2 ** 31) - 1],
  uint32: [2 ** 32, -1],
  int64: [2 ** 63, -(2 ** 63) * 2],
};
/** The largest depth of the specs: deeper fields are the same for all types of a policy, and say nothing about a field. */
const MAX_DEPTH = 24;

/** Every field below a JSON Schema, the root left out; list items and map values stand for all of theirs. */
function* fieldsOf(schema: JsonObject, path: readonly Step[] = []): Generator<Field> {
  if (path.length > 0) yield { path, schema };
  if (path.length > MAX_DEPTH) throw new Error(`too deep: ${path.join('.')}`);
  const { properties, items, additionalProperties } = schema;
  for (const [key, member] of Object.entries((properties ?? {}) as JsonObject))
    yield* fieldsOf(member as JsonObject, [...path, key]);
  if (items !== undefined) yield* fieldsOf(items as JsonObject, [...path, 0]);
  if (typeof additionalProperties === 'object') yield* fieldsOf(additionalProperties as JsonObject, [...path, 'key']);
}

/** The values that a schema does not take for their type alone. */
function wrongFor(schema: JsonObject): Json[] {
  const types = typesOf(schema);
  if (types === null) return [];
  const wrong = ANY.filter((value) => !types.has(typeName(value)));
  const format = schema['format'];
  return [
    ...wrong,
    ...(types.has('integer') ? (OVERFLOWS[typeof format === 'string' ? format : 'int32'] ?? OVERFLOWS['int32'] ?? []) : []),
  ];
}

/** The JSON types that a schema takes; null if any. */
function typesOf({ type, enum: values, const: value, anyOf }: JsonObject): Set<string> | null {
  if (Array.isArray(anyOf)) {
    const members = anyOf.map((member) => typesOf(member as JsonObject));
    return members.includes(null) ? null : new Set(members.flatMap((member) => [...(member ?? [])]));
  }
  if (typeof type === 'string') return new Set([type]);
  const given = Array.isArray(values) ? values : value === undefined ? [] : [value];
  return given.length === 0 ? null : new Set(given.map((one) => (typeof one === 'number' ? 'integer' : typeName(one))));
}

function typeName(value: Json): string {
  return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
}

/** The smallest spec with a value at a path. */
function specWith([step, ...rest]: readonly Step[], value: Json): Json {
  if (step === undefined) return value;
  return typeof step === 'number' ? [specWith(rest, value)] : { [step]: specWith(rest, value) };
}

const types = [...specDefinitions.keys()];

describe('a value of a wrong type', () => {
  it.each(types)('is a violation of its field in %s', (type) => {
    const missed: string[] = [];
    for (const { path, schema } of fieldsOf(specJsonSchema(type) ?? {})) {
      for (const value of wrongFor(schema)) {
        const spec = specWith(path, value) as JsonObject;
        const resource = { labels: {}, mesh: 'default', name: 'tested', spec };
        const { violations } = checkSpec(typeOf(type), resource, { strict: false });
        if (!violations.some(({ field }) => field === path.reduce<string>(child, 'spec')))
          missed.push(`${path.join('.')} = ${JSON.stringify(value)}: ${JSON.stringify(violations)}`);
      }
    }
    expect(missed).toEqual([]);
  });

  it('is tried in every synced JSON type, below every field', () => {
    const counts = types.map((type) => [type, [...fieldsOf(specJsonSchema(type) ?? {})].length] as const);
    expect(counts.filter(([type, count]) => count === 0 && type !== 'Workload')).toEqual([]);
    expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(900);
  });

  it('is tried for whole numbers, each of which names its Go type', () => {
    for (const type of types)
      for (const { path, schema } of fieldsOf(specJsonSchema(type) ?? {}))
        if (schema['type'] === 'integer')
          expect([type, path.join('.'), Object.keys(OVERFLOWS)]).toEqual([
            type,
            path.join('.'),
            expect.arrayContaining([schema['format']]),
          ]);
  });
});
