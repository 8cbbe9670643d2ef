// Both directions of the proto3 JSON mapping: json-to-binary.ts and binary-to-json.ts.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { binaryToProtoJson } from './binary-to-json.ts';
import { createWriter, lengthTag } from './fields.ts';
import { protoJsonToBinary } from './json-to-binary.ts';
import { planOf, type FieldPlan, type MessagePlan, type ValuePlan } from './message-plan.ts';
import { ProtoJsonError } from './proto-error.ts';
import type { StructObject, StructValue } from './struct.ts';

const MESH = 'kuma.mesh.v1alpha1.';
const SYSTEM = 'kuma.system.v1alpha1.';
const SPECS = ['Mesh', 'Dataplane', 'DataplaneInsight', 'MeshInsight', 'ServiceInsight'].map((name) => MESH + name);
const SYSTEM_SPECS = ['Secret', 'Config', 'Zone', 'ZoneInsight'].map((name) => SYSTEM + name);

const hex = (message: string, json: StructObject): string => Buffer.from(protoJsonToBinary(message, json)).toString('hex');
const there = (message: string, json: StructObject): StructObject => binaryToProtoJson(message, protoJsonToBinary(message, json));

describe('proto3 JSON → binary', () => {
  it('writes fields by number and map keys by their UTF-8 bytes', () => {
    const one = hex(`${MESH}Dataplane`, { networking: { gateway: { tags: { b: '1', a: '2', '10': '3' } }, address: '::1' } });
    const other = hex(`${MESH}Dataplane`, { networking: { address: '::1', gateway: { tags: { a: '2', '10': '3', b: '1' } } } });
    expect(one).toBe(other);
    expect(one).toBe('0a201a190a070a023130120133' + '0a060a0161120132' + '0a060a0162120131' + '2a033a3a31');
  });

  it('uses the numbers of D15 and D17', () => {
    expect(hex(`${MESH}Dataplane`, { networking: { inbound: [{ tags: { a: 'b' } }] } })).toBe('0a0a0a0812060a0161120162');
    expect(hex(`${MESH}Dataplane`, { networking: { zoneIngress: { address: 'a' } } })).toBe('0a06923f030a0161');
    expect(hex(`${MESH}Dataplane`, { networking: { zoneEgress: { name: 'e' } } })).toBe('0a069a3f031a0165');
  });

  it('keeps empty messages and omits defaults', () => {
    const json = { networking: { inbound: [{ serviceProbe: { tcp: {} }, port: 0, address: '', state: 'Ready' }] } };
    expect(there(`${MESH}Dataplane`, json)).toEqual({ networking: { inbound: [{ serviceProbe: { tcp: {} } }] } });
    expect(there(`${SYSTEM}Zone`, { enabled: false })).toEqual({ enabled: false });
    expect(there(`${SYSTEM}Zone`, { enabled: null })).toEqual({});
  });

  it('accepts original names or camelCase names, but not both', () => {
    expect(there(`${MESH}Dataplane`, { networking: { zone_ingress: { advertised_port: '1' } } })).toEqual({
      networking: { zoneIngress: { advertisedPort: 1 } },
    });
    expect(() => hex(`${MESH}Dataplane`, { networking: { zone_ingress: {}, zoneIngress: {} } })).toThrow(
      'networking.zone_ingress: is given twice; keep zoneIngress alone',
    );
  });

  it('ignores unknown keys, unless it is strict', () => {
    const json = { networking: { adress: 'x', advertisedAddress: 'y' }, kind: 'z' };
    expect(hex(`${MESH}Dataplane`, json)).toBe('0a00');
    expect(() => protoJsonToBinary(`${SYSTEM}Zone`, { enable: true }, { strict: true })).toThrow(
      'enable: is no field; allowed: enabled',
    );
    expect(violationsOf(() => protoJsonToBinary(`${MESH}Dataplane`, json, { strict: true }))).toEqual([
      'networking.adress',
      'kind',
    ]);
  });

  it.each<[message: string, json: StructObject, error: string]>([
    [`${MESH}Mesh`, { skipCreatingInitialPolicies: 'x' }, 'skipCreatingInitialPolicies: must be a list'],
    [`${MESH}Mesh`, { skipCreatingInitialPolicies: [null] }, 'skipCreatingInitialPolicies[0]: must be a string'],
    [`${MESH}Mesh`, { skipCreatingInitialPolicies: ['\uD800'] }, 'skipCreatingInitialPolicies[0]: must be a string'],
    [`${MESH}Dataplane`, { networking: [] }, 'networking: must be an object'],
    [
      `${MESH}Dataplane`,
      { networking: { inbound: [{ port: -1 }] } },
      'networking.inbound[0].port: must be a whole number from 0 to 4294967295',
    ],
    [`${MESH}Dataplane`, { networking: { inbound: [{ port: 1.5 }] } }, 'networking.inbound[0].port'],
    [`${MESH}Dataplane`, { networking: { inbound: [{ state: 'toString' }] } }, 'must be one of Ready, NotReady, Ignored'],
    [`${MESH}Dataplane`, { networking: { inbound: [{ state: '1' }] } }, 'must be one of Ready, NotReady, Ignored'],
    [`${MESH}Dataplane`, { networking: { gateway: { type: 'BUILTIN' } } }, 'networking.gateway.type: must be one of DELEGATED'],
    [`${MESH}Dataplane`, { networking: { inbound: [{ tags: { a: 1 } }] } }, 'networking.inbound[0].tags["a"]: must be a string'],
    [`${MESH}Dataplane`, { networking: { inbound: [{ serviceProbe: { interval: '1m' } }] } }, 'must be a duration in seconds'],
    [`${SYSTEM}ZoneInsight`, { healthCheck: { time: '2026-02-30T00:00:00Z' } }, 'healthCheck.time: must be an RFC 3339 time'],
    [`${SYSTEM}Zone`, { enabled: 'true' }, 'enabled: must be true or false'],
    ...['no base64!', 'a', 'abcde', 'YQ=', 'abc==', 'a===', '=', 'a+b_'].map((data): [string, StructObject, string] => [
      `${SYSTEM}Secret`,
      { data },
      'data: must be base64',
    ]),
    [
      `${SYSTEM}ZoneInsight`,
      { subscriptions: [{ status: { total: { responsesSent: '18446744073709551616' } } }] },
      'from 0 to 18446744073709551615',
    ],
  ])('refuses values that do not fit: %s %j', (message, json, error) => {
    expect(() => protoJsonToBinary(message, json)).toThrow(ProtoJsonError);
    expect(() => protoJsonToBinary(message, json)).toThrow(error);
  });
});

