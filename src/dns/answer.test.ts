import { decode, encode, RECURSION_DESIRED, type Packet, type RecordType } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { decide, failure, type Decision } from './answer.ts';
import type { MeshNames } from './mesh-names.ts';

const TABLE = new Map([
  ['cart.svc.mesh.local', ['241.0.0.1']],
  ['catalog.svc.mesh.local', ['241.0.0.2', 'fd00:fd00::2']],
  ['pay.example', ['242.0.0.1']],
  ['none.svc.mesh.local', []],
  ['many.svc.mesh.local', Array.from({ length: 20 }, (_, at) => `241.0.1.${String(at)}`)],
]);

const names = (given: Partial<MeshNames> = {}): MeshNames => ({
  table: { lookup: (hostname) => TABLE.get(hostname) },
  isKnown: () => true,
  isWaiting: () => false,
  mapsIpv4: true,
  ...given,
});

function query(name: string, type: string = 'A', more: Packet = {}): Buffer {
  return encode({ id: 7, flags: RECURSION_DESIRED, questions: [{ type: type as RecordType, class: 'IN', name }], ...more });
}

const edns = (udpPayloadSize: number, ednsVersion = 0): Packet => ({
  additionals: [
    { type: 'OPT', name: '.', udpPayloadSize, ednsVersion, extendedRcode: 0, flags: 0x8000, flag_do: true, options: [] },
  ],
});

type Shown = { rcode: string; answers: unknown[]; [flag: string]: unknown };

function shown(decision: Decision): Shown {
  if (decision.kind !== 'answer') throw new Error(`no answer: ${decision.kind}`);
  const { answers = [], ...rest } = decode(decision.bytes);
  const data = answers.map((answer) => `${answer.type} ${String('data' in answer ? answer.data : '')}`);
  return { ...(rest as unknown as Shown), answers: data };
}

