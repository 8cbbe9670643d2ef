// The labels that a REST write stores: a Dataplane's come from its spec, not from the caller.
import { expect, it } from 'vitest';
import { computeLabels } from './compute-labels.ts';
import { typeOf } from './type-registry.ts';
import type { JsonObject, Labels } from './types.ts';

const ingress = 'kuma.io/listener-zoneingress';
const egress = 'kuma.io/listener-zoneegress';

function labelsOfDataplane(networking: JsonObject, given: Labels): Labels {
  const draft = { displayName: 'd', mesh: 'default', labels: given, spec: { networking } };
  return computeLabels(typeOf('Dataplane'), draft, { mode: 'zone', zone: 'east', federated: true });
}

it.each<[string, JsonObject, string[]]>([
  ['no zone section', {}, []],
  ['a listener of type ZoneEgress', { listeners: [{ type: 'ZoneEgress' }] }, [egress]],
  ['a zoneIngress', { zoneIngress: {} }, [ingress]],
  ['both', { zoneIngress: {}, listeners: [{ type: 'ZoneEgress' }] }, [ingress, egress]],
])('computed labels name only the listeners of a Dataplane with %s', (_, networking, has) => {
  const computed = labelsOfDataplane(networking, { [ingress]: 'enabled', [egress]: 'enabled' });
  expect([ingress, egress].filter((key) => key in computed)).toEqual(has);
});

it('computed labels drop kuma.io/proxy-type of a Dataplane, and keep the labels of its author', () => {
  const computed = labelsOfDataplane({}, { 'kuma.io/proxy-type': 'ingress', team: 'a' });
  expect(computed).toMatchObject({ team: 'a' });
  expect(computed).not.toHaveProperty('kuma.io/proxy-type');
});

it.each<[string, string, Labels, Labels]>([
  [
    'a policy in a namespace of a zone',
    'MeshTimeout',
    { 'k8s.kuma.io/namespace': 'shop' },
    { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/env': 'universal', 'kuma.io/policy-role': 'workload-owner' },
  ],
  ['a policy without one', 'MeshTimeout', {}, { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/env': 'universal' }],
  [
    'another type in a namespace',
    'MeshService',
    { 'k8s.kuma.io/namespace': 'shop' },
    { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/env': 'universal' },
  ],
])('computed labels of %s have its place, and a role for a policy of a namespace alone', (_, type, labels, expected) => {
  const draft = { displayName: 'a', mesh: 'default', labels, spec: {} };
  const computed = computeLabels(typeOf(type), draft, { mode: 'zone', zone: 'east', federated: true });
  expect(computed).toEqual({ ...labels, ...expected, 'kuma.io/display-name': 'a', 'kuma.io/mesh': 'default' });
});

it('computed labels on global name no zone, and a given mesh, zone and environment stay', () => {
  const draft = { displayName: 'a', mesh: 'default', labels: {}, spec: {} };
  expect(computeLabels(typeOf('MeshTimeout'), draft, { mode: 'global', zone: null, federated: false })).toEqual({
    ...{ 'kuma.io/origin': 'global', 'kuma.io/display-name': 'a', 'kuma.io/mesh': 'default' },
  });
  const given = { 'kuma.io/mesh': 'other', 'kuma.io/zone': 'west', 'kuma.io/env': 'kubernetes' };
  const zone = { mode: 'zone', zone: 'east', federated: true } as const;
  expect(computeLabels(typeOf('MeshTimeout'), { ...draft, labels: given }, zone)).toMatchObject(given);
});
