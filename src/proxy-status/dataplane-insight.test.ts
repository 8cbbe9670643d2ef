import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { XDS_TYPES } from '../ads/session.ts';
import { decodeKumaResource, encodeKumaResource, normalizeSpec } from '../resource/codec.ts';
import { isStorableJson } from '../resource/storable-text.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { foldProxy, mergeProxy, unknownProxy, type ProxyState } from './dataplane-insight.ts';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const info = typeOf('DataplaneInsight');
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant('\0'), fc.constant('\ud800'));
const inKeys = (...keys: string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, anything])), { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
const version = fc.record({
  kumaDp: fc.oneof(anything, inKeys('version', 'gitTag', 'kumaCpCompatible', 'other')),
  envoy: fc.oneof(anything, inKeys('version', 'build', 'kumaDpCompatible')),
  dependencies: anything,
}) as fc.Arbitrary<JsonObject>;
const metadata = inKeys('features', 'workdir', 'ipv6Enabled', 'dataplane.admin', 'dataplane.admin.socketPath');

describe('the insight of a proxy', () => {
  it('can be stored, and read by global, whatever the proxy says of itself', () => {
    fc.assert(
      fc.property(version, metadata, fc.array(fc.constantFrom(...XDS_TYPES)), (saidVersion, saidMetadata, types) => {
        const facts = { streamId: 's1', mesh: 'shop', name: 'cart', run: '', version: saidVersion, metadata: saidMetadata };
        let state: ProxyState = foldProxy(unknownProxy, { ...facts, kind: 'opened' }, 'one', NOW);
        for (const type of types) state = foldProxy(state, { ...facts, kind: 'sent', type, nonce: '', resources: 1 }, 'one', NOW);
        const { spec, status } = mergeProxy({ spec: {}, status: {} }, state, 2, NOW);
        expect(isStorableJson(spec) && isStorableJson(status)).toBe(true);
        const bytes = encodeKumaResource(info, { name: 'cart', mesh: 'shop', labels: {}, spec, status: {} });
        expect(decodeKumaResource(info, bytes).spec).toEqual(normalizeSpec(info, spec));
      }),
    );
  });

  it('is the same after the state is merged again', () => {
    const facts = {
      streamId: 's1',
      mesh: 'shop',
      name: 'cart',
      run: '',
      version: {},
      metadata: { features: ['a'], ipv6Enabled: true },
    };
    const state = foldProxy(unknownProxy, { ...facts, kind: 'opened' }, 'one', NOW);
    const once = mergeProxy({ spec: {}, status: {} }, { ...state, hold: 'held' }, 2, NOW);
    expect(once.spec['metadata']).toEqual({ features: ['a'], ipv6Enabled: true });
    expect(mergeProxy(once, { ...state, hold: 'held' }, 2, NOW)).toEqual(once);
  });
});
