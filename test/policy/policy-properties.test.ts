// Properties of the policy engine over random meshes: order of arrival, unrelated policies and the history of the index have no effect.
import { fc } from '../support/property.ts';
import { describe, expect, it } from 'vitest';
import { buildRules } from '../../src/policy/build-rules.ts';
import { effectiveConf } from '../../src/policy/effective-conf.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { mergeConfs } from '../../src/policy/merge-conf.ts';
import { runSteps } from '../../src/base/steps.ts';
import { policyReach } from '../../src/policy/policy-reach.ts';
import { rulesView } from '../../src/policy/rules-view.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { make, makeDataplane, makeRoute, makeService, type Made } from './make-resource.ts';

const names = fc.constantFrom('a', 'b', 'c');
const made: fc.Arbitrary<Made> = fc
  .record({
    zone: fc.constantFrom('east', 'west', undefined),
    namespace: fc.constantFrom('shop', 'web', undefined),
    role: fc.constantFrom('system', 'producer', 'consumer'),
    app: fc.constantFrom('x', 'y'),
  })
  .map(({ zone, namespace, role, app }) => ({
    labels: { app },
    ...(zone !== undefined && { zone }),
    ...(namespace !== undefined && { namespace, role }),
  }));
const place = made.map(({ role, ...rest }) => rest);

const top: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<JsonObject>({ kind: 'Mesh' }) },
  names.map((name): JsonObject => ({ kind: 'Dataplane', name })),
  fc.constantFrom<JsonObject>(
    { kind: 'Dataplane', labels: { app: 'x' } },
    { kind: 'Dataplane', sectionName: 'http' },
    { kind: 'MeshSubset', tags: { app: 'y' } },
    { kind: 'Mesh', proxyTypes: ['Gateway'] },
  ),
);
const oldTop: fc.Arbitrary<JsonObject> = names.map((name): JsonObject => ({ kind: 'MeshHTTPRoute', name }));
const ref: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constant<JsonObject>({ kind: 'Mesh' }),
  fc
    .record({ kind: fc.constantFrom('MeshService', 'MeshHTTPRoute'), name: names, namespace: fc.constantFrom('shop', '') })
    .map((value): JsonObject => value),
  fc.constantFrom<JsonObject>(
    { kind: 'MeshService', labels: { app: 'x' } },
    { kind: 'MeshService', name: 'a', sectionName: 'admin' },
  ),
);
const conf: fc.Arbitrary<JsonObject> = fc
  .record({ requestTimeout: fc.constantFrom('1s', '2s'), streamIdleTimeout: fc.constantFrom('3s', '4s') }, { requiredKeys: [] })
  .map((http): JsonObject => ({ http, hashPolicies: [], loadBalancer: { type: 'Maglev' } }));

const policy: fc.Arbitrary<Resource> = fc
  .record({
    type: fc.constantFrom('MeshTimeout', 'MeshLoadBalancingStrategy'),
    name: names,
    items: fc.array(fc.tuple(ref, conf), { maxLength: 2 }),
    rules: fc.array(conf, { maxLength: 1 }),
    top: fc.oneof({ weight: 5, arbitrary: top }, oldTop),
    made,
  })
  .map(({ type, name, items, rules, top: targetRef, made: where }) =>
    make(
      type,
      name,
      {
        targetRef,
        to: items.map(([to, given]) => ({ targetRef: to, default: given })),
        rules: rules.map((given) => ({ default: given })),
      },
      where,
    ),
  );
const resource: fc.Arbitrary<Resource> = fc.oneof(
  { weight: 4, arbitrary: policy },
  fc.tuple(names, place).map(([name, where]) => makeService(name, where)),
  fc
    .tuple(names, place, fc.constantFrom('http', 'other'))
    .map(([name, where, section]) => makeDataplane(name, where, { inbound: [{ port: 80, name: section, tags: { app: 'y' } }] })),
  fc
    .tuple(names, names, made, top)
    .map(([name, service, where, targetRef]) => makeRoute(name, { name: service }, `/${name}`, where, targetRef)),
);
const mesh = fc.uniqueArray(resource, { selector: ({ type, name }) => `${type}/${name}`, minLength: 5, maxLength: 25 });

/** All answers of the index, as text. */
function answersOf(index: MeshIndex): string {
  const proxies = [...index.proxies()].sort((a, b) => (a.kri < b.kri ? -1 : 1));
  const rules = proxies.map((proxy) => buildRules(index, proxy));
  const conf = rules.map((given) =>
    effectiveConf(index, given).outbounds.map(({ kri, policies, routes }) =>
      [kri, policies, routes].map((part) => JSON.stringify(part, withoutSerials)),
    ),
  );
  return JSON.stringify([rules.map((one) => runSteps(rulesView(one))), conf]);
}

