// For random JSON, the check never throws and has no side effects.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { initialPolicies } from '../defaults/default-resources.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { checkSpec } from './check-spec.ts';
import { specDefinitions } from './schemas.ts';
import { find, inNamespace, NOTHING_FOUND } from './spec-table.fixture.ts';

const jsonTypes = [...specDefinitions.keys()];

const SPECS: readonly (readonly [string, JsonObject])[] = [
  ...initialPolicies('default', {}).map(({ type, spec }) => [type, spec] as const),
  [
    'MeshHTTPRoute',
    {
      to: [
        {
          targetRef: { kind: 'MeshService', name: 'a' },
          rules: [
            {
              matches: [{ path: { type: 'Exact', value: '/' }, headers: [{ name: 'a', value: 'b' }] }],
              default: {
                filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'a', value: 'b' }] } }],
                backendRefs: [{ kind: 'MeshService', name: 'b' }],
              },
            },
          ],
        },
      ],
    },
  ],
  [
    'MeshLoadBalancingStrategy',
    {
      to: [
        {
          targetRef: { kind: 'Mesh' },
          default: {
            hashPolicies: [{ type: 'Header', header: { name: 'a' } }],
            loadBalancer: { type: 'Maglev', maglev: { tableSize: 7 } },
            localityAwareness: {
              localZone: { affinityTags: [{ key: 'a' }] },
              crossZone: { failover: [{ to: { type: 'Any' } }] },
            },
          },
        },
      ],
    },
  ],
  ['MeshTrafficPermission', { rules: [{ default: { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://a' } }] } }] }],
];

/** The path of every value in a document, itself left out. */
function pathsIn(value: Json, path: readonly string[] = []): (readonly string[])[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return members.flatMap(([key, member]) => [[...path, key], ...pathsIn(member, [...path, key])]);
}

/** A copy with another value at `path`. */
function replaced(value: Json, path: readonly string[], other: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return other;
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? replaced(item, rest, other) : item));
  const object = value as JsonObject;
  return { ...object, [key]: replaced(object[key] ?? null, rest, other) };
}

describe('a random spec', () => {
  it('of any shape is checked without throwing and without polluting Object.prototype', () => {
    const word = fc.constantFrom(
      ...[
        'kind',
        'targetRef',
        'to',
        'from',
        'rules',
        'default',
        'matches',
        'name',
        'labels',
        'tags',
        'type',
        'http',
        'hashPolicies',
        'loadBalancer',
      ],
      ...[
        'backends',
        'ports',
        'selector',
        'Mesh',
        'MeshService',
        'MeshHTTPRoute',
        'Header',
        '10s',
        '__proto__',
        'constructor',
        'spiffeID',
        'extension',
      ],
    );
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 8, withCrossShrink: true },
        fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), word, fc.string()),
        fc.array(tie('value'), { maxLength: 4 }),
        fc
          .array(fc.tuple(fc.oneof(word, fc.string()), tie('value')), { maxLength: 6 })
          .map(
            (entries) =>
              JSON.parse(
                `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`).join()}}`,
              ) as JsonObject,
          ),
      ),
    }));
    const spec = fc.dictionary(word, value).map((members) => ({ ...members }));
    fc.assert(
      fc.property(fc.constantFrom(...jsonTypes), spec, fc.boolean(), fc.boolean(), (type, given, strict, isNamespaced) => {
        const before = JSON.stringify(given);
        const found = checkSpec(
          typeOf(type),
          { labels: isNamespaced ? inNamespace('a') : {}, mesh: 'default', name: 'a', spec: given },
          { strict },
        );
        for (const { field, reason } of found.violations) {
          expect(field.startsWith('spec')).toBe(true);
          expect(reason).toMatch(/^(must|is|has) /);
        }
        expect(JSON.stringify(given)).toBe(before);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('with one value of a wrong type is refused', () => {
    const places = SPECS.flatMap(([type, spec]) => pathsIn(spec).map((path) => ({ type, spec, path })));
    for (const { type, spec } of places) expect(find(type, spec).violations).toEqual(NOTHING_FOUND.violations);
    for (const { type, spec, path } of places) {
      for (const other of [7.5, true, null, [], [[]], {}, { a: 1 }, '']) {
        const { violations } = find(type, replaced(spec, path, other) as JsonObject);
        if (other === 7.5) expect(violations).not.toEqual([]);
      }
    }
  });
});
