import { describe, expect, it } from 'vitest';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { checkSpec } from './check-spec.ts';

function fieldsOf(type: string, spec: JsonObject, strict = true): string[] {
  const resource = { mesh: 'default', name: 'a', labels: {}, spec };
  return checkSpec(typeOf(type), resource, { strict }).violations.map(({ field }) => field);
}

describe('checkSpec', () => {
  it.each(['HTTPRoute', 'TCPRoute'])('leaves %s to the reader of Gateway API, as strict on PUT as on apply', (type) => {
    const spec = {
      parentRefs: [{ kind: 'Service', name: 'cart' }],
      rules: [{ backendRefs: [{ name: 'cart' }], retries: 3 }],
    };
    for (const strict of [true, false])
      expect(fieldsOf(type, spec, strict).toSorted()).toEqual(['spec.rules[0].backendRefs[0].port', 'spec.rules[0].retries']);
  });

  it('leaves the others to their schemas', () => {
    const to = [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: 'soon' } } }];
    expect(fieldsOf('MeshTimeout', { to })).toEqual(['spec.to[0].default.http.requestTimeout']);
    expect(fieldsOf('Mesh', {})).toEqual([]);
  });
});
