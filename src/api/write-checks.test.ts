// The checks of a write: each type by its own reader or schema, and the write that needs no stored row.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { ApiError } from './error-body.ts';
import { typeOf, resourceTypes } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { draftOf, unreadWrite, type Draft } from './write-checks.ts';

const rules = { writer: { mode: 'zone', zone: 'east', federated: false }, checksOrigin: true } as const;

function draft(type: string, spec: JsonObject, { strict = true, name = 'a' } = {}): Draft {
  const info = typeOf(type);
  const body = { type, name, mesh: 'default', ...(info.codec.kind === 'json' ? { spec } : spec) };
  return draftOf(info, { mesh: info.scope === 'Mesh' ? 'default' : '', name }, body, rules, { strict });
}

function fieldsOf(type: string, spec: JsonObject, strict = true): string[] {
  try {
    draft(type, spec, { strict });
    return [];
  } catch (error) {
    return (error as ApiError).violations.map(({ field }) => field);
  }
}

describe('draftOf', () => {
  it.each(['HTTPRoute', 'TCPRoute'])('checks %s with the Gateway API reader, on PUT as strictly as on apply', (type) => {
    const spec = {
      parentRefs: [{ kind: 'Service', name: 'cart' }],
      rules: [{ backendRefs: [{ name: 'cart' }], retries: 3 }],
    };
    for (const strict of [true, false])
      expect(fieldsOf(type, spec, strict).toSorted()).toEqual(['spec.rules[0].backendRefs[0].port', 'spec.rules[0].retries']);
  });

  it('checks other types with their schemas', () => {
    const to = [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: 'soon' } } }];
    expect(fieldsOf('MeshTimeout', { to })).toEqual(['spec.to[0].default.http.requestTimeout']);
    expect(fieldsOf('Mesh', {})).toEqual([]);
  });

  it('refuses every policy that a control plane refuses from a peer', () => {
    const ref = fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom<object>({ kind: 'Mesh' }, { kind: '' }, { kind: 1 }, {}) },
      fc.constantFrom(null, 1, 'x', []),
    );
    const items = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.array(fc.oneof(fc.record({ targetRef: ref }, { requiredKeys: [] }), fc.constantFrom(null, 1)), {
          maxLength: 2,
        }),
      },
      fc.constantFrom(null, 1, {}),
    );
    const spec = fc.record({ targetRef: ref, to: items, from: items, rules: items }, { requiredKeys: [] });
    const policies = resourceTypes.filter(({ policy }) => policy !== null);
    fc.assert(
      fc.property(fc.constantFrom(...policies), spec, (info, given) => {
        const resource = { name: 'a', mesh: 'default', labels: {}, spec: given as JsonObject };
        if (validateResource(info, resource).length > 0) expect(fieldsOf(info.name, resource.spec)).not.toEqual([]);
      }),
    );
  });
});

describe('unreadWrite', () => {
  it.each<[string, JsonObject, string | undefined]>([
    ['MeshTimeout', { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] }, 'put'],
    ['MeshService', { selector: { dataplaneTags: { a: 'b' } }, ports: [{ port: 80 }] }, 'create'],
    ['Mesh', {}, undefined],
    ['Secret', { data: 'YQ==' }, undefined],
    ['Dataplane', { networking: { address: '10.0.0.1', inbound: [{ port: 80 }] } }, undefined],
  ])('plans a write of a %s without a read when the stored row does not matter', (type, spec, op) => {
    expect(unreadWrite(draft(type, spec))?.op).toBe(op);
  });

  it('plans no write for an invalid name, because the title of the error depends on the stored row', () => {
    const service = draft('MeshService', { ports: [{ port: 80 }] }, { name: '1a' });
    expect(service.nameFaults.map(({ field }) => field)).toEqual(['name']);
    expect(unreadWrite(service)).toBe(null);
  });
});
