// The sentences about inbounds whose applications nothing probes.
import { expect, it } from 'vitest';
import type { JsonObject, Labels } from '../resource/types.ts';
import { unprobedInbounds, unprobedWarning } from './unprobed-inbounds.ts';

const dataplane = (inbound: JsonObject[], labels: Labels = {}): { labels: Labels; spec: JsonObject } => ({
  labels,
  spec: { networking: { address: '10.0.0.7', inbound } },
});

it('inbounds of tcp and without a protocol are named, by their port where they have no name', () => {
  const inbound = [{ name: 'db', port: 5432, protocol: 'tcp' }, { port: 6379 }];
  expect(unprobedInbounds(dataplane(inbound))).toEqual(['db', '6379']);
  expect(unprobedWarning(dataplane(inbound))).toBe(
    'the health of inbounds db, 6379 of tcp is unknown: nothing probes their applications, so a dead one still gets requests; ' +
      'write serviceProbe, or the label probe.meridian.io/NAME: disabled where none is wanted',
  );
});

it.each<[why: string, inbound: JsonObject, labels: Labels]>([
  ['is of http', { name: 'db', port: 80, protocol: 'http' }, {}],
  ['is of http2', { name: 'db', port: 80, protocol: 'http2' }, {}],
  ['is of grpc', { name: 'db', port: 80, protocol: 'grpc' }, {}],
  ['has a probe', { name: 'db', port: 80, serviceProbe: { tcp: {} } }, {}],
  ['gets no requests', { name: 'db', port: 80, state: 'Ignored' }, {}],
  ['is of a pod', { name: 'db', port: 80 }, { 'kuma.io/env': 'kubernetes' }],
  ['is left without one, by its name', { name: 'db', port: 80 }, { 'probe.meridian.io/db': 'disabled' }],
  ['is left without one, by its port', { name: 'db', port: 80 }, { 'probe.meridian.io/80': 'disabled' }],
])('an inbound that %s is not', (_, inbound, labels) => {
  expect([unprobedInbounds(dataplane([inbound], labels)), unprobedWarning(dataplane([inbound], labels))]).toEqual([[], null]);
});
