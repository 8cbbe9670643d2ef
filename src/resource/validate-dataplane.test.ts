// The refused Dataplanes: Kuma's fields follow Kuma's rules; the checks of the zone sections are strict.
import { expect, it } from 'vitest';
import { dataplaneViolations } from './validate-dataplane.ts';
import type { JsonObject } from './types.ts';

const address = '10.0.0.1';
const egress = { address: '10.0.0.2', port: 10_002 };

function violations(networking: JsonObject): string[] {
  return [...dataplaneViolations({ networking })].map(({ field, reason }) => `${field}: ${reason}`);
}

it.each<[string, JsonObject]>([
  ['inbound', { inbound: [{ port: 80 }] }],
  ['listeners', { listeners: [{ type: 'ZoneIngress', address, port: 1 }] }],
])('a Dataplane is refused with a gateway beside %s', (_, sections) => {
  const reason = 'networking.gateway: must not stand beside inbound or listeners';
  expect(violations({ address, gateway: {}, ...sections })).toEqual([reason]);
  expect(violations({ address, gateway: {} })).toEqual([]);
  expect(violations({ address, ...sections })).toEqual([]);
});

it('a Dataplane is refused with a zone section on the address and port of an inbound', () => {
  const inbound = [{ name: 'http', port: 80 }];
  expect(violations({ address, inbound, zoneEgress: { ...egress, port: 80 } })).toEqual([]);
  expect(violations({ address, inbound, zoneEgress: { address, port: 80, name: 'egress' } })).toEqual([
    'networking.zoneEgress.port: 10.0.0.1:80 is used by networking.inbound[0] already',
  ]);
});

it.each(['256.1.1.1', '10.0.0', '10.0.0.1.', 'zone.1'])('refuses %s as the address of a zone section', (text) => {
  const reason = 'must be an IP address or a DNS name';
  expect(violations({ zoneEgress: { ...egress, address: text } })).toEqual([`networking.zoneEgress.address: ${reason}`]);
});
