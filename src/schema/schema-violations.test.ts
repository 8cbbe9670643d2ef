// A large value is checked part by part: the violations are the same, and the check stops at the limit.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collectViolations, MAX_VIOLATIONS } from '../base/violations.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { Findings } from './findings.ts';
import { addSchemaViolations, MAX_PART } from './schema-violations.ts';
import { specDefinitions } from '../validation/schemas.ts';

/** All violations that zod finds, without a bound. */
function foundBy(schema: z.ZodType, spec: JsonObject, maxPart: number): string[] {
  const found = new Set<string>();
  addSchemaViolations(schema, spec, new Findings((field, reason) => void found.add(`${field}: ${reason}`)), maxPart);
  return [...found].sort();
}

/** Specs that come near to what a schema takes: its own keys, with values of any kind. */
function nearly(schema: z.core.JSONSchema.BaseSchema): fc.Arbitrary<Json> {
  const any = fc.constantFrom<Json[]>(1, -1, '', 'x', '5s', true, {}, [], [1], { a: 1 });
  const given = (): fc.Arbitrary<Json> => {
    if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as Json[]));
    if (schema.properties !== undefined)
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties).map(([key, of]) => [key, nearly(of as z.core.JSONSchema.BaseSchema)]),
        ),
        { requiredKeys: [] },
      ) as fc.Arbitrary<JsonObject>;
    if (schema.type === 'array')
      return fc.array(nearly(schema.items as z.core.JSONSchema.BaseSchema), { maxLength: 4, size: 'max' });
    if (schema.type === 'object') return fc.dictionary(fc.string({ maxLength: 3 }), any, { maxKeys: 3 });
    return any;
  };
  return fc.oneof({ weight: 6, arbitrary: given() }, { weight: 1, arbitrary: any });
}

describe('the violations of a schema', () => {
  it.each([...specDefinitions])('%s are the same for the whole spec and for its parts', (_, { schema }) => {
    const json = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      reused: 'inline',
    }) as z.core.JSONSchema.BaseSchema;
    fc.assert(
      fc.property(nearly(json), (spec) => {
        if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) return;
        expect(foundBy(schema, spec, 0)).toEqual(foundBy(schema, spec, Infinity));
      }),
      { numRuns: 60 },
    );
  });

  it.each<[string, () => Json]>([
    ['1', () => 1],
    ['{}', () => ({})],
    ['{"targetRef":{"kind":"Mesh"},"default":{"http":5}}', () => ({ targetRef: { kind: 'Mesh' }, default: { http: 5 } })],
  ])('of a list of %s end the check at the limit, before the rest of the list', (_, item) => {
    let looked = 0;
    const list = new Proxy(Array.from({ length: 400_000 }, item), {
      get(target, key, receiver): unknown {
        if (typeof key === 'string' && /^\d/.test(key)) looked += 1;
        return Reflect.get(target, key, receiver);
      },
    });
    const schema = specDefinitions.get('MeshTimeout')?.schema ?? z.never();
    const violations = collectViolations((refuse) => addSchemaViolations(schema, { to: list }, new Findings(refuse)));
    expect(violations).toHaveLength(MAX_VIOLATIONS + 1);
    expect(looked).toBeLessThan(4 * MAX_PART);
  });
});
