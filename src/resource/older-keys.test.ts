import { describe, expect, it } from 'vitest';
import { normalizeSpec } from './codec.ts';
import { olderKeysIn, olderKeysOf, olderKeyWarnings, withoutOlderKeys } from './older-keys.ts';
import { find } from './spec-places.ts';
import { resourceTypes, typeOf } from './type-registry.ts';
import type { Json, JsonObject } from './types.ts';

function fieldsOf(type: string, spec: JsonObject): string[] {
  return olderKeysIn(typeOf(type), spec).map(({ field }) => field);
}

describe('keys of Kuma 2.x', () => {
  it('are named where they stand, in the spelling of violations', () => {
    expect(fieldsOf('Mesh', { mtls: {}, skipCreatingInitialPolicies: ['*'], meshServices: { mode: 'Exclusive' } })).toEqual([
      'mtls',
      'meshServices',
    ]);
    const outbound = [{ port: 1 }, { port: 2, tags: {} }];
    expect(fieldsOf('Dataplane', { probes: {}, networking: { outbound } })).toEqual(['probes', 'networking.outbound[1].tags']);
    const policy = { targetRef: { kind: 'Mesh', proxyTypes: ['Sidecar'] }, from: [{}] };
    expect(fieldsOf('MeshTimeout', policy)).toEqual(['spec.targetRef.proxyTypes', 'spec.from']);
  });

  it('are not named without a value', () => {
    expect(fieldsOf('Mesh', { mtls: null })).toEqual([]);
    expect(fieldsOf('MeshTimeout', { targetRef: { kind: 'Mesh', proxyTypes: [] }, from: [] })).toEqual([]);
  });

  it('are left out without a change of the given spec; a spec without one comes back', () => {
    const spec = { targetRef: { kind: 'Mesh', proxyTypes: ['Sidecar'] }, from: [], to: [{ default: {} }] };
    const copy = structuredClone(spec);
    expect(withoutOlderKeys(typeOf('MeshTimeout'), spec)).toEqual({ targetRef: { kind: 'Mesh' }, to: [{ default: {} }] });
    expect(spec).toEqual(copy);
    const plain = { targetRef: { kind: 'Mesh' } };
    expect(withoutOlderKeys(typeOf('MeshTimeout'), plain)).toBe(plain);
  });

  it('are warnings with what to write', () => {
    expect(olderKeyWarnings(typeOf('Mesh'), { tracing: {} })).toEqual([
      'tracing: is a key of Kuma 2.x and has no effect; write a MeshTrace',
    ]);
  });

  it('are none that a protobuf type still has: none of ours is lost on the way to a Kuma zone', () => {
    for (const info of resourceTypes.filter(({ codec }) => codec.kind === 'proto'))
      for (const { at } of olderKeysOf(info)) {
        const spec = at.toReversed().reduce<Json>((inner, step) => (step === '*' ? [inner] : { [step]: inner }), 'x');
        expect(find(spec, at), at.join('.')).toHaveLength(1);
        expect(find(normalizeSpec(info, spec as JsonObject), at), at.join('.')).toEqual([]);
      }
  });
});
