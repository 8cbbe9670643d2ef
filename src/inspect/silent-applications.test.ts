// The sentences about applications that do not answer.
import { expect, it } from 'vitest';
import type { JsonObject, Labels } from '../resource/types.ts';
import { silentApplications } from './silent-applications.ts';

const unready = { state: 'NotReady', health: { ready: false } };
const reasons = (inbound: JsonObject, labels: Labels = {}): string[] =>
  silentApplications({ labels, spec: { networking: { address: '10.0.0.7', inbound: [{ port: 80 }, inbound] } } }).map(
    ({ field, reason }) => `${field}: ${reason}`,
  );
const START = 'networking.inbound[1]: the application of inbound';

it.each<[what: string, inbound: JsonObject, expected: string]>([
  [
    'the address of the Dataplane',
    { name: 'main', port: 8000, servicePort: 8080 },
    'main does not answer on 10.0.0.7:8080: start it, or set serviceAddress to the address on which it listens',
  ],
  [
    'the written address, and the port where there is no name',
    { port: 8000, serviceAddress: '::1' },
    '8000 does not answer on [::1]:8000: start it, or correct serviceAddress and servicePort',
  ],
])('the sentence has %s', (_, inbound, expected) => {
  expect(reasons({ ...inbound, ...unready })).toEqual([`${START} ${expected}`]);
});

it.each<[why: string, inbound: JsonObject, labels: Labels]>([
  ['is ready', { port: 8000 }, {}],
  ['was made not ready by a person', { port: 8000, state: 'NotReady' }, {}],
  ['is of a pod', { port: 8000, ...unready }, { 'kuma.io/env': 'kubernetes' }],
])('an inbound that %s has none', (_, inbound, labels) => {
  expect(reasons(inbound, labels)).toEqual([]);
});
