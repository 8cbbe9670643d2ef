// What changes for a proxy between two states of its mesh: each value with its origin before and after.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { valueChanges } from './value-changes.ts';

const DATAPLANE = makeDataplane(
  'web',
  { zone: 'east' },
  { outbound: [{ port: 10_000, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }] },
);
const ROWS = [make('Mesh', 'default', {}), DATAPLANE, makeService('cart', { zone: 'east' })];
const NAME = DATAPLANE.name;

/** `place path: before (policies) → after (policies)`. */
function changes(before: readonly Resource[], after: readonly Resource[], common = ROWS): string[] {
  const side = (given: { value: unknown; from: readonly { policy: { displayName: string } }[] } | null): string =>
    given === null ? '-' : `${JSON.stringify(given.value)} (${given.from.map(({ policy }) => policy.displayName).join()})`;
  const [had, has] = [before, after].map((rows) => new MeshIndex('default', [...common, ...rows])) as [MeshIndex, MeshIndex];
  return valueChanges(had, has, NAME).map(({ on, kri, route, matches, kind, path, before: old, after: now }) => {
    const place = [on, kri.replace(/^kri_/, ''), route?.replace(/^kri_/, ''), matches && JSON.stringify(matches), kind, path];
    return `${place.filter((part) => part !== undefined).join(' ')}: ${side(old)} → ${side(now)}`;
  });
}

const timeout = (name: string, conf: JsonObject): Resource => makeTo('MeshTimeout', name, { kind: 'Mesh' }, conf);

describe('the values in force on a proxy', () => {
  it('are the same where their policy alone is another', () => {
    expect(changes([timeout('a', { idleTimeout: '1s' })], [timeout('b', { idleTimeout: '1s' })])).toEqual([]);
  });

  it('change on each outbound, with the policy before and after; what is gone comes last', () => {
    const before = [timeout('a', { idleTimeout: '1s', connectionTimeout: '5s' })];
    expect(changes(before, [timeout('b', { http: { requestTimeout: '3s' }, idleTimeout: '2s' })])).toEqual([
      'outbound msvc_default_east__cart_80 MeshTimeout http.requestTimeout: - → "3s" (b)',
      'outbound msvc_default_east__cart_80 MeshTimeout idleTimeout: "1s" (a) → "2s" (b)',
      'outbound msvc_default_east__cart_80 MeshTimeout connectionTimeout: "5s" (a) → -',
    ]);
  });

  it('change on inbounds by their matches, and on the proxy as a whole', () => {
    const limit = (num: number): Resource =>
      make('MeshRateLimit', 'limit', {
        rules: [
          {
            matches: [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }],
            default: { local: { http: { requestRate: { num, interval: '1s' } } } },
          },
        ],
      });
    const metric = (port: number): Resource =>
      make('MeshMetric', 'metric', { default: { backends: [{ type: 'Prometheus', prometheus: { port } }] } });
    const found = changes([limit(1), metric(1)], [limit(2), metric(2)]);
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/^proxy dp_default_east__web_ MeshMetric backends.*1.*\(metric\) → .*2.*\(metric\)$/);
    expect(found[1]).toBe(
      'inbound dp_default_east__web_http {"spiffeID":{"type":"Exact","value":"spiffe://a/b"}} ' +
        'MeshRateLimit local.http.requestRate.num: 1 (limit) → 2 (limit)',
    );
  });

  it('change on the routes of an outbound', () => {
    const found = changes([], [makeRoute('canary', { name: 'cart' }, '/v2')]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(
      /^route msvc_default_east__cart_80 mhttpr_default___canary_ \[\{.*"\/v2".*\}\] MeshHTTPRoute backendRefs: - → .*\(canary\)$/,
    );
  });

  it('all come with a proxy that is new, and go with one that is gone', () => {
    const policy = timeout('a', { idleTimeout: '1s' });
    const rest = [make('Mesh', 'default', {}), makeService('cart', { zone: 'east' })];
    const value = 'outbound msvc_default_east__cart_80 MeshTimeout idleTimeout:';
    expect(changes([policy], [policy, DATAPLANE], rest)).toEqual([`${value} - → "1s" (a)`]);
    expect(changes([policy, DATAPLANE], [policy], rest)).toEqual([`${value} "1s" (a) → -`]);
    expect(changes([policy], [policy], rest)).toEqual([]);
  });
});
