// The limits of what is read of a peer's words, at the border of each.
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { MeridianError, type ErrorCode } from '../../base/errors.ts';
import { runSteps } from '../../base/steps.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { DeltaResponse } from '../../wire/kds-messages.ts';
import { encodeStruct } from '../../wire/struct.ts';
import { readResponse, type ReadResponse } from './incoming.ts';
import { splitWireName } from '../protocol/wire-name.ts';
import { nackedResource, nackFaultOf, nackMessage, readNackDetails, writeNackDetails } from '../protocol/nack.ts';
import { readNodeMetadata } from '../protocol/node.ts';
import { peerNameViolations } from '../protocol/peer-names.ts';
import { globalReceiveRules } from '../protocol/rules.ts';
import { StatusError, statusOf } from '../../grpc/status.ts';
import { missingName, noZone } from '../server/zone-refusals.ts';

const long = (length: number): string => 'a'.repeat(length);

describe('the metadata of a node', () => {
  it('has texts up to their limits, and longer ones read as empty', () => {
    const read = (length: number): unknown => {
      const text = long(length);
      const kumaCp = { version: text, gitTag: text, gitCommit: text, buildDate: text };
      const { node } = readNodeMetadata(encodeStruct({ version: { kumaCp }, 'control-plane-id': text, features: [text, 'b'] }));
      return [...Object.values(node.version), node.instanceId, ...node.features];
    };
    expect(read(200)).toEqual([...Array.from({ length: 6 }, () => long(200)), 'b']);
    expect(read(201)).toEqual(['', '', '', '', '', 'b']);
  });

  it('has a configuration of up to 100,000 characters, and 100 features', () => {
    const read = (config: string, features: number): [number, number] => {
      const names = Array.from({ length: features }, (_, n) => `f${String(n)}`);
      const { node } = readNodeMetadata(encodeStruct({ config, features: names }));
      return [node.config.length, node.features.length];
    };
    expect(read(long(100_000), 100)).toEqual([100_000, 100]);
    expect(read(long(100_001), 101)).toEqual([0, 100]);
  });

  it('has at most a MiB', () => {
    const sized = (bytes: number): Uint8Array => {
      const overhead = encodeStruct({ a: long(1_040_000) }).length - 1_040_000;
      return encodeStruct({ a: long(bytes - overhead) });
    };
    const [fits, tooLarge] = [sized(1_048_576), sized(1_048_577)];
    expect([fits.length, tooLarge.length]).toEqual([1_048_576, 1_048_577]);
    expect(readNodeMetadata(fits).node.features).toEqual([]);
    expect(() => readNodeMetadata(tooLarge)).toThrow('at most 1048576 are read');
  });

  it('resumes where it says so in the right form', () => {
    for (const said of [true, false, 'true', 1])
      expect(readNodeMetadata(encodeStruct({ 'meridian-resume': said })).resumes).toBe(said === true);
  });
});

describe('the name of a resource of a peer', () => {
  const fields = (type: string, name: string, mesh: string, labels: Record<string, string> = {}): string[] =>
    peerNameViolations(typeOf(type), { name, mesh, labels }).map(({ field }) => field);

  it('has at most 253 characters, and the name of its mesh 100', () => {
    expect(fields('MeshTimeout', long(253), long(100))).toEqual([]);
    expect(fields('MeshTimeout', long(254), long(101))).toEqual(['name', 'mesh']);
    expect(fields('Mesh', 'a', 'b')).toEqual(['mesh']);
    expect(fields('MeshTimeout', 'a', '')).toEqual(['mesh']);
  });

  it('has visible labels, and a display name that is a name', () => {
    expect(fields('Mesh', 'a', '', { 'kuma.io/display-name': 'b c', other: 'b c' })).toEqual(['labels["kuma.io/display-name"]']);
    expect(fields('Mesh', 'a', '', { other: 'b\u202ec', '\u0007': 'd' })).toEqual(['labels["other"]', 'labels["\\u0007"]']);
  });
});

