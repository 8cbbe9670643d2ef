import { describe, expect, it } from 'vitest';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { unknownKeys } from './unknown-keys.ts';

function unknownOf(type: string, spec: JsonObject): string[] {
  return unknownKeys(typeOf(type), spec).map(({ field }) => field);
}

describe('keys that a protobuf type does not have', () => {
  it('come with the key that was meant', () => {
    const [violation] = unknownKeys(typeOf('Dataplane'), { networking: { adress: '192.0.2.1' } });
    expect(violation).toEqual({
      field: 'networking.adress',
      reason: 'is not a known key of Dataplane; did you mean "address"?',
    });
  });

  it('are named at every depth', () => {
    expect(unknownOf('Zone', { enabld: true })).toEqual(['enabld']);
    expect(unknownOf('Mesh', { mtlss: { enabledBackend: 'ca-1' } })).toEqual(['mtlss']);
    const inbound = [{ port: 80, portt: 81 }, { port: 90 }];
    expect(unknownOf('Dataplane', { networking: { address: '192.0.2.1', inbound, 'a b': 1 } })).toEqual([
      'networking.inbound[0].portt',
      'networking["a b"]',
    ]);
  });

  it.each([false, 0, '', null, '0', 'Ready', [], {}, [false]])('are named with the zero value %j too', (value) => {
    expect(unknownOf('Zone', { enabeld: value })).toEqual(['enabeld']);
    expect(unknownOf('Dataplane', { networking: { inbound: [{ port: 80, healt: { ready: value } }] } })).toEqual([
      'networking.inbound[0].healt',
    ]);
    expect(unknownOf('Dataplane', { networking: { inbound: [{ port: 80, health: { redy: value } }] } })).toEqual([
      'networking.inbound[0].health.redy',
    ]);
  });

  it('do not include zeros, first values of enums, keys of maps, or snake_case keys', () => {
    expect(unknownOf('Zone', { enabled: false })).toEqual([]);
    expect(unknownOf('Mesh', { skipCreatingInitialPolicies: [] })).toEqual([]);
    const inbound = [
      { port: 80, serviceProbe: { unhealthy_threshold: 3 }, state: 'Ready', tags: { a: '' }, health: { ready: false } },
    ];
    const networking = { address: '192.0.2.1', inbound, gateway: { type: 'DELEGATED' } };
    expect(unknownOf('Dataplane', { networking })).toEqual([]);
  });

  it('do not include keys of Kuma 2.x, which are warnings', () => {
    const mesh = { mtls: { enabledBackend: 'ca-1' }, meshServices: { mode: 'Exclusive' }, routng: {} };
    expect(unknownOf('Mesh', mesh)).toEqual(['routng']);
    const outbound = [
      { port: 80, tags: { 'kuma.io/service': 'a' } },
      { port: 81, tgs: {} },
    ];
    const dataplane = { metrics: {}, networking: { address: '192.0.2.1', outbound } };
    expect(unknownOf('Dataplane', dataplane)).toEqual(['networking.outbound[1].tgs']);
  });
});
