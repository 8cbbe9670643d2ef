import { describe, expect, it } from 'vitest';
import { normalizeSpec } from '../../resource/codec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { droppedKeys } from './dropped-keys.ts';

function droppedOf(type: string, spec: JsonObject): string[] {
  return droppedKeys(spec, (given) => normalizeSpec(typeOf(type), given));
}

describe('keys that a protobuf type does not have', () => {
  it('are named at every depth', () => {
    expect(droppedOf('Zone', { enabld: true })).toEqual(['enabld']);
    expect(droppedOf('Mesh', { mtls: { enabledBackend: 'ca-1' } })).toEqual(['mtls']);
    const inbound = [{ port: 80, portt: 81 }, { port: 90 }];
    expect(droppedOf('Dataplane', { networking: { address: '192.0.2.1', inbound, 'a b': 1 } })).toEqual([
      'networking.inbound[0].portt',
      'networking["a b"]',
    ]);
  });

  it('are named with a zero value too', () => {
    expect(droppedOf('Zone', { enabeld: false })).toEqual(['enabeld']);
    const inbound = [{ port: 80, healt: { ready: false }, nothing: null, none: [], tag: {}, health: { ready: false } }];
    expect(droppedOf('Dataplane', { networking: { address: '192.0.2.1', inbound } })).toEqual(
      ['healt', 'nothing', 'none', 'tag'].map((key) => `networking.inbound[0].${key}`),
    );
  });

  it('do not include zeros, first values of enums, or snake_case keys', () => {
    expect(droppedOf('Zone', { enabled: false })).toEqual([]);
    expect(droppedOf('Mesh', { skipCreatingInitialPolicies: [] })).toEqual([]);
    const inbound = [
      { port: 80, serviceProbe: { unhealthy_threshold: 3 }, state: 'Ready', tags: { a: '' }, health: { ready: false } },
    ];
    const networking = { address: '192.0.2.1', inbound, gateway: { type: 'DELEGATED' } };
    expect(droppedOf('Dataplane', { networking })).toEqual([]);
  });
});
