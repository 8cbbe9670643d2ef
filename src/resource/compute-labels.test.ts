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
