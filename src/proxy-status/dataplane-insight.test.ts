import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { XDS_TYPES } from '../ads/session-messages.ts';
import { decodeKumaResource, encodeKumaResource, normalizeSpec } from '../resource/codec.ts';
import { isStorableJson } from '../resource/storable-text.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { beginRun, foldProxy, mergeProxy, unknownProxy, type ProxyState } from './dataplane-insight.ts';

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
  it('can be stored, and read by global, for any metadata of the proxy', () => {
    fc.assert(
      fc.property(version, metadata, fc.array(fc.constantFrom(...XDS_TYPES)), (saidVersion, saidMetadata, types) => {
        const said = { version: saidVersion, metadata: saidMetadata };
        const facts = { streamId: 's1', mesh: 'shop', name: 'cart', run: '', isZoneProxy: true, namespace: '', ...said };
        let state: ProxyState = foldProxy(unknownProxy, { ...facts, kind: 'opened' }, 'one', NOW);
        for (const type of types) state = foldProxy(state, { ...facts, kind: 'sent', type }, 'one', NOW);
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
      isZoneProxy: true,
      namespace: '',
      version: {},
      metadata: { features: ['a'], ipv6Enabled: true },
    };
    const state = foldProxy(unknownProxy, { ...facts, kind: 'opened' }, 'one', NOW);
    const once = mergeProxy({ spec: {}, status: {} }, { ...state, hold: 'held' }, 2, NOW);
    expect(once.spec['metadata']).toEqual({ features: ['a'], ipv6Enabled: true });
    expect(mergeProxy(once, { ...state, hold: 'held' }, 2, NOW)).toEqual(once);
  });
});

describe('where a zone proxy listens', () => {
  type Row = { readonly spec: JsonObject; readonly status: JsonObject };
  const facts = { mesh: 'shop', name: 'ingress', isZoneProxy: true, namespace: '', version: {}, metadata: {} };
  const opened = (streamId: string, run: string): ProxyState =>
    foldProxy(unknownProxy, { ...facts, streamId, run, kind: 'opened' }, 'one', NOW);
  const listening = (state: ProxyState, run: string, ...places: string[]): ProxyState =>
    foldProxy(state, { ...facts, streamId: 's1', run, kind: 'listens', places }, 'one', NOW);
  const merged = (row: Row, state: ProxyState): Row => mergeProxy(row, state, 2, NOW);
  const none: Row = { spec: {}, status: {} };
  const stored = merged(none, listening(opened('s1', 'a'), 'a', '10.0.0.1 7'));

  it('is nowhere until it has said so', () => {
    expect(merged(none, opened('s1', 'a')).status['listens']).toEqual([]);
    expect(stored.status['listens']).toEqual(['10.0.0.1 7']);
  });

  it('is known of an Envoy that comes back, and of no other run', () => {
    expect(merged(stored, opened('s2', 'a')).status['listens']).toEqual(['10.0.0.1 7']);
    expect(merged(stored, opened('s2', 'b')).status['listens']).toEqual([]);
    expect(beginRun(stored.status, { run: 'a', isZoneProxy: true })['listens']).toEqual(['10.0.0.1 7']);
    expect(beginRun(stored.status, { run: 'b', isZoneProxy: true })['listens']).toEqual([]);
  });

  it('is not known of a row that an older version wrote', () => {
    const older = { spec: {}, status: { run: 'a' } };
    expect(merged(older, opened('s2', 'a')).status).not.toHaveProperty('listens');
    expect(beginRun({ run: 'a' }, { run: 'a', isZoneProxy: true })).not.toHaveProperty('listens');
  });

  it('is not said of other proxies', () => {
    const other = foldProxy(unknownProxy, { ...facts, isZoneProxy: false, streamId: 's1', run: 'a', kind: 'opened' }, 'one', NOW);
    expect(merged(none, other).status).not.toHaveProperty('listens');
  });
});
