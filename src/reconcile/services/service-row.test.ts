// The status of a service: its proxies and the services behind it.
import { expect, it } from 'vitest';
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
