// A producer policy in other zones: it configures only calls of services of its own zone.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { fc } from '../../test/support/property.ts';
import { label } from '../resource/labels.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { MeshIndex } from './mesh-index.ts';
import { isGuest, ownDestinations } from './guest-policy.ts';
import { parsePolicy, placeOf, type Policy } from './parse-policy.ts';
import { runSteps } from '../base/steps.ts';
import { policyReach } from './policy-reach.ts';

const ZONES = ['east', 'west', 'evil'];
const conf = { http: { requestTimeout: '66s' } };
const cart = (zone: string): Resource => makeService('cart', { zone, namespace: 'shop' });
const place = { zone: 'evil', namespace: 'shop', role: 'producer' } as const;
const web = makeDataplane('web', { zone: 'east', namespace: 'shop' });
const byName = { kind: 'MeshService', name: 'cart' };
const byLabels = { kind: 'MeshService', labels: { [label.displayName]: 'cart', [label.namespace]: 'shop' } };

/** Everything that the rules of a proxy take from this policy: keys of services and routes, and sections. */
function taken(index: MeshIndex, policy: Resource): string[] {
  const isOf = ({ policy: one }: { policy: Policy }): boolean => one.resource === policy;
  return [...index.proxies()].flatMap((proxy) =>
    buildRules(index, proxy).types.flatMap(({ toRules, inboundRules, proxyRule, oldRules }) => [
      ...[...toRules.values()].filter(({ contributions }) => contributions.some(isOf)).map(({ kri }) => `${proxy.zone}: ${kri}`),
      ...inboundRules.filter(({ rules, fromRules }) => [...rules, ...fromRules].some(isOf)).map(() => `${proxy.zone}: inbound`),
      ...(proxyRule?.contributions.some(isOf) === true ? [`${proxy.zone}: proxy`] : []),
      ...oldRules.map(() => `${proxy.zone}: old`),
    ]),
  );
}

it('a guest is a producer policy of another zone, and configures the services of that zone alone', () => {
  const policy = parsePolicy(makeTo('MeshTimeout', 'slow', byName, conf, place), 0);
  expect(['evil', 'east', ''].map((zone) => isGuest(policy, zone))).toEqual([false, true, true]);
  const ofGlobal = parsePolicy(makeTo('MeshTimeout', 'slow', byName, conf), 0);
  const consumer = parsePolicy(makeTo('MeshTimeout', 'slow', byName, conf, { ...place, role: 'consumer' }), 0);
  expect([isGuest(ofGlobal, 'east'), isGuest(consumer, 'east')]).toEqual([false, false]);
  const found = [cart('evil'), cart('west'), makeService('cart')];
  expect(ownDestinations(policy, found)).toEqual([found[0]]);
});

describe('a producer policy of zone evil for the cart of zone west', () => {
  it.each([
    ['MeshTimeout', makeTo('MeshTimeout', 'slow', byName, conf, place)],
    ['MeshTimeout by labels', makeTo('MeshTimeout', 'slow', byLabels, conf, place)],
    ['MeshHTTPRoute', makeRoute('steal', { name: 'cart' }, '/', place)],
  ])('has no effect in east, and a reason explains it: %s', (_, policy) => {
    const index = new MeshIndex('default', [cart('west'), web, policy]);
    expect(taken(index, policy)).toEqual([]);
    const parsed = index.policyOf(policy);
    if (parsed === undefined) throw new Error('not indexed');
    const { touched, untouched, warnings } = runSteps(policyReach(index, parsed));
    expect(touched).toEqual([]);
    const why =
      /MeshService .*cart.* is of zone west; a producer policy of zone evil has an effect in other zones only on services of zone evil/;
    expect(untouched).toMatchObject([{ reason: expect.stringMatching(why) as string, proxies: 1 }]);
    expect(warnings[0]).toMatch(why);
  });

  it('has no effect on a route of west', () => {
    const route = makeRoute('r', { name: 'cart' }, '/', { ...place, zone: 'west' });
    const policy = makeTo('MeshTimeout', 'slow', { kind: 'MeshHTTPRoute', name: 'r' }, conf, place);
    expect(taken(new MeshIndex('default', [cart('west'), web, route, policy]), policy)).toEqual([]);
  });

  it('configures the cart of evil in every zone', () => {
    const policy = makeTo('MeshTimeout', 'slow', byLabels, conf, place);
    const index = new MeshIndex('default', [cart('west'), cart('evil'), web, policy]);
    expect(taken(index, policy)).toEqual(['east: kri_msvc_default_evil_shop_cart_']);
  });

  it('configures it for proxies of zone evil only', () => {
    const policy = makeTo('MeshTimeout', 'slow', byName, conf, place);
    const own = makeDataplane('own', { zone: 'evil', namespace: 'shop' });
    const index = new MeshIndex('default', [cart('west'), web, own, policy]);
    expect(taken(index, policy)).toEqual(['evil: kri_msvc_default_west_shop_cart_']);
  });
});

it('a policy with a false producer label configures only services of its own zone', () => {
  const ref = fc.constantFrom<JsonObject>(
    { kind: 'Mesh' },
    byName,
    byLabels,
    { kind: 'MeshMultiZoneService', name: 'cart' },
    { kind: 'MeshExternalService', name: 'cart' },
    { kind: 'MeshHTTPRoute', name: 'r' },
    { kind: 'MeshService', labels: {} },
  );
  const items = fc.array(
    ref.map((targetRef): Json => ({ targetRef, default: conf })),
    { maxLength: 3 },
  );
  const spec = fc.record(
    {
      to: items,
      rules: fc.constant([{ default: conf }]),
      from: fc.constant([{ targetRef: { kind: 'Mesh' }, default: conf }]),
      default: fc.constant(conf),
    },
    { requiredKeys: [] },
  );
  const types = [
    'MeshTimeout',
    'MeshRetry',
    'MeshHTTPRoute',
    'MeshAccessLog',
    'MeshProxyPatch',
    'MeshMetric',
    'MeshTrafficPermission',
  ];
  const others = [
    ...ZONES.flatMap((zone) => [cart(zone), makeRoute('r', { name: 'cart' }, '/', { ...place, zone })]),
    make('MeshMultiZoneService', 'cart', { ports: [{ port: 80, appProtocol: 'http' }] }, {}),
    make('MeshExternalService', 'cart', { match: { port: 80 } }, {}),
    ...ZONES.map((zone) => makeDataplane('web', { zone, namespace: 'shop' })),
  ];
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.constantFrom(...ZONES), spec, (type, zone, given) => {
      const policy = make(type, 'p', given as JsonObject, { ...place, zone });
      const index = new MeshIndex('default', [...others, policy]);
      for (const key of taken(index, policy)) if (!key.startsWith(`${zone}: `)) expect(key).toContain(`_default_${zone}_`);
      expect(placeOf(policy).zone).toBe(zone);
    }),
  );
});
