// The content of a NACK: resource names for a peer that reads details, a text for people and Kuma peers.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { decodeDeltaRequest, encodeDeltaRequest } from '../../wire/kds-messages.ts';
import { isStorable } from '../../resource/storable-text.ts';
import {
  nackMessage,
  MAX_NAMED,
  nackFaultOf,
  readNackDetails,
  nackedResource,
  writeNackDetails,
  type NackedResource,
} from './nack.ts';

const text = fc.string({ unit: 'binary', maxLength: 40 });
const refusal = fc.record({
  type: text,
  name: text,
  mesh: text,
  reason: fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
});

const SLOW: NackedResource = { type: 'MeshTimeout', name: 'slow', mesh: 'default', reason: 'spec.to: must be a list' };
const TYPE_URL = writeNackDetails([SLOW])[0]?.typeUrl ?? '';
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** The details as the peer reads them out of a request. */
function overTheWire(refusals: readonly NackedResource[]): NackedResource[] {
  const errorDetail = { code: 0, message: nackMessage(refusals), details: writeNackDetails(refusals) };
  const bytes = encodeDeltaRequest({
    ...{ node: { id: 'east' }, typeUrl: 'MeshTimeout', subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map<string, string>(), responseNonce: '1', errorDetail },
  });
  return readNackDetails(decodeDeltaRequest(bytes).errorDetail?.details ?? []);
}

describe('refusals', () => {
  it.each([`${'x'.repeat(999)}😀`, 'a\0b', 'half \ud83d'])('give a reason that can be stored', (text) => {
    expect(isStorable(nackedResource('MeshTimeout', SLOW, text).reason)).toBe(true);
  });

  it('are read back as they were written', () => {
    fc.assert(
      fc.property(fc.array(refusal, { maxLength: 10 }), (refusals) => {
        expect(readNackDetails(writeNackDetails(refusals))).toEqual(refusals);
        expect(overTheWire(refusals)).toEqual(refusals);
      }),
    );
  });

  it.each<[string, { typeUrl: string; value: Uint8Array }]>([
    ['another type', { typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: json(SLOW) }],
    ['no type', { typeUrl: '', value: json(SLOW) }],
    ['no value', { typeUrl: TYPE_URL, value: new Uint8Array() }],
    ['half a JSON', { typeUrl: TYPE_URL, value: json(SLOW).subarray(0, 20) }],
    ['bytes that are no text', { typeUrl: TYPE_URL, value: Buffer.from('ff00fe', 'hex') }],
    ['null', { typeUrl: TYPE_URL, value: json(null) }],
    ['a list', { typeUrl: TYPE_URL, value: json([SLOW]) }],
    ['a string', { typeUrl: TYPE_URL, value: json('slow') }],
    ['a missing field', { typeUrl: TYPE_URL, value: json({ ...SLOW, reason: undefined }) }],
    ['a field of another type', { typeUrl: TYPE_URL, value: json({ ...SLOW, mesh: null }) }],
  ])('are read without details that have %s', (_, foreign) => {
    expect(readNackDetails([foreign, ...writeNackDetails([SLOW]), foreign])).toEqual([SLOW]);
  });

  it('are not read from inherited properties', () => {
    const value = Buffer.from('{"__proto__":{"type":"a","name":"b","mesh":"c","reason":"d"}}');
    expect(readNackDetails([{ typeUrl: TYPE_URL, value }])).toEqual([]);
  });

  it('are written as a text with the beginning that Kuma expects and a line for each resource (kds-wire 6.2)', () => {
    expect(nackMessage([{ type: 'Secret', name: 'x', mesh: 'm', reason: 'resource already exists' }])).toBe(
      'user error\nresource already exists: type="Secret" name="x" mesh="m"',
    );
    expect(nackMessage([SLOW, SLOW]).split('\n')).toHaveLength(3);
  });

  it('have quoted names, so that no name looks like another line', () => {
    const [first, ...lines] = nackMessage([{ ...SLOW, name: 'a"\nuser error\nb' }]).split('\n');
    expect([first, lines.length]).toEqual(['user error', 1]);
  });
});

describe('the fault that a NACK reports', () => {
  const refusals = (count: number) =>
    Array.from({ length: count }, (_, index) => nackedResource('MeshTimeout', { name: `t${String(index)}`, mesh: 'shop' }, 'no'));

  it('is the fault of a user when the details name a resource, for any text', () => {
    expect(nackFaultOf(readNackDetails(writeNackDetails(refusals(1))), '')).toBe('user');
    expect(nackFaultOf(readNackDetails(writeNackDetails(refusals(1))), 'spec.to[0]: must be given')).toBe('user');
  });

  it.each([
    ['user error\nresource already exists: type="Secret" name="x" mesh="m"', 'user'],
    ['spec.to[0]: must be given', 'other'],
    ['the text of a user error', 'other'],
    ['', 'other'],
  ])('of a peer that sends only the text %j is of kind %s', (message, fault) => {
    expect(nackFaultOf([], message)).toBe(fault);
  });

  it('is the fault of a user in our own NACK with more resources than it names', () => {
    const many = refusals(MAX_NAMED + 1);
    expect(nackFaultOf(readNackDetails(writeNackDetails(many)), nackMessage(many))).toBe('user');
  });
});
