// The question of a DNS message. A message that is forwarded is read no further than that: resolvers know types that `dns-packet` does not.
import { decode, encode, type Question } from 'dns-packet';

type ReadMessage =
  /**
   * A query. `end` is the offset behind its question. `question` is null where the message has not one question, asks for something else
   * than records (opcode), or has a name whose text does not stand for its bytes.
   */
  | { readonly kind: 'query'; readonly question: Question | null; readonly end: number }
  /** A header, and no question that can be read. */
  | { readonly kind: 'malformed' }
  /** An answer, or less than a header. */
  | { readonly kind: 'none' };

export const HEADER_BYTES = 12;
/** Offset of the number of questions. */
export const QUESTION_COUNT = 4;
/** Offset of the first of three numbers of records. */
const RECORD_COUNTS = 6;
/** A name of 255 bytes, its type and its class. */
const MAX_QUESTION_BYTES = 259;
/** Of the third byte. */
const IS_ANSWER = 0x80;
const OPCODE = 0x78;

/** Reads the header and the question of a message. Never throws. */
export function readMessage(message: Buffer): ReadMessage {
  const third = message[2] ?? 0;
  if (message.length < HEADER_BYTES || (third & IS_ANSWER) !== 0) return { kind: 'none' };
  if (message.readUInt16BE(QUESTION_COUNT) !== 1) return { kind: 'query', question: null, end: HEADER_BYTES };
  // The library reads as many records as the header counts.
  const head = Buffer.from(message.subarray(0, HEADER_BYTES + MAX_QUESTION_BYTES)).fill(0, RECORD_COUNTS, HEADER_BYTES);
  const read = tried(() => ({ question: decode(head).questions?.[0], end: decode.bytes }));
  if (read === null) return { kind: 'malformed' };
  const { question, end } = read;
  const isReadable = (third & OPCODE) === 0 && question !== undefined && isWrittenAs(question, head.subarray(0, end));
  return { kind: 'query', question: isReadable ? question : null, end };
}

/** Whether the text of the name stands for its bytes: a label may hold a dot, or bytes that are no text. */
function isWrittenAs(question: Question, head: Buffer): boolean {
  const written = tried(() => encode({ questions: [question] }));
  return written !== null && written.subarray(HEADER_BYTES).equals(head.subarray(HEADER_BYTES));
}

/** What the library returns; null where it throws. */
export function tried<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
