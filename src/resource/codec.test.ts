import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { MeridianError } from '../base/errors.ts';
import { writeAny } from '../wire/any.ts';
import { createWriter, finish } from '../wire/fields.ts';
import { decodeKumaResource, encodeKumaResource, normalizeSpec, wireVersion, type WireResource } from './codec.ts';
import { MAX_JSON_DEPTH } from './parse-json-object.ts';
import { typeOf } from './type-registry.ts';
import type { JsonObject } from './types.ts';

const mesh = typeOf('Mesh');
const timeout = typeOf('MeshTimeout');
const service = typeOf('MeshService');
const dataplane = typeOf('Dataplane');

const resource = (fields: Partial<WireResource>): WireResource => ({
  name: 'one',
  mesh: 'default',
  labels: {},
  spec: {},
  status: undefined,
  ...fields,
});

describe('encodeKumaResource', () => {
  it('gives the bytes of the worked example in kds-wire 2.3', () => {
    const bytes = encodeKumaResource(mesh, resource({ name: 'default', mesh: '', labels: { 'kuma.io/origin': 'global' } }));
    expect(bytes.toString('hex')).toBe(
      '0a230a0764656661756c7432180a0e6b756d612e696f2f6f726967696e1206676c6f62616c122d0a2b747970652e676f6f676c65617069732e636f6d2f6b756d612e6d6573682e7631616c706861312e4d657368',
    );
    expect(wireVersion(bytes)).toBe('ee3ed1993ca3721e6609c0fb78bb711a00f96c808af6675986293d420dc0d6d1');
  });

  it('gives equal bytes for equal labels in any order, integer-like keys too', () => {
    const one = encodeKumaResource(timeout, resource({ labels: { b: '1', a: '2', '10': '3', '\u{1F600}': '4', '\uFF5E': '5' } }));
    const other = encodeKumaResource(
      timeout,
      resource({ labels: { '\uFF5E': '5', '\u{1F600}': '4', a: '2', '10': '3', b: '1' } }),
    );
    expect(one.equals(other)).toBe(true);
    const keys = Object.keys(decodeKumaResource(timeout, one).labels);
    expect(keys).toEqual(['10', 'a', 'b', '\uFF5E', '\u{1F600}']);
  });

  it('keeps the order of keys of a JSON spec', () => {
    const bytes = encodeKumaResource(timeout, resource({ spec: { to: [], targetRef: { kind: 'Mesh' } } }));
    expect(bytes.toString('utf8')).toContain('{"to":[],"targetRef":{"kind":"Mesh"}}');
  });

  it('writes a status only for types that have one', () => {
    const status = { vips: [{ ip: '241.0.0.1' }] };
    const of = (info: typeof mesh): WireResource => decodeKumaResource(info, encodeKumaResource(info, resource({ status })));
    expect(of(service).status).toEqual(status);
    expect(of(timeout).status).toBeUndefined();
    expect(decodeKumaResource(service, encodeKumaResource(service, resource({}))).status).toBeUndefined();
  });
});