describe('decide', () => {
  it.each([
    ['cart.svc.mesh.local', 'A', ['A 241.0.0.1']],
    ['cart.svc.mesh.local', 'AAAA', ['AAAA ::ffff:f100:1']],
    ['catalog.svc.mesh.local', 'A', ['A 241.0.0.2']],
    ['catalog.svc.mesh.local', 'AAAA', ['AAAA fd00:fd00::2']],
    ['catalog.svc.mesh.local', 'ANY', ['A 241.0.0.2', 'AAAA fd00:fd00::2']],
    ['pay.example', 'A', ['A 242.0.0.1']],
    ['cart.svc.mesh.local', 'MX', []],
    ['cart.svc.mesh.local', 'UNKNOWN_65', []],
    ['none.svc.mesh.local', 'A', []],
  ])('answers a query for %s and %s with its records', (name, type, answers) => {
    const decision = decide(query(name, type), names(), 'udp');
    expect(decision).toMatchObject({ kind: 'answer', outcome: 'answered' });
    expect(shown(decision)).toMatchObject({ id: 7, rcode: 'NOERROR', answers, flag_rd: true, flag_ra: true, flag_tc: false });
  });

  it('gives no IPv4-mapped address where the proxy has IPv4 alone', () => {
    const decision = decide(query('cart.svc.mesh.local', 'AAAA'), names({ mapsIpv4: false }), 'udp');
    expect(shown(decision)).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it('finds a name in any case, and repeats the case of the client', () => {
    const asked = query('cArT.SVC.mesh.LOCAL');
    const decision = decide(asked, names(), 'udp');
    expect(shown(decision)).toMatchObject({ answers: ['A 241.0.0.1'], questions: [{ name: 'cArT.SVC.mesh.LOCAL' }] });
    if (decision.kind === 'answer') expect(decision.bytes.subarray(12, asked.length)).toEqual(asked.subarray(12));
  });

  it('says that a name of the mesh does not exist, without a record that lets clients keep that', () => {
    const decision = decide(query('gone.svc.mesh.local'), names(), 'udp');
    expect(decision).toMatchObject({ outcome: 'missing' });
    expect(shown(decision)).toMatchObject({ rcode: 'NXDOMAIN', answers: [], authorities: [] });
  });

  it('says of no name of the mesh that it does not exist before the table was filled', () => {
    const decision = decide(query('cart2.svc.mesh.local'), names({ isKnown: () => false }), 'udp');
    expect(decision).toMatchObject({ outcome: 'notKnownYet' });
    expect(shown(decision)).toMatchObject({ rcode: 'SERVFAIL' });
  });

  it.each(['new.svc.mesh.local', 'new.example'])('says of %s that it failed while it waits for listeners', (name) => {
    const decision = decide(query(name), names({ isWaiting: (hostname) => hostname === name }), 'udp');
    expect(decision).toMatchObject({ outcome: 'notKnownYet' });
    expect(shown(decision)).toMatchObject({ rcode: 'SERVFAIL' });
  });

  it.each([
    ['example.com', 'A'],
    ['cart.svc.mesh.local.corp.example', 'A'],
    ['cart', 'A'],
    ['mesh.local', 'SOA'],
    ['1.0.0.241.in-addr.arpa', 'PTR'],
  ])('forwards a query for %s', (name, type) => {
    const message = query(name, type);
    expect(decide(message, names(), 'udp')).toEqual({ kind: 'forward', end: message.length });
  });

  it('forwards a query of another class', () => {
    const message = encode({ questions: [{ type: 'TXT', class: 'CH', name: 'cart.svc.mesh.local' }] });
    expect(decide(message, names(), 'udp')).toEqual({ kind: 'forward', end: message.length });
  });

  it('says FORMERR to what it cannot read, and nothing to answers', () => {
    const cut = query('cart.svc.mesh.local').subarray(0, 20);
    expect(shown(decide(cut, names(), 'udp'))).toMatchObject({ id: 7, rcode: 'FORMERR', questions: [] });
    const extra = Buffer.from(query('cart.svc.mesh.local'));
    extra.writeUInt16BE(1, 10);
    expect(shown(decide(extra, names(), 'udp'))).toMatchObject({ id: 7, rcode: 'FORMERR' });
    expect(decide(encode({ type: 'response' }), names(), 'udp')).toEqual({ kind: 'none' });
  });

  it.each([
    ['udp', {}, true],
    ['udp', edns(512), true],
    ['udp', edns(100), true],
    ['udp', edns(1_232), false],
    ['tcp', {}, false],
  ] as const)('fits an answer by %s with %j', (transport, more, isCut) => {
    const decision = decide(query('many.svc.mesh.local', 'A', more), names(), transport);
    expect(shown(decision)).toMatchObject({ flag_tc: isCut });
    expect(shown(decision).answers).toHaveLength(isCut ? 0 : 20);
  });

  it('answers EDNS with EDNS, and another version of it with BADVERS', () => {
    const opt = { type: 'OPT', udpPayloadSize: 1_232, ednsVersion: 0, flag_do: true };
    expect(shown(decide(query('cart.svc.mesh.local', 'A', edns(4_096)), names(), 'udp'))).toMatchObject({
      answers: ['A 241.0.0.1'],
      additionals: [{ ...opt, extendedRcode: 0 }],
    });
    expect(shown(decide(query('cart.svc.mesh.local', 'A', edns(4_096, 1)), names(), 'udp'))).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
      additionals: [{ ...opt, extendedRcode: 1 }],
    });
  });

  it('answers any bytes with a message that can be read, or not at all', () => {
    const name = fc.constantFrom(...TABLE.keys(), 'gone.svc.mesh.local', 'example.com');
    const type = fc.constantFrom('A', 'AAAA', 'ANY', 'TXT', 'UNKNOWN_64');
    const size = fc.nat(65_535);
    const asked = fc.tuple(name, type, size, fc.boolean()).map(([host, of, bytes, hasEdns]) => {
      return query(host, of, hasEdns ? edns(bytes) : {});
    });
    const edits = fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(asked, edits, fc.uint8Array({ maxLength: 40 }), fc.nat(120), (message, edited, tail, length) => {
        const bytes = Buffer.concat([message, tail]).subarray(0, message.length + tail.length - Math.max(0, length - 80));
        for (const [at, value] of edited) if (at < bytes.length) bytes[at] = value;
        const decision = decide(bytes, names(), 'udp');
        if (decision.kind === 'forward') expect(decode(failure(bytes, decision.end)).id).toBe(bytes.readUInt16BE(0));
        if (decision.kind !== 'answer') return;
        const { id, type: kind } = decode(decision.bytes);
        expect({ id, kind }).toEqual({ id: bytes.readUInt16BE(0), kind: 'response' });
      }),
    );
  });
});

describe('failure', () => {
  it('repeats the question byte for byte', () => {
    const message = query('Example.com', 'UNKNOWN_64', edns(1_232));
    const end = query('Example.com', 'UNKNOWN_64').length;
    const answer = failure(message, end);
    expect(decode(answer)).toMatchObject({ id: 7, rcode: 'SERVFAIL', flag_rd: true, flag_ra: true, additionals: [] });
    expect(answer.subarray(12)).toEqual(message.subarray(12, end));
  });

  it('has no question where there was not one', () => {
    expect(decode(failure(encode({ id: 9 }), 12))).toMatchObject({ id: 9, rcode: 'SERVFAIL', questions: [] });
  });
});
