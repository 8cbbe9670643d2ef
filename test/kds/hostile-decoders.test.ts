// For any bytes from a peer, a decoder returns a value or throws an Error, and no prototype changes.
import { fc } from '../support/property.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { globalReceiveRules } from '../../src/kds/protocol/rules.ts';
import { decodeKumaResource, encodeKumaResource } from '../../src/resource/codec.ts';
import { resourceTypes, typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { createWriter, lengthTag } from '../../src/wire/fields.ts';
import { decodeDeltaRequest, decodeDeltaResponse, encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { decodeStruct, encodeStruct } from '../../src/wire/struct.ts';
import { mutated, requestBytes, resourceBytes, responseBytes } from './mutated-frames.ts';

const MIB = 1024 * 1024;

/** The result of a decoder, or null if it throws; it must throw an Error with a sentence. */
function returned<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).not.toBe('');
    return null;
  }
}

const prototypeOf = (): unknown[] => [
  Object.getOwnPropertyNames(Object.prototype),
  Object.getOwnPropertyNames(Array.prototype),
  Object.getOwnPropertyNames(Map.prototype),
];
const untouched = prototypeOf();

describe('decoders of mutated frames', () => {
  afterEach(() => {
    expect(prototypeOf()).toEqual(untouched);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('return a request or throw an Error', () => {
    fc.assert(
      fc.property(mutated(requestBytes), (bytes) => {
        const request = returned(() => decodeDeltaRequest(bytes));
        if (request === null) return;
        expect(request.typeUrl).toBeTypeOf('string');
        expect(decodeDeltaRequest(encodeDeltaRequest(request))).toEqual(request);
      }),
      { numRuns: 5_000 },
    );
  });

  it('return a response or throw an Error', () => {
    fc.assert(
      fc.property(mutated(responseBytes), (bytes) => {
        const response = returned(() => decodeDeltaResponse(bytes));
        if (response === null) return;
        for (const { name, version, resource } of response.resources) {
          expect([typeof name, typeof version]).toEqual(['string', 'string']);
          expect(resource).toBeInstanceOf(Uint8Array);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('return a resource that can be sent, or throw an Error, for every type', () => {
    fc.assert(
      fc.property(mutated(resourceBytes), fc.constantFrom(...resourceTypes), (bytes, info) => {
        const resource = returned(() => decodeKumaResource(info, bytes));
        if (resource === null) return;
        expect(decodeKumaResource(info, encodeKumaResource(info, resource))).toEqual(resource);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['a request', (bytes: Uint8Array) => decodeDeltaRequest(bytes)],
    ['a response', (bytes: Uint8Array) => decodeDeltaResponse(bytes)],
    ['a resource', (bytes: Uint8Array) => decodeKumaResource(typeOf('Dataplane'), bytes)],
  ] as const)('return %s or throw an Error for bytes of any kind', (_, decode) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void returned(() => decode(bytes))),
      { numRuns: 3_000 },
    );
  });

  it('throw an Error for nested groups, and do not exhaust the stack', () => {
    const groups = Buffer.alloc(2 * MIB, 0x0b);
    for (const decode of [decodeDeltaRequest, decodeDeltaResponse]) expect(returned(() => decode(groups))).toBeNull();
    expect(returned(() => decodeKumaResource(typeOf('Dataplane'), groups))).toBeNull();
  });

  it('throw an Error for JSON nested 100,000 deep', () => {
    const info = typeOf('MeshTimeout');
    const ofSpec = (text: string): Buffer => lengthDelimited(2, lengthDelimited(2, Buffer.from(text)));
    expect(decodeKumaResource(info, ofSpec('{"a":[[]]}')).spec).toEqual({ a: [[]] });
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(returned(() => decodeKumaResource(info, ofSpec(deep)))).toBeNull();
  });

  it('keep __proto__ as an ordinary key, also in the rules', () => {
    const evil = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as JsonObject;
    const labels = JSON.parse('{"__proto__":"polluted"}') as Record<string, string>;
    const tags = JSON.parse('{"__proto__":"polluted","kuma.io/zone":"west"}') as JsonObject;
    expect(Object.keys(decodeStruct(encodeStruct(evil))).sort()).toEqual(['__proto__', 'constructor'].sort());
    const dataplane = { networking: { address: '10.0.0.1', gateway: { tags } } };
    for (const [type, spec] of [
      ['MeshTimeout', evil],
      ['Dataplane', dataplane],
    ] as const) {
      const info = typeOf(type);
      const sent = encodeKumaResource(info, { name: 'x', mesh: 'default', labels, spec, status: undefined });
      const taken = globalReceiveRules('east', { hashedNames: true }).rewrite(decodeKumaResource(info, sent), info);
      expect(Object.keys(taken.labels)).toContain('__proto__');
      expect(JSON.stringify(taken.spec)).toContain('"__proto__"');
    }
  });
});

function lengthDelimited(field: number, value: Uint8Array): Buffer {
  return Buffer.from(createWriter().uint32(lengthTag(field)).bytes(value).finish());
}
