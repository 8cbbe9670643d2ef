import { expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { whyShadowed } from './shadowed-policy.ts';

const BY_NAME = 'of two that select the same, the name that is first in the alphabet is stronger';
const mesh = { kind: 'Mesh' };
const OWN = { kind: 'Dataplane', labels: { 'kuma.io/display-name': 'web' } };
const slow = { http: { requestTimeout: '9s' } };
const timeout = (name: string, conf = slow, more: Parameters<typeof makeTo>[4] = {}, top = mesh): Resource =>
  makeTo('MeshTimeout', name, mesh, conf, more, top);

function shadowOf(policy: Resource, ...others: Resource[]): string | null {
  const index = new MeshIndex('default', [
    makeDataplane('web', { zone: 'east' }),
    makeDataplane('api', { zone: 'east' }),
    makeService('backend', { zone: 'east' }),
    policy,
    ...others,
  ]);
  const parsed = index.policyOf(policy);
  if (parsed === undefined) throw new Error('not indexed');
  const steps = whyShadowed(index, parsed);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
const isShadow = (winner: string, why: string): string =>
  `changes nothing on the 2 proxies that it selects: stronger policies have each of its values: ${winner} (${why})`;

it.each<[what: string, policy: Resource, others: Resource[], winner: string, why: string]>([
  ['a smaller name', timeout('slow'), [timeout('a', { http: { requestTimeout: '1s' } })], 'MeshTimeout a', BY_NAME],
  [
    'a more specific target',
    timeout('a'),
    [timeout('slow', slow, {}, { kind: 'Dataplane' })],
    'MeshTimeout slow',
    'its spec.targetRef is more specific',
  ],
  [
    'a policy of the zone',
    timeout('a', slow, { origin: 'global' }),
    [timeout('slow', slow, { zone: 'east', origin: 'zone' })],
    'MeshTimeout slow',
    'a policy of the zone is stronger than one of global',
  ],
  [
    'a more specific item',
    timeout('a'),
    [makeTo('MeshTimeout', 'slow', { kind: 'MeshService', name: 'backend' }, slow)],
    'MeshTimeout slow',
    'its spec.to[].targetRef is more specific',
  ],
  [
    'rules of inbounds',
    make('MeshTimeout', 'slow', { rules: [{ default: { idleTimeout: '5s' } }] }),
    [make('MeshTimeout', 'a', { rules: [{ default: { idleTimeout: '6s' } }] })],
    'MeshTimeout a',
    BY_NAME,
  ],
  [
    'a conf of the whole proxy',
    make('MeshTrace', 'slow', { default: { sampling: { overall: 5 } } }),
    [make('MeshTrace', 'a', { default: { sampling: { overall: 6 } } })],
    'MeshTrace a',
    BY_NAME,
  ],
  [
    'a route with the same matches',
    makeRoute('slow', { name: 'backend' }, '/a'),
    [makeRoute('a', { name: 'backend' }, '/a')],
    'MeshHTTPRoute a',
    BY_NAME,
  ],
])('is overridden by %s', (_, policy, others, winner, why) => {
  expect(shadowOf(policy, ...others)).toBe(isShadow(winner, why));
});

it.each<[what: string, policy: Resource, others: Resource[]]>([
  ['there is no other', timeout('slow'), []],
  ['it is the stronger one', timeout('a'), [timeout('slow')]],
  ['one value is its own', timeout('slow', { http: { requestTimeout: '9s' }, idleTimeout: '1s' } as typeof slow), [timeout('a')]],
  ['the other one is about one of its proxies', timeout('slow'), [timeout('a', slow, {}, OWN)]],
  [
    'the other route has other matches',
    makeRoute('slow', { name: 'backend' }, '/a'),
    [makeRoute('a', { name: 'backend' }, '/b')],
  ],
  [
    'it matches no proxy',
    timeout('slow', slow, {}, { kind: 'Dataplane', labels: { app: 'none' } } as typeof mesh),
    [timeout('a')],
  ],
])('has an effect or another reason for none where %s', (_, policy, others) => {
  expect(shadowOf(policy, ...others)).toBeNull();
});
