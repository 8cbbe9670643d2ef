// What changes for a proxy between two states of its mesh: each value with its origin before and after.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { runSteps } from '../base/steps.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { ValueComparison } from './value-changes.ts';

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
  return runSteps(new ValueComparison(had, has, 100).of(NAME)).listed.map(
    ({ on, kri, route, matches, kind, path, before: old, after: now }) => {
      const place = [on, kri.replace(/^kri_/, ''), route?.replace(/^kri_/, ''), matches && JSON.stringify(matches), kind, path];
      return `${place.filter((part) => part !== undefined).join(' ')}: ${side(old)} → ${side(now)}`;
    },
  );
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

  describe('of rules that are in force beside each other', () => {
    const id = (name: string): JsonObject => ({ spiffeID: { type: 'Exact', value: `spiffe://a/${name}` } });
    const permission = (name: string, ...rules: JsonObject[]): Resource =>
      make('MeshTrafficPermission', name, { rules: rules.map((conf) => ({ default: conf })) });
    const allow = (...names: string[]): JsonObject => ({ allow: names.map(id) });
    const text = (conf: JsonObject): string => JSON.stringify(Object.values(conf)[0]);
    const [ALLOW, DENY, HTTP] = ['MeshTrafficPermission allow', 'MeshTrafficPermission deny', 'MeshFaultInjection http'].map(
      (field) => `inbound dp_default_east__web_http ${field}:`,
    ) as [string, string, string];

    it('the removal of a permission is a change, also of the weaker policy', () => {
      const [a, z] = [permission('a', allow('x')), permission('z', allow('y'))];
      expect(changes([a, z], [a])).toEqual([`${ALLOW} ${text(allow('y'))} (z) → -`]);
      expect(changes([a, z], [z])).toEqual([`${ALLOW} ${text(allow('x'))} (a) → -`]);
    });

    it('a rule that comes or goes leaves its neighbours in the policy alone', () => {
      const [x, y] = [{ deny: [id('x')] }, { deny: [id('y')] }];
      const [one, two] = [permission('a', y), permission('a', x, y)];
      expect(changes([two], [one])).toEqual([`${DENY} ${text(x)} (a) → -`]);
      expect(changes([one], [two])).toEqual([`${DENY} - → ${text(x)} (a)`]);
    });

    it('a changed rule has its own value before, and what is gone comes last', () => {
      const before = [permission('a', allow('x'), allow('y')), permission('b', allow('z'))];
      expect(changes(before, [permission('a', allow('x2'), allow('y2'))])).toEqual([
        `${ALLOW} ${text(allow('x'))} (a) → ${text(allow('x2'))} (a)`,
        `${ALLOW} ${text(allow('y'))} (a) → ${text(allow('y2'))} (a)`,
        `${ALLOW} ${text(allow('z'))} (b) → -`,
      ]);
    });

    it('the second of two equal faults is a change', () => {
      const conf = { http: [{ abort: { httpStatus: 503, percentage: 50 } }] };
      const fault = (name: string): Resource => make('MeshFaultInjection', name, { rules: [{ default: conf }] });
      expect(changes([fault('a'), fault('z')], [fault('a')])).toEqual([`${HTTP} ${text(conf)} (z) → -`]);
    });

    it('logs for one client are each a value; of those for all clients the strongest alone is in force', () => {
      const log = (name: string, more: JsonObject): Resource =>
        make('MeshAccessLog', name, {
          rules: [{ ...more, default: { backends: [{ type: 'File', file: { path: `/${name}` } }] } }],
        });
      const [some, all] = [['a', 'z'].map((name) => log(name, { matches: [id('x')] })), ['a', 'z'].map((name) => log(name, {}))];
      expect(changes(some, some.slice(0, 1))).toEqual([expect.stringMatching(/ MeshAccessLog backends: .*"\/z".* \(z\) → -$/)]);
      expect(changes(all, all.slice(0, 1))).toEqual([]);
      expect(changes(all, all.slice(1))).toEqual([expect.stringMatching(/"\/a".* \(a\) → .*"\/z".* \(z\)$/)]);
    });

    it('count once on inbounds that share a name', () => {
      const inbound = ['10.0.0.1', '10.0.0.2'].map((address) => ({ address, port: 80, name: 'http', protocol: 'http' }));
      const common = [make('Mesh', 'default', {}), makeDataplane('web', { zone: 'east' }, { inbound })];
      expect(changes([], [permission('a', allow('x'))], common)).toEqual([`${ALLOW} - → ${text(allow('x'))} (a)`]);
    });
  });

  it('are the same for a match that is written in another order', () => {
    const limited = (spiffe: JsonObject): Resource =>
      make('MeshTimeout', 't', { rules: [{ matches: [{ spiffeID: spiffe }], default: { http: { requestTimeout: '1s' } } }] });
    const value = 'spiffe://a/b';
    expect(changes([limited({ type: 'Exact', value })], [limited({ value, type: 'Exact' })])).toEqual([]);
  });

  it('change on the routes of an outbound', () => {
    const found = changes([], [makeRoute('canary', { name: 'cart' }, '/v2')]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(
      /^route msvc_default_east__cart_80 mhttpr_default___canary_ \[\{.*"\/v2".*\}\] MeshHTTPRoute backendRefs: - → .*\(canary\)$/,
    );
  });

  it('are the same, whether the rules are the same objects in both states or copies', () => {
    const rule = (value: string): JsonObject => ({
      matches: [{ path: { type: 'PathPrefix', value } }],
      default: { backendRefs: [{ kind: 'MeshService', name: 'cart', port: 80 }] },
    });
    const route = (name: string, ...paths: string[]): Resource =>
      make('MeshHTTPRoute', name, { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules: paths.map(rule) }] });
    const onRoute = (name: string, of: string, requestTimeout: string): Resource =>
      makeTo('MeshTimeout', name, { kind: 'MeshHTTPRoute', name: of }, { http: { requestTimeout } });
    const routes = [route('one', '/a', '/b', '/c'), route('two', '/d', '/e')];
    const before = [...routes, timeout('all', { idleTimeout: '1s' }), onRoute('own', 'one', '2s')];
    const after = [...routes, timeout('all', { idleTimeout: '3s' }), onRoute('other', 'two', '4s')];
    const found = changes(before, after);
    expect(found.filter((line) => line.includes('requestTimeout'))).toHaveLength(5);
    expect(
      changes(
        before,
        after.map((row) => structuredClone(row)),
      ),
    ).toEqual(found);
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