/** The serial of a policy in its index is internal. */
function withoutSerials(key: string, value: unknown): unknown {
  return key === 'policy' ? (value as { kri: string }).kri : key === 'route' ? (value as { kri: string }).kri : value;
}

describe('the policy engine', () => {
  it('does not depend on the order of arrival', () => {
    fc.assert(
      fc.property(mesh, fc.infiniteStream(fc.nat()), (resources, dice) => {
        const shuffled = resources.map((given) => [dice.next().value, given] as const).sort(([a], [b]) => Number(a) - Number(b));
        expect(
          answersOf(
            new MeshIndex(
              'default',
              shuffled.map(([, given]) => given),
            ),
          ),
        ).toBe(answersOf(new MeshIndex('default', resources)));
      }),
    );
  });

  it('answers after any puts and removes as a new index, with or without questions between them', () => {
    const steps = fc.array(
      fc.record({ op: fc.constantFrom('put', 'put', 'remove'), at: fc.nat(), given: resource, ask: fc.boolean() }),
      { maxLength: 15 },
    );
    fc.assert(
      fc.property(mesh, steps, (resources, changes) => {
        const index = new MeshIndex('default', resources);
        const held = new Map(resources.map((given) => [`${given.type}/${given.name}`, given]));
        for (const { op, at, given, ask } of changes) {
          const target = op === 'put' ? given : [...held.values()][at % Math.max(held.size, 1)];
          if (target === undefined) continue;
          if (op === 'put') {
            index.put(target);
            held.set(`${target.type}/${target.name}`, target);
          } else {
            index.remove(target);
            held.delete(`${target.type}/${target.name}`);
          }
          if (ask) answersOf(index);
        }
        expect(answersOf(index)).toBe(answersOf(new MeshIndex('default', held.values())));
      }),
    );
  });

  it('gives a proxy the same rules with and without other proxies', () => {
    fc.assert(
      fc.property(mesh, (resources) => {
        const together = new MeshIndex('default', resources);
        for (const proxy of together.proxies()) {
          const alone = new MeshIndex('default', resources);
          const same = alone.proxy(proxy.resource.name);
          if (same === undefined) throw new Error('lost a proxy');
          expect(runSteps(rulesView(buildRules(together, proxy)))).toEqual(runSteps(rulesView(buildRules(alone, same))));
        }
      }),
    );
  });

  it('does not change its answers with an unrelated policy', () => {
    const unrelated = [
      make('MeshTimeout', 'z-elsewhere', {
        targetRef: { kind: 'Dataplane', name: 'nobody' },
        to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '9s' } }],
      }),
      make(
        'MeshTimeout',
        'z-namespace',
        { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '9s' } }] },
        { namespace: 'unused', role: 'consumer' },
      ),
      make(
        'MeshTimeout',
        'z-shadow',
        { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '9s' } }] },
        { labels: { 'kuma.io/effect': 'shadow' } },
      ),
    ];
    fc.assert(
      fc.property(mesh, fc.constantFrom(...unrelated), (resources, more) => {
        expect(answersOf(new MeshIndex('default', [...resources, more]))).toBe(answersOf(new MeshIndex('default', resources)));
      }),
    );
  });

  it('merges every key from its contributions, and configures exactly the proxies of policyReach', () => {
    fc.assert(
      fc.property(mesh, (resources) => {
        const index = new MeshIndex('default', resources);
        const given = new Map([...index.proxies()].map((proxy) => [proxy, buildRules(index, proxy)]));
        for (const { types } of given.values())
          for (const { toRules, type } of types)
            for (const { conf: merged, contributions } of type === 'MeshHTTPRoute' ? [] : toRules.values())
              expect(merged).toEqual([mergeConfs(contributions.map((item) => item.conf))]);
        for (const { type, name } of resources) {
          const parsed = index.policy(type, name);
          if (parsed === undefined || type === 'MeshHTTPRoute' || parsed.targetRef.kind === 'MeshHTTPRoute') continue;
          const reached = new Set(runSteps(policyReach(index, parsed)).touched.map(({ proxy }) => proxy));
          for (const [proxy, { types }] of given) {
            const rules = types.find((candidate) => candidate.type === type);
            const inTo = [...(rules?.toRules.values() ?? [])].some(({ contributions }) =>
              contributions.some((item) => item.policy === parsed),
            );
            const inRules = rules?.inboundRules.some((section) => section.rules.some((item) => item.policy === parsed)) ?? false;
            expect(reached.has(proxy), `${type} ${name} on ${proxy.kri}`).toBe(inTo || inRules);
          }
        }
      }),
    );
  });
});
