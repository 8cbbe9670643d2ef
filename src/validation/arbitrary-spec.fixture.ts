// Random specs for tests. The schema of a type gives them their structure, with wrong, missing and unknown parts among them.
import { fc } from '../../test/support/property.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { specDefinitions } from './schemas.ts';
import { shapeOf, type Shape } from '../schema/spec-shape.ts';

const durations = fc.oneof(
  fc
    .tuple(fc.nat(5_000), fc.constantFrom('ns', 'us', 'µs', 'ms', 's', 'm', 'h'))
    .map(([amount, unit]) => `${String(amount)}${unit}`),
  fc.constantFrom('0', '60s', '1h', '1.5s', '1h1m', '-1s', '+2s', '.5m', 'soon', ''),
);

/** @param wrong the number of values in a hundred that are of another kind than the schema says */
export function specOf(type: string, wrong = 5): fc.Arbitrary<JsonObject> {
  const definition = specDefinitions.get(type);
  if (definition === undefined) throw new Error(`${type} has no schema`);
  return valueOf(shapeOf(definition.schema), wrong, 0).filter(
    (value): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value),
  );
}

function valueOf(shape: Shape, wrong: number, depth: number): fc.Arbitrary<Json> {
  const right = rightValueOf(shape, wrong, depth);
  if (wrong === 0) return right;
  const other = fc.constantFrom<Json>(null, 5, 'x', true, [], {}, ['y'], { z: 1 });
  return fc.oneof({ weight: 100 - wrong, arbitrary: right }, { weight: wrong, arbitrary: other });
}

function rightValueOf(shape: Shape, wrong: number, depth: number): fc.Arbitrary<Json> {
  switch (shape.is) {
    case 'duration':
      return durations;
    case 'text':
      return fc.string({ maxLength: 8 });
    case 'flag':
      return fc.boolean();
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'whole':
      return fc.integer({ min: Math.max(shape.min, -(2 ** 31)), max: Math.min(shape.max, 2 ** 31 - 1) });
    case 'whole or text':
      return fc.oneof(fc.nat(100), fc.constant('12.5'));
    case 'anything':
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
    case 'list':
      return fc.array(valueOf(shape.item, wrong, depth + 1), { maxLength: 2 });
    case 'map':
      return fc.dictionary(fc.string({ maxLength: 4 }), valueOf(shape.value, wrong, depth + 1), { maxKeys: 2 });
    case 'object': {
      const fields = [...shape.fields].map(([key, field]) => [key, valueOf(field.shape, wrong, depth + 1)] as const);
      const present = depth < 4 ? 0.85 : 0.5;
      return fc
        .record(
          Object.fromEntries(
            fields.map(([key, value]) => [
              key,
              fc.oneof(
                { weight: Math.round(present * 100), arbitrary: value },
                { weight: Math.round((1 - present) * 100), arbitrary: fc.constant<Json | undefined>(undefined) },
              ),
            ]),
          ),
        )
        .map((record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as JsonObject);
    }
  }
}
