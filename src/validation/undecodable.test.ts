// The fields of a spec that a Go program cannot decode are found, and no others.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fc } from '../../test/support/property.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import { specOf } from './arbitrary-spec.fixture.ts';
import { checkSpec } from './check-spec.ts';
import { specDefinitions } from './schemas.ts';
import { shapeOf, type Shape } from '../schema/spec-shape.ts';
import { statusSchemas } from './statuses.ts';
import { decodableStatus, undecodable } from './undecodable.ts';

const types = [...specDefinitions.keys()];

describe('undecodable', () => {
  it.each([
    ['MeshTimeout', '{ to: 5 }', 'spec.to: must be a list'],
    ['MeshTimeout', '{ to: [5] }', 'spec.to[0]: must be an object'],
    ['MeshTimeout', '{ targetRef: { kind: 5 } }', 'spec.targetRef.kind: must be a string'],
    ['MeshTimeout', '{ TargetRef: { KIND: 5 } }', 'spec.TargetRef.KIND: must be a string'],
    ['MeshTimeout', '{ targetRef: { kind: Mesh }, ſargetRef: 5, targetRef2: 5 }', null],
    ['MeshTimeout', '{ targetRef: { labels: { a: 5 } } }', 'spec.targetRef.labels.a: must be a string'],
    [
      'MeshTimeout',
      '{ to: [{ default: { idleTimeout: soon } }] }',
      'spec.to[0].default.idleTimeout: must be a duration such as "10s" or "1m30s"',
    ],
    [
      'MeshTimeout',
      '{ to: [{ default: { idleTimeout: 5 } }] }',
      'spec.to[0].default.idleTimeout: must be a duration such as "10s" or "1m30s"',
    ],
    ['MeshTimeout', '{ to: [{ default: { idleTimeout: -5s } }], from: null }', null],
    [
      'MeshRateLimit',
      '{ to: [{ default: { local: { http: { requestRate: { num: 1, interval: null } } } } }] }',
      'spec.to[0].default.local.http.requestRate.interval: must be a duration such as "10s" or "1m30s"',
    ],
    [
      'MeshCircuitBreaker',
      '{ to: [{ default: { connectionLimits: { maxRetries: 4294967296 } } }] }',
      'spec.to[0].default.connectionLimits.maxRetries: must be a whole number from 0 to 4294967295',
    ],
    ['MeshCircuitBreaker', '{ to: [{ default: { connectionLimits: { maxRetries: 0 } } }] }', null],
    [
      'MeshCircuitBreaker',
      '{ to: [{ default: { outlierDetection: { disabled: 1 } } }] }',
      'spec.to[0].default.outlierDetection.disabled: must be true or false',
    ],
    [
      'MeshHealthCheck',
      '{ to: [{ default: { healthyPanicThreshold: 1.5 } }] }',
      'spec.to[0].default.healthyPanicThreshold: must be a whole number or a string',
    ],
    ['MeshHealthCheck', '{ to: [{ default: { healthyPanicThreshold: x } }] }', null],
    ['MeshAccessLog', '{ to: [{ default: { backends: [{ openTelemetry: { body: [1, { a: null }] } }] } }] }', null],
    ['Dataplane', '{ networking: 5 }', null],
  ])('of a %s: %s', (type, spec, expected) => {
    const found = undecodable(type, parse(spec) as JsonObject);
    expect(found === null ? null : `${found.field}: ${found.reason}`).toBe(expected);
  });

  it.each(types)('finds nothing in a valid %s', (type) => {
    const info = typeOf(type);
    fc.assert(
      fc.property(
        fc.constantFrom(0, 2, 10).chain((wrong) => specOf(type, wrong)),
        (spec) => {
          const check = checkSpec(info, { labels: {}, mesh: 'default', name: 'a', spec }, { strict: false });
          if (check.violations.length === 0) expect(undecodable(type, check.spec ?? spec)).toBeNull();
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each(types)('finds each value of a %s with a JSON type other than that of its field', (type) => {
    const definition = specDefinitions.get(type);
    if (definition === undefined) throw new Error(type);
    const shape = shapeOf(definition.schema);
    fc.assert(
      fc.property(fc.gen(), (random) => {
        const mutant = mutate(shape, (count) => random(fc.nat, { max: count - 1 }));
        if (mutant === null) return;
        const found = undecodable(type, mutant.spec as JsonObject);
        expect(found?.field, JSON.stringify(mutant.spec)).toBe(mutant.field);
      }),
      { numRuns: 200 },
    );
  });
});

describe('decodableStatus', () => {
  it('covers each synced status', () => {
    const synced = resourceTypes.filter(({ hasStatus, isOwn }) => hasStatus && !isOwn).map(({ name }) => name);
    expect([...statusSchemas.keys()].sort()).toEqual(synced.sort());
  });

  it.each([...statusSchemas])('removes each field of a %s with a wrong JSON type, and keeps all others', (type, schema) => {
    fc.assert(
      fc.property(fc.gen(), fc.dictionary(fc.constantFrom('other', 'more'), fc.jsonValue()), (random, others) => {
        const mutant = mutate(shapeOf(schema), (count) => random(fc.nat, { max: count - 1 }));
        if (mutant === null) return;
        const status = { ...(mutant.spec as JsonObject), ...(others as JsonObject) };
        expect(decodableStatus(type, status), JSON.stringify(status)).toEqual(others);
      }),
      { numRuns: 200 },
    );
  });

  it.each([...statusSchemas])('returns the same object for a status of %s that a zone can compute', (type, schema) => {
    fc.assert(
      fc.property(valueOf(shapeOf(schema)), (status) => {
        expect(decodableStatus(type, status as JsonObject)).toBe(status);
      }),
      { numRuns: 200 },
    );
  });
});

/** Values of the JSON types of a shape. */
function valueOf(shape: Shape): fc.Arbitrary<Json> {
  switch (shape.is) {
    case 'text':
      return fc.oneof(fc.string(), fc.constant(null));
    case 'whole':
      return fc.nat();
    case 'flag':
      return fc.boolean();
    case 'list':
      return fc.array(valueOf(shape.item), { maxLength: 3 });
    case 'object':
      return fc.record(Object.fromEntries([...shape.fields].map(([key, field]) => [key, valueOf(field.shape)])), {
        requiredKeys: [],
      }) as fc.Arbitrary<Json>;
    default:
      throw new Error(`no status has a value that is ${shape.is}`);
  }
}

type Mutant = { readonly spec: Json; readonly field: string };
/** A random whole number below a count. */
type Choose = (count: number) => number;

const WRONG: Readonly<Record<Exclude<Shape['is'], 'anything'>, readonly Json[]>> = {
  text: [5, true, [], {}],
  duration: [5, true, 'soon', '', '5', {}],
  flag: ['true', 1, 0, []],
  number: ['1', true, {}],
  whole: ['1', 1.5, 1e300, -1e300, true, []],
  'whole or text': [1.5, 3e9, true, {}],
  list: ['x', 5, {}, true],
  map: ['x', 5, [], true],
  object: ['x', 5, [], true],
};

/** One path down the shape, and at its end a value of a wrong JSON type. Null where the path ends in what can be anything. */
function mutate(shape: Shape, choose: Choose, field = 'spec', isRoot = true): Mutant | null {
  if (shape.is === 'anything') return null;
  const pick = <T>(items: readonly T[]): T => items[choose(items.length)] as T;
  const steps: (() => Mutant | null)[] = isRoot ? [] : [() => ({ spec: pick(WRONG[shape.is]), field })];
  const down = (inner: Shape, path: string, wrap: (value: Json) => Json) => (): Mutant | null => {
    const found = mutate(inner, choose, path, false);
    return found === null ? null : { ...found, spec: wrap(found.spec) };
  };
  if (shape.is === 'list') steps.push(down(shape.item, `${field}[0]`, (value) => [value]));
  if (shape.is === 'map') steps.push(down(shape.value, `${field}.key`, (value) => ({ key: value })));
  if (shape.is === 'object' && shape.fields.size > 0) {
    const [key, inner] = pick([...shape.fields]);
    steps.push(down(inner.shape, `${field}.${key}`, (value) => ({ [key]: value })));
  }
  // Deep paths are the many: the wrong value stands at the top in one of a few cases alone.
  return steps.length === 0 ? null : pick([...steps.slice(-1), ...steps.slice(-1), ...steps])();
}
