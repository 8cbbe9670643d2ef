// A policy with a namespace is for the proxies of that namespace, on Universal too. The answer to its PUT warns of it (decision 26).
import { expect, it } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const ANY_MESH = { targetRef: { kind: 'Mesh' }, default: { idleTimeout: '5s' } };
const OWN_SERVICE = { targetRef: { kind: 'MeshService', name: 'cart' }, default: { idleTimeout: '5s' } };

it.each<[string, Labels, JsonObject, string[]]>([
  ['without a namespace', {}, ANY_MESH, []],
  ['of the system namespace', { [label.namespace]: 'kuma-system' }, ANY_MESH, []],
  ['that is a producer', { [label.namespace]: 'shop' }, OWN_SERVICE, []],
  ['that says its role', { [label.namespace]: 'shop', [label.policyRole]: 'consumer' }, ANY_MESH, []],
  [
    'of a namespace',
    { [label.namespace]: 'shop' },
    ANY_MESH,
    [
      'labels["k8s.kuma.io/namespace"]: the policy is for proxies of namespace shop alone (kuma.io/policy-role: consumer), in Kuma zones too; leave the label out for the whole mesh',
    ],
  ],
])('a policy %s', async (_, labels, item, expected) => {
  const store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  const payload = {
    type: 'MeshTimeout',
    mesh: 'default',
    name: 'slow',
    labels,
    spec: { targetRef: { kind: 'Mesh' }, to: [item] },
  };
  const answer = await testApi(store, 'global').inject({ method: 'PUT', url: '/meshes/default/meshtimeouts/slow', payload });
  expect(answer.statusCode).toBe(201);
  expect(answer.json<{ warnings?: string[] }>().warnings ?? []).toEqual(expected);
});
