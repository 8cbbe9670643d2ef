// Answers to queries for mesh names, as bytes of DNS messages. Pure. Invariants: an answer fits its transport, and repeats the question in
// the case that the client wrote.
import { isIPv4, isIPv6 } from 'node:net';
import {
  AUTHORITATIVE_ANSWER,
  CHECKING_DISABLED,
  decode,
  DNSSEC_OK,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  type Answer,
  type OptAnswer,
  type Packet,
  type Question,
} from 'dns-packet';
import { isMeshName, type MeshNames } from './mesh-names.ts';
import { HEADER_BYTES, QUESTION_COUNT, readMessage, tried } from './question.ts';

/** What became of a message that is not forwarded. */
export type Outcome = 'answered' | 'missing' | 'notKnownYet' | 'malformed';

export type Decision =
  | { readonly kind: 'answer'; readonly bytes: Buffer; readonly outcome: Outcome }
  /** `end` is the offset behind the question. */
  | { readonly kind: 'forward'; readonly end: number }
  /** A message that wants no answer. */
  | { readonly kind: 'none' };

const RCODE = { ok: 0, malformed: 1, failed: 2, missing: 3 } as const;

/** Seconds. An address of a service does not change while the service exists. */
const TTL = 30;
/** Bytes of an answer by UDP to a client that names no other size. */
const LEAST_UDP_BYTES = 512;
/** Bytes of an answer that this server can take by UDP without fragments. */
const OWN_UDP_BYTES = 1_232;
/** Bytes of a query for a mesh name. Nothing longer is read. */
const MAX_QUERY_BYTES = 4_096;
const MAX_BYTES = 65_535;
/** The higher bits of BADVERS. */
const BAD_VERSION = 1;

/**
 * What to do with a message of a client.
 * @param transport how it came: an answer by UDP has at most the bytes that the client takes
 */
export function decide(message: Buffer, names: MeshNames, transport: 'udp' | 'tcp'): Decision {
  const read = readMessage(message);
  if (read.kind === 'none') return read;
  if (read.kind === 'malformed') return malformed(message);
  const { question, end } = read;
  if (question === null || question.class !== 'IN') return { kind: 'forward', end };
  const hostname = question.name.toLowerCase();
  const addresses = names.table.lookup(hostname);
  const isWaiting = addresses === undefined && names.isWaiting(hostname);
  if (addresses === undefined && !isWaiting && !isMeshName(hostname)) return { kind: 'forward', end };
  const query = message.length > MAX_QUERY_BYTES ? null : tried(() => decode(message));
  if (query === null) return malformed(message);
  if (addresses !== undefined) {
    const records = recordsOf(question, addresses, names.mapsIpv4);
    return { kind: 'answer', bytes: written(query, RCODE.ok, records, transport), outcome: 'answered' };
  }
  // A client keeps that a name is missing, and asks again after a failure.
  const isMissing = names.isKnown() && !isWaiting;
  const bytes = written(query, isMissing ? RCODE.missing : RCODE.failed, [], transport);
  return { kind: 'answer', bytes, outcome: isMissing ? 'missing' : 'notKnownYet' };
}

/** SERVFAIL for a query that no resolver answers. @param end the offset behind its question */
export function failure(query: Buffer, end: number): Buffer {
  return withoutRecords(query, end, RCODE.failed);
}

function malformed(message: Buffer): Decision {
  return { kind: 'answer', bytes: withoutRecords(message, HEADER_BYTES, RCODE.malformed), outcome: 'malformed' };
}

/** The header of an answer, and the question byte for byte: it may be none that the library can write. */
function withoutRecords(query: Buffer, end: number, rcode: number): Buffer {
  const { id, flags = 0 } = decode(Buffer.from(query.subarray(0, HEADER_BYTES)).fill(0, QUESTION_COUNT));
  const header = encode({ type: 'response', id: id ?? 0, flags: (flags & KEPT_FLAGS) | RECURSION_AVAILABLE | rcode });
  header.writeUInt16BE(end > HEADER_BYTES ? 1 : 0, QUESTION_COUNT);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end)]);
}

/** The opcode, and what the client repeats to itself. */
const KEPT_FLAGS = (0xf << 11) | RECURSION_DESIRED | CHECKING_DISABLED;

function recordsOf({ name, type }: Question, addresses: readonly string[], mapsIpv4: boolean): Answer[] {
  // The types of the library lack it.
  const isAny = (type as string) === 'ANY';
  const of = (family: 'A' | 'AAAA'): Answer[] =>
    isAny || type === family
      ? FAMILIES[family](addresses, mapsIpv4).map((data) => ({ type: family, name, ttl: TTL, class: 'IN', data }))
      : [];
  return [...of('A'), ...of('AAAA')];
}

/** The addresses of each type of record. A name without an IPv6 address gives its IPv4 address to clients that ask for IPv6 alone. */
const FAMILIES = {
  A: (addresses: readonly string[]): readonly string[] => addresses.filter(isIPv4),
  AAAA: (addresses: readonly string[], mapsIpv4: boolean): readonly string[] => {
    const own = addresses.filter(isIPv6);
    return own.length > 0 || !mapsIpv4 ? own : addresses.filter(isIPv4).map((address) => `::ffff:${address}`);
  },
};

function written(query: Packet, rcode: number, records: Answer[], transport: 'udp' | 'tcp'): Buffer {
  const edns = (query.additionals ?? []).find((record): record is OptAnswer => record.type === 'OPT');
  const isOther = (edns?.ednsVersion ?? 0) > 0;
  const flags = ((query.flags ?? 0) & KEPT_FLAGS) | AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | (isOther ? RCODE.ok : rcode);
  const { id = 0, questions = [] } = query;
  const additionals = edns === undefined ? [] : [ownEdns(edns, isOther)];
  const answer: Packet = { type: 'response', id, flags, questions, answers: isOther ? [] : records, additionals };
  const bytes = encode(answer);
  const most = transport === 'tcp' ? MAX_BYTES : Math.max(edns?.udpPayloadSize ?? 0, LEAST_UDP_BYTES);
  return bytes.length <= most ? bytes : encode({ ...answer, flags: flags | TRUNCATED_RESPONSE, answers: [] });
}

function ownEdns({ flags }: OptAnswer, isOtherVersion: boolean): OptAnswer {
  const isSigned = (flags & DNSSEC_OK) !== 0;
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize: OWN_UDP_BYTES,
    extendedRcode: isOtherVersion ? BAD_VERSION : 0,
    ednsVersion: 0,
    flags: isSigned ? DNSSEC_OK : 0,
    flag_do: isSigned,
    options: [],
  };
}
