// The check as a whole: unknown keys, odd input, limits, JSON Schema.
import { describe, expect, it } from 'vitest';
import { initialPolicies } from '../defaults/default-resources.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { specJsonSchema } from './spec-json-schema.ts';
import { MAX_VIOLATIONS } from '../base/violations.ts';
import { specDefinitions } from './schemas.ts';
import { find, findIn, NOTHING_FOUND } from './spec-table.fixture.ts';

const TO_MESH = { targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } };

describe('unknown keys', () => {
  const SPEC =
    'to: [{ targetRef: { kind: Mesh, nam: x }, default: { http: { requestTimout: 5s, requestTimeout: 1s, "a b": 1, zzzzzz: 2 } } }]';

  it('are violations for apply', () => {
    const http =
      'known keys are requestTimeout, streamIdleTimeout, maxStreamDuration, maxConnectionDuration, requestHeadersTimeout';
    expect(findIn('MeshTimeout', SPEC, { strict: true })).toEqual({
      violations: [
        'spec.to[0].targetRef.nam: is not a known key; did you mean "name"?',
        'spec.to[0].default.http.requestTimout: is not a known key; did you mean "requestTimeout"?',
        `spec.to[0].default.http["a b"]: is not a known key; ${http}`,
        `spec.to[0].default.http.zzzzzz: is not a known key; ${http}`,
      ],
      warnings: [],
    });
  });

  it('are the only violation where a key is missing because it is misspelt', () => {
    const misspelt = findIn('MeshTimeout', 'to: [{ targetRef: { kind: Mesh }, defalt: { idleTimeout: 1s } }]', { strict: true });
    expect(misspelt.violations).toEqual(['spec.to[0].defalt: is not a known key; did you mean "default"?']);
    const missing = findIn('MeshTimeout', 'to: [{ targetRef: { kind: Mesh }, zzzzzzzz: 1 }]', { strict: true });
    expect(missing.violations).toContainEqual(expect.stringContaining('spec.to[0].default: must be given'));
  });

  it('are warnings for PUT', () => {
    const { violations, warnings } = findIn('MeshTimeout', SPEC, { strict: false });
    expect(violations).toEqual([]);
    expect(warnings).toHaveLength(4);
    expect(warnings[0]).toBe('spec.to[0].targetRef.nam: is not a known key and has no effect; did you mean "name"?');
  });

  it('are found in the misspelt example of MADR 063', () => {
    const spec = { targetRef: { kind: 'MeshSubset', tag: { a: 'b' } }, to: [TO_MESH] };
    expect(find('MeshTimeout', spec).violations).toEqual(['spec.targetRef.tag: is not a known key; did you mean "tags"?']);
  });
});

describe('odd input', () => {
  it('of a protobuf type is not checked here', () => {
    expect(find('Dataplane', { nonsense: 1 })).toEqual(NOTHING_FOUND);
    expect(specJsonSchema('Nonsense')).toBeNull();
  });

  it('has null read as absent, and is never changed or completed', () => {
    const spec = { targetRef: null, to: [{ ...TO_MESH, default: { idleTimeout: '60s', http: null } }], rules: null };
    const before = structuredClone(spec);
    expect(find('MeshTimeout', spec)).toEqual(NOTHING_FOUND);
    expect(spec).toEqual(before);
  });

  it('has dangerous keys reported, and pollutes no prototype', () => {
    const spec = JSON.parse(
      '{"to":[{"targetRef":{"kind":"MeshService","labels":{"__proto__":"x"}},"default":{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}},"idleTimeout":"1s"}}]}',
    ) as JsonObject;
    expect(find('MeshTimeout', spec).violations).toEqual([
      'spec.to[0].targetRef.labels.__proto__: must not be used as a key',
      'spec.to[0].default.__proto__: must not be used as a key',
      'spec.to[0].targetRef.name: must be given with kind MeshService, or labels in its place',
      'spec.to[0].default.constructor: is not a known key; known keys are connectionTimeout, idleTimeout, http',
    ]);
    expect(({} as JsonObject)['a']).toBeUndefined();
  });

  it('nested deeper than 64 levels is one violation at any depth', () => {
    const nest = (levels: number): Json => {
      let value: Json = 'x';
      for (let i = 0; i < levels; i += 1) value = i % 2 === 0 ? { a: value } : [value];
      return value;
    };
    const log = (levels: number): JsonObject => ({
      to: [
        {
          targetRef: { kind: 'Mesh' },
          default: {
            backends: [
              {
                type: 'OpenTelemetry',
                openTelemetry: { backendRef: { kind: 'MeshOpenTelemetryBackend', labels: { a: 'b' } }, body: nest(levels) },
              },
            ],
          },
        },
      ],
    });
    expect(find('MeshAccessLog', log(57))).toEqual(NOTHING_FOUND);
    const [line = '', ...others] = find('MeshAccessLog', log(58)).violations;
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^spec\.to\[0\]\.default\.backends\[0\]\.openTelemetry\.body[.a0[\]]+: must not be nested deeper than 64 levels$/,
    );
    expect(find('MeshAccessLog', log(200_000)).violations).toHaveLength(1);
  });

  it('of 1 MB is checked in bounded time, and its violations are counted', () => {
    const good = Array.from({ length: 8_000 }, (_, index) => ({
      ...TO_MESH,
      targetRef: { kind: 'MeshService', name: `s${index}`, namespace: 'some-namespace' },
    }));
    const before = process.cpuUsage();
    expect(find('MeshTimeout', { to: good })).toEqual(NOTHING_FOUND);
    const bad = find('MeshTimeout', { to: Array.from({ length: 500_000 }, () => 1) });
    find('MeshTimeout', Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, 1])));
    find('MeshTimeout', { to: [{ ...TO_MESH, default: { idleTimeout: '1s'.repeat(500_000) } }] });
    find('HostnameGenerator', { selector: {}, template: '{{'.repeat(500_000) });
    find('MeshZoneAddress', { address: 'a-'.repeat(500_000), port: 1 });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000, 'ms of CPU').toBeLessThan(15_000);
    expect(bad.violations).toHaveLength(MAX_VIOLATIONS + 1);
    expect(bad.violations.at(-1)).toBe('spec.to[100]: the check ends here, after 100 violations; there may be more');
  });
});

describe('the schemas', () => {
  it('accept the default policies of a mesh', () => {
    for (const { type, spec } of initialPolicies('default', {})) expect(find(type, spec)).toEqual(NOTHING_FOUND);
  });

  it.each([...specDefinitions.keys()])('%s has a JSON Schema', (type) => {
    expect(specJsonSchema(type)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' });
  });

  it('exist for every policy', () => {
    for (const { name, policy } of resourceTypes) if (policy !== null) expect(specDefinitions.has(name), name).toBe(true);
  });
});
