import { expect, it } from 'vitest';
import { endpointAddressProblem, inboundAddressProblem } from './socket-address.ts';

it.each<[address: string, port: number, field: string | undefined]>([
  ['10.0.0.1', 1, undefined],
  ['2001:db8::1', 65_535, undefined],
  ['10.0.0.1', 0, 'networking.inbound.port'],
  ['10.0.0.1', 65_536, 'networking.inbound.port'],
  ['10.0.0.1', 80.5, 'networking.inbound.port'],
  ['a.name', 80, 'networking.address'],
  ['', 0, 'networking.address'],
])('an inbound at %s and port %d has a problem with %s', (address, port, field) => {
  expect(inboundAddressProblem(address, port)?.field).toBe(field);
});

it('an endpoint has an IP address, and a problem says whose address is none', () => {
  expect([endpointAddressProblem('10.0.0.1', 'x'), endpointAddressProblem('::1', 'x')]).toEqual([null, null]);
  expect(endpointAddressProblem('a.name', 'the ingress of west')).toEqual({
    ...{ policy: null, field: 'networking.outbound' },
    reason: expect.stringMatching(/^the ingress of west has the address "a.name", which must be an IP address/) as string,
  });
});