describe('a NACK', () => {
  const refused = (count: number, name = 'r'): ReturnType<typeof nackedResource>[] =>
    Array.from({ length: count }, (_, n) =>
      nackedResource('T', { name: `${name}${String(n)}`, mesh: 'm' }, `reason ${String(n)}`),
    );

  it('names a thousand resources, the first hundred with their reasons, and none of more', () => {
    const named = readNackDetails(writeNackDetails(refused(1_000)));
    expect(named.map(({ name }) => name)).toEqual(refused(1_000).map(({ name }) => name));
    expect([named[99]?.reason, named[100]?.reason]).toEqual(['reason 99', 'the peer gave the reasons of other resources alone']);
    expect(writeNackDetails(refused(1_001))).toEqual([]);
  });

  it('has a line for each of a hundred resources, and counts the others', () => {
    expect(nackMessage(refused(1))).toBe('user error\nreason 0: type="T" name="r0" mesh="m"');
    expect(nackMessage(refused(100)).split('\n')).toHaveLength(101);
    expect(nackMessage(refused(103)).split('\n').slice(101)).toEqual(['and 3 more']);
  });

  it('has names of 600 characters and reasons of a thousand', () => {
    const [detail] = readNackDetails(writeNackDetails([nackedResource('T', { name: long(700), mesh: long(700) }, long(2_000))]));
    expect(detail?.reason).toHaveLength(1_000);
    for (const text of [detail?.name, detail?.mesh]) expect([text?.length, text?.slice(0, 599)]).toEqual([600, long(599)]);
  });

  it('is the fault of a person where it names a resource or begins as that of Kuma', () => {
    expect(nackFaultOf(refused(1), 'anything')).toBe('user');
    expect(nackFaultOf([], 'user error: bad')).toBe('user');
    expect(nackFaultOf([], 'no user error')).toBe('other');
  });

  it('ignores details of another kind or form', () => {
    const value = (json: unknown): Buffer => Buffer.from(JSON.stringify(json));
    const [{ typeUrl } = { typeUrl: '' }] = writeNackDetails(refused(1));
    const good = { type: 'T', name: 'a', mesh: '', reason: 'bad' };
    const details = [good, null, 'a', { ...good, mesh: 1 }, { type: 'T' }].map((json) => ({ typeUrl, value: value(json) }));
    expect(readNackDetails([...details, { typeUrl, value: Buffer.from('{') }, { typeUrl: 'other', value: value(good) }])).toEqual(
      [good],
    );
  });
});

describe('a response', () => {
  const info = typeOf('MeshTimeout');
  const rules = globalReceiveRules('east', { hashedNames: true });
  const read = (response: Partial<DeltaResponse>, maxBytes?: number): ReadResponse =>
    runSteps(
      readResponse(
        info,
        {
          typeUrl: 'MeshTimeout',
          nonce: '',
          resources: [],
          controlPlane: '',
          isPartial: false,
          removedResources: [],
          ...response,
        },
        rules,
        () => [],
        maxBytes,
      ),
    );

  it('has resources up to the limit of bytes', () => {
    const resource = { name: 'a.default', version: '', resource: Buffer.alloc(11), anyTypeUrl: '' };
    const reasons = (maxBytes?: number): string[] =>
      read({ resources: [resource] }, maxBytes).refusals.map(({ reason }) => reason);
    expect(reasons(10)).toEqual([expect.stringContaining('the resource has 11 bytes, global takes 10')]);
    for (const most of [11, undefined]) expect(reasons(most)).toEqual([expect.not.stringContaining('global takes')]);
  });

  it.each([
    ['a.default', { name: 'a', mesh: 'default' }],
    ['a.b.default', { name: 'a.b', mesh: 'default' }],
    ['a.', { name: 'a', mesh: '' }],
    ['a', { name: 'a', mesh: '' }],
    ['.default', { name: '', mesh: 'default' }],
  ])('names %s', (wireName, expected) => {
    expect(splitWireName(wireName)).toEqual(expected);
  });
});

describe('the status of a fault', () => {
  it.each<[ErrorCode, status]>([
    ['invalid', status.INVALID_ARGUMENT],
    ['bad_request', status.INVALID_ARGUMENT],
    ['too_large', status.INVALID_ARGUMENT],
    ['forbidden', status.UNAUTHENTICATED],
    ['conflict', status.ABORTED],
    ['unavailable', status.UNAVAILABLE],
    ['config', status.INTERNAL],
  ])('%s is %i', (code, expected) => {
    expect(statusOf(new MeridianError(code, 'text'))).toMatchObject({ code: expected, details: 'text' });
  });

  it('has its own code where it has one, and a text of a thousand characters', () => {
    const own = new StatusError(status.CANCELLED, long(1_001));
    expect(statusOf(own)).toBe(own);
    expect(own.details).toHaveLength(1_000);
    expect(statusOf(new Error('broken'))).toMatchObject({ code: status.INTERNAL, details: 'broken' });
  });

  it('of a name that no zone can have is internal, other faults stay', () => {
    const [invalid, gone] = [new MeridianError('invalid', 'no label'), new MeridianError('unavailable', 'gone')];
    expect(noZone(invalid)).toMatchObject({ code: status.INTERNAL, details: 'stream failed: no label' });
    for (const fault of [gone, 'text']) expect(noZone(fault)).toBe(fault);
    expect(missingName('globalToZone', invalid).code).toBe(status.UNKNOWN);
    expect(missingName('zoneToGlobal', invalid).code).toBe(status.UNKNOWN);
    expect(missingName('stats', invalid).code).toBe(status.INVALID_ARGUMENT);
  });
});