it.each(['', 'YQ==', 'YQ', 'YWI=', 'YWI', 'YWJj', '-_-_', '+/+/'])('takes %j as base64', (data) => {
  const { data: back = '' } = binaryToProtoJson(`${SYSTEM}Secret`, protoJsonToBinary(`${SYSTEM}Secret`, { data }));
  expect(back).toBe(Buffer.from(data, 'base64').toString('base64'));
});

describe('binary → proto3 JSON', () => {
  it.each<[message: string, json: StructObject]>([
    [`${SYSTEM}Secret`, { data: 'aGVsbG8=' }],
    [`${SYSTEM}ZoneInsight`, { subscriptions: [{ status: { total: { responsesSent: '18446744073709551615' } } }] }],
    [`${SYSTEM}ZoneInsight`, { healthCheck: { time: '2026-11-21T04:05:06Z' } }],
    [`${SYSTEM}ZoneInsight`, { healthCheck: { time: '1969-12-31T23:59:59.500Z' } }],
    [`${SYSTEM}ZoneInsight`, { healthCheck: { time: '0001-01-01T00:00:00.000001Z' } }],
    [
      `${MESH}Dataplane`,
      { networking: { inbound: [{ serviceProbe: { interval: '0.500s', timeout: '-1.000000001s', tcp: {} } }] } },
    ],
    [`${MESH}Dataplane`, { networking: { inbound: [{ state: 'NotReady' }, { state: 7 }] } }],
    [`${MESH}DataplaneInsight`, { metadata: { a: [1, 'x', null, true, { b: {} }, []], c: -1.5e300 } }],
    [`${MESH}ServiceInsight`, { services: { '': { status: 'online', issuedBackends: { ca: 0 } } } }],
  ])('reads back %s %j', (message, json) => {
    expect(there(message, json)).toEqual(json);
  });

  it('writes times and durations in the canonical form', () => {
    const time = (text: string): StructValue | undefined =>
      there(`${SYSTEM}ZoneInsight`, { healthCheck: { time: text } })['healthCheck'];
    expect(time('2026-11-21T06:05:06.1200+02:00')).toEqual({ time: '2026-11-21T04:05:06.120Z' });
    expect(time('2026-11-21t04:05:06.123456789z')).toEqual({ time: '2026-11-21T04:05:06.123456789Z' });
  });

  it('merges the parts of a message, takes the last scalar, and ignores unknown fields', () => {
    const networking = (text: string): Buffer => Buffer.from(hex(`${MESH}Dataplane`, { networking: { address: text } }), 'hex');
    const admin = Buffer.from(hex(`${MESH}Dataplane`, { networking: { admin: { port: 1 } } }), 'hex');
    const unknown = Buffer.from('f83f05', 'hex');
    const read = binaryToProtoJson(`${MESH}Dataplane`, Buffer.concat([networking('a'), admin, unknown, networking('b')]));
    expect(read).toEqual({ networking: { address: 'b', admin: { port: 1 } } });
  });

  it.each([
    ['a string that is not UTF-8', `${SYSTEM}Config`, '0a02c328'],
    ['a length past the end', `${SYSTEM}Config`, '0a05'],
    ['field number 0', `${SYSTEM}Config`, '0201'],
    ['an open group', `${SYSTEM}Config`, '1b'],
    ['a time past the year 9999', `${SYSTEM}ZoneInsight`, '1a0a0a0808808080808020'],
  ])('refuses %s', (_, message, bytes) => {
    expect(() => binaryToProtoJson(message, Buffer.from(bytes, 'hex'))).toThrow(`cannot read ${message}: `);
  });

  it('refuses deep nesting, in both directions', () => {
    expect(() => hex(`${MESH}DataplaneInsight`, { metadata: { a: nested(101) } })).toThrow('metadata: nested deeper than 100');
    expect(there(`${MESH}DataplaneInsight`, { metadata: { a: nested(99) } })).toEqual({ metadata: { a: nested(99) } });
    let value: Uint8Array = Buffer.alloc(0);
    for (let depth = 0; depth < 3000; depth += 1) value = field(6, field(1, value));
    const metadata = field(3, field(1, field(2, value)));
    expect(() => binaryToProtoJson(`${MESH}DataplaneInsight`, metadata)).toThrow('nested deeper than 100');
  });
});

