import { describe, expect, it } from 'vitest';
import { label } from './labels.ts';
import { isMeshIdentityReady, parseMeshIdentity, selectsProxy, spiffeIdOf } from './mesh-identity.ts';
import type { JsonObject } from './types.ts';

const condition = (type: string, status: string, reason: string): JsonObject => ({ type, status, reason });

describe('isMeshIdentityReady', () => {
  it.each([
    [[condition('Ready', 'True', 'Ready')], true],
    [[condition('Ready', 'False', 'PartiallyReady')], true],
    [[condition('Ready', 'False', 'AuthorityExpired')], true],
    [[condition('Ready', 'False', 'AuthorityNotYetValid')], true],
    [[condition('Provider', 'True', 'ProviderInitialized'), condition('Ready', 'True', 'Ready')], true],
    [[condition('Ready', 'False', 'Failure')], false],
    [[condition('PartiallyReady', 'True', 'Ready')], false],
    [[condition('Provider', 'True', 'PartiallyReady')], false],
    [[], false],
  ])('%j is %s', (conditions, expected) => {
    expect(isMeshIdentityReady({ status: { conditions } })).toBe(expected);
  });

  it('is false without a status', () => {
    expect(isMeshIdentityReady({ status: {} })).toBe(false);
  });
});

describe('an identity', () => {
  const ready = { conditions: [condition('Ready', 'True', 'Ready')] };
  const labels = { app: 'web', [label.workload]: 'front' };

  it('selects proxies by all its labels, and none before it is ready', () => {
    const spec = { selector: { dataplane: { matchLabels: { app: 'web' } } } };
    expect(selectsProxy(parseMeshIdentity({ spec, status: ready }), labels)).toBe(true);
    expect(selectsProxy(parseMeshIdentity({ spec, status: ready }), {})).toBe(false);
    expect(selectsProxy(parseMeshIdentity({ spec, status: {} }), labels)).toBe(false);
    expect(selectsProxy(parseMeshIdentity({ spec: {}, status: ready }), labels)).toBe(false);
    const all = { selector: { dataplane: { matchLabels: {} } } };
    expect(selectsProxy(parseMeshIdentity({ spec: all, status: ready }), {})).toBe(true);
  });

  it.each([
    [undefined, labels, 'spiffe://shop.east.mesh.local/workload/front'],
    [undefined, {}, null],
    ['/ns/{{ .Namespace }}', labels, null],
    ['/ns/{{ .Namespace }}', { [label.namespace]: '' }, null],
    ['/ns/{{ .Namespace }}', { [label.namespace]: 'a' }, 'spiffe://shop.east.mesh.local/ns/a'],
    ['/zone/{{ .Zone }}', { [label.zone]: 'west' }, 'spiffe://shop.west.mesh.local/zone/west'],
    ['/app/{{ label "app" }}', labels, 'spiffe://shop.east.mesh.local/app/web'],
  ])('with path %j and labels %j has the ID %j', (path, of, expected) => {
    const identity = parseMeshIdentity({ spec: { spiffeID: { ...(path !== undefined && { path }) } }, status: ready });
    expect(spiffeIdOf(identity, of, 'shop', 'east')).toBe(expected);
  });
});
