import { expect, it } from 'vitest';
import { nackFaultOf } from './nack-fault.ts';
import { describeRefusals, MAX_NAMED, readRefusals, refusalOf, writeRefusals } from './refusal.ts';

const refusals = (count: number) =>
  Array.from({ length: count }, (_, index) => refusalOf('MeshTimeout', { name: `t${String(index)}`, mesh: 'shop' }, 'no'));

it('is the fault of a user when the details name a resource, whatever the text says', () => {
  expect(nackFaultOf(readRefusals(writeRefusals(refusals(1))), '')).toBe('user');
  expect(nackFaultOf(readRefusals(writeRefusals(refusals(1))), 'spec.to[0]: must be given')).toBe('user');
});

it.each([
  ['user error\nresource already exists: type="Secret" name="x" mesh="m"', 'user'],
  ['spec.to[0]: must be given', 'other'],
  ['the text of a user error', 'other'],
  ['', 'other'],
])('of a peer that sends text alone: %j is %s', (message, fault) => {
  expect(nackFaultOf([], message)).toBe(fault);
});

it('is the fault of a user in a NACK of this side with more resources than it names', () => {
  const many = refusals(MAX_NAMED + 1);
  expect(nackFaultOf(readRefusals(writeRefusals(many)), describeRefusals(many))).toBe('user');
});
