// Dataplanes that declare the same outbounds have one list, and each row says what it said before.
import { describe, expect, it } from 'vitest';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import { objectOf } from '../resource/read-json.ts';
import type { Json, Resource } from '../resource/types.ts';
import { SharedOutbounds } from './shared-outbounds.ts';

function dataplane(name: string, ports: readonly number[]): Resource {
  const outbound = ports.map((port) => ({ port, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }));
  return makeDataplane(name, { zone: 'east' }, { inbound: [{ port: 8080 }], outbound });
}

function listOf({ spec }: Resource): Json | undefined {
  return objectOf(spec['networking'])['outbound'];
}

describe('shared outbounds', () => {
  it('gives equal lists as one, and no others', () => {
    const shared = new SharedOutbounds();
    const [one, same, other] = [dataplane('one', [1, 2]), dataplane('same', [1, 2]), dataplane('other', [2, 1])];
    const [first, second, third] = [one, same, other].map((row) => shared.share(row));
    expect([first, second, third]).toEqual([one, same, other]);
    expect(listOf(second ?? same)).toBe(listOf(first ?? one));
    expect(listOf(third ?? other)).not.toBe(listOf(first ?? one));
    expect(shared.size).toBe(2);
  });
});