describe('decodeKumaResource', () => {
  it('reads back any encoded resource', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 });
    const spec = fc.dictionary(text, fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })) as fc.Arbitrary<JsonObject>;
    const any = fc.record({
      name: text,
      mesh: text,
      labels: fc.dictionary(text, text),
      spec,
      status: fc.option(spec, { nil: undefined }),
    });
    fc.assert(
      fc.property(any, (given) => {
        const bytes = encodeKumaResource(service, given);
        const read = decodeKumaResource(service, bytes);
        expect(JSON.stringify(read.spec)).toBe(JSON.stringify(given.spec));
        expect(new Map(Object.entries(read.labels))).toEqual(new Map(Object.entries(given.labels)));
        expect(encodeKumaResource(service, read).equals(bytes)).toBe(true);
      }),
    );
  });

  it('reads __proto__ as an ordinary key', () => {
    const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    const spec = JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject;
    const read = decodeKumaResource(timeout, encodeKumaResource(timeout, resource({ labels, spec })));
    expect(Object.keys(read.labels)).toEqual(['__proto__']);
    expect(JSON.stringify(read.spec)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as JsonObject)['polluted']).toBeUndefined();
  });

  it('refuses a message of another type, and a missing spec', () => {
    const bytes = encodeKumaResource(mesh, resource({}));
    expect(() => decodeKumaResource(dataplane, bytes)).toThrow(
      'cannot read Dataplane "one" of mesh "default": spec has type_url "type.googleapis.com/kuma.mesh.v1alpha1.Mesh"',
    );
    expect(() => decodeKumaResource(mesh, Buffer.alloc(0))).toThrow('spec is missing');
  });

  it.each([
    ['an array', '[]', 'spec must be a JSON object'],
    ['null', 'null', 'spec must be a JSON object'],
    ['no JSON', '{', 'spec is not JSON'],
    ['nothing', '', 'spec is not JSON'],
    ['too deep', '{"a":'.repeat(MAX_JSON_DEPTH + 1), `spec is nested deeper than ${MAX_JSON_DEPTH}`],
  ])('names the resource whose JSON spec is %s', (_, text, reason) => {
    const writer = createWriter();
    writer.uint32(10).fork().uint32(10).string('broken').ldelim();
    writeAny(writer, 2, { typeUrl: 'ignored', value: Buffer.from(text) });
    const read = (): WireResource => decodeKumaResource(timeout, finish(writer));
    expect(read).toThrow(`cannot read MeshTimeout "broken" of mesh "": ${reason}`);
    expect(read).toThrow(MeridianError);
  });

  it('counts the brackets of a spec outside strings only', () => {
    const spec = { text: '[{"\\'.repeat(200) };
    expect(decodeKumaResource(timeout, encodeKumaResource(timeout, resource({ spec }))).spec).toEqual(spec);
  });

  it('throws a MeridianError for any broken bytes', () => {
    const inbound = [{ port: 80, tags: { 'kuma.io/service': 'web' }, serviceProbe: { interval: '1s', tcp: {} } }];
    const whole = encodeKumaResource(
      dataplane,
      resource({ labels: { a: 'b' }, spec: { networking: { address: '::1', inbound } } }),
    );
    const byte = fc.integer({ min: 0, max: 255 });
    const at = fc.nat({ max: whole.length - 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(at, byte), { minLength: 1, maxLength: 4 }), at, (changes, cut) => {
        const bytes = Buffer.from(whole);
        for (const [index, value] of changes) bytes[index] = value;
        for (const broken of [bytes, bytes.subarray(0, cut)]) {
          try {
            decodeKumaResource(dataplane, broken);
          } catch (error) {
            expect(error).toBeInstanceOf(MeridianError);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('normalizeSpec', () => {
  it('does not change JSON specs', () => {
    const spec = { unknown: 1, to: [] };
    expect(normalizeSpec(timeout, spec)).toBe(spec);
  });

  it('writes protobuf specs in the canonical form', () => {
    const given = {
      networking: { transparent_proxying: { redirect_port_inbound: '15006' }, inbound: [{ port: 80, state: 0 }], unknown: 1 },
    };
    expect(normalizeSpec(dataplane, given)).toEqual({
      networking: { inbound: [{ port: 80 }], transparentProxying: { redirectPortInbound: 15006 } },
    });
  });

  it('reports every violation by path', () => {
    const given = { networking: { address: 1, inbound: [{ port: 'x' }, { state: 'Maybe' }] } };
    let thrown: unknown;
    try {
      normalizeSpec(dataplane, given);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(MeridianError);
    expect(thrown).toMatchObject({
      code: 'invalid',
      violations: [
        { field: 'networking.inbound[0].port', reason: 'must be a whole number from 0 to 4294967295' },
        { field: 'networking.inbound[1].state', reason: 'must be one of Ready, NotReady, Ignored' },
        { field: 'networking.address', reason: 'must be a string' },
      ],
    });
  });
});