describe.each([...SPECS, ...SYSTEM_SPECS])('%s', (message) => {
  it('is stable from JSON to binary to JSON to binary', () => {
    fc.assert(
      fc.property(arbitraryMessage(planOf(message)), (json) => {
        const bytes = protoJsonToBinary(message, json);
        const read = binaryToProtoJson(message, bytes);
        const again = protoJsonToBinary(message, read, { strict: true });
        expect(Buffer.compare(again, bytes)).toBe(0);
        expect(binaryToProtoJson(message, again)).toEqual(read);
      }),
      { numRuns: 50 },
    );
  });

  it('throws an Error or returns a value for any bytes', () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(arbitraryMessage(planOf(message)), fc.array(change, { maxLength: 4 }), fc.nat(), (json, changes, cut) => {
        const bytes = Buffer.from(protoJsonToBinary(message, json));
        for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
        for (const broken of [bytes, bytes.subarray(0, cut % (bytes.length + 1))]) {
          try {
            protoJsonToBinary(message, binaryToProtoJson(message, broken), { strict: true });
          } catch (error) {
            expect(String(error)).toContain(`cannot read ${message}`);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

function arbitraryMessage(plan: MessagePlan): fc.Arbitrary<StructObject> {
  const fields = plan.fields.map((field): [string, fc.Arbitrary<StructValue>] => [field.jsonName, arbitraryField(field)]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] }) as fc.Arbitrary<StructObject>;
}

function arbitraryField({ shape, value }: FieldPlan): fc.Arbitrary<StructValue> {
  const one = arbitraryValue(value);
  if (shape === 'list') return fc.array(one, { maxLength: 3 });
  return shape === 'map' ? fc.dictionary(text, one, { maxKeys: 3, noNullPrototype: true }) : one;
}

const text = fc.string({ unit: 'binary', maxLength: 8 });

function arbitraryValue(plan: ValuePlan): fc.Arbitrary<StructValue> {
  if (plan.kind === 'enum') return fc.constantFrom<StructValue>(...plan.numbers.keys(), 99);
  if (plan.kind === 'message') return arbitraryWellKnown(plan.message);
  switch (plan.type) {
    case 'string':
      return text;
    case 'bytes':
      return fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.integer();
    case 'uint32':
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    default:
      return fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String);
  }
}

function arbitraryWellKnown(plan: MessagePlan): fc.Arbitrary<StructValue> {
  switch (plan.wellKnown) {
    case 'Duration':
      return fc.tuple(fc.integer(), fc.nat({ max: 999_999_999 })).map(([s, n]) => `${s}.${String(n).padStart(9, '0')}s`);
    case 'Timestamp':
      return fc
        .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString());
    case 'Struct':
      return fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }) as fc.Arbitrary<StructObject>;
    case 'wrapper':
      return arbitraryValue(plan.fields[0]?.value ?? { kind: 'scalar', type: 'bool' });
    default:
      return arbitraryMessage(plan);
  }
}

function violationsOf(run: () => unknown): string[] {
  try {
    run();
    return [];
  } catch (error) {
    return error instanceof ProtoJsonError ? error.violations.map(({ field }) => field) : [String(error)];
  }
}

function nested(depth: number): StructValue {
  let value: StructValue = null;
  for (let i = 0; i < depth; i += 1) value = [value];
  return value;
}

/** A length-delimited field. */
function field(number: number, bytes: Uint8Array): Uint8Array {
  return createWriter().uint32(lengthTag(number)).bytes(bytes).finish();
}
