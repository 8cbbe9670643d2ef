// The status of a service: its proxies and the services behind it.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../resource/types.ts';
import type { DataplaneFacts, Inbound } from './dataplane-facts.ts';
import { countProxies, multiZoneStatus } from './service-row.ts';

const inbound: Inbound = { name: '', port: 80, protocol: 'http', tags: {}, state: 'Ready' };

function dataplane(name: string, inbounds: readonly Inbound[]): DataplaneFacts {
  return { name, displayName: name, created: 0, labels: {}, inbounds, ingress: null, egress: null };
}

it('a service counts no Dataplane without an inbound, such as a gateway', () => {
  const selected = [dataplane('gateway', []), dataplane('web', [inbound])];
  expect(countProxies({ ports: [{ port: 80 }] }, selected, () => true)).toEqual({ total: 1, connected: 1, healthy: 1 });
  expect(countProxies({}, [dataplane('gateway', [])], () => true)).toEqual({ total: 0, connected: 0, healthy: 0 });
});

it('a service without a zone label counts for the own zone, in the order of names and zones', () => {
  const services = [
    { name: 'web', mesh: 'default', labels: { 'kuma.io/zone': 'west' } },
    { name: 'web', mesh: 'default', labels: {} },
  ];
  expect(multiZoneStatus(services, 'east').meshServices).toMatchObject([
    { name: 'web', zone: 'east' },
    { name: 'web', zone: 'west' },
  ]);
});

it('the services of a MeshMultiZoneService are in the order of name, namespace, zone and mesh, in any order of arrival', () => {
  const of = (name: string, namespace: string, zone: string, mesh: string): Parameters<typeof multiZoneStatus>[0][number] => ({
    ...{ name: 'stored', mesh },
    labels: { 'kuma.io/display-name': name, 'k8s.kuma.io/namespace': namespace, 'kuma.io/zone': zone },
  });
  const services = [
    of('a', 'n', 'w', 'y'),
    of('a', 'n', 'x', 'm'),
    of('a', 'n', 'x', 'n'),
    of('a', 'o', 'a', 'a'),
    of('b', 'a', 'a', 'a'),
  ];
  const { meshServices, conditions } = multiZoneStatus(services, 'east');
  expect(meshServices).toEqual([
    { name: 'a', namespace: 'n', zone: 'w', mesh: 'y' },
    { name: 'a', namespace: 'n', zone: 'x', mesh: 'm' },
    { name: 'a', namespace: 'n', zone: 'x', mesh: 'n' },
    { name: 'a', namespace: 'o', zone: 'a', mesh: 'a' },
    { name: 'b', namespace: 'a', zone: 'a', mesh: 'a' },
  ]);
  for (let shift = 1; shift < services.length; shift += 1) {
    const turned = [...services.slice(shift), ...services.slice(0, shift)].reverse();
    expect(multiZoneStatus(turned, 'east').meshServices).toEqual(meshServices);
  }
  expect(conditions).toEqual([{ type: 'MeshServicesMatched', status: 'True', reason: 'MatchesFound', message: '' }]);
  expect(multiZoneStatus([], 'east').conditions).toMatchObject([{ status: 'False', reason: 'NoMatchesFound' }]);
});

it('a proxy is healthy where each port of the service has a ready inbound, by number or name', () => {
  const ready = { ...inbound, port: 80 };
  const admin = { ...inbound, port: 90, name: 'admin' };
  const health = (ports: JsonObject[], inbounds: readonly Inbound[], isOnline = true): number[] => {
    const { total, connected, healthy } = countProxies({ ports }, [dataplane('d', inbounds)], () => isOnline);
    return [total, connected, healthy];
  };
  expect(health([{ port: 80 }], [ready])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }], [ready], false)).toEqual([1, 0, 1]);
  expect(health([{ port: 1, targetPort: 80 }], [ready])).toEqual([1, 1, 1]);
  expect(health([{ port: 1, targetPort: 'admin' }], [admin])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }, { port: 90 }], [ready])).toEqual([1, 1, 0]);
  expect(health([{ port: 80 }, { port: 90 }], [ready, admin])).toEqual([1, 1, 1]);
  expect(health([{ port: 80 }], [{ ...ready, state: 'NotReady' }])).toEqual([1, 1, 0]);
  expect(health([], [{ ...ready, state: 'NotReady' }])).toEqual([1, 1, 1]);
});
