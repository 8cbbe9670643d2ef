// Whether a text shows a private key: its armor and its secret number, in each encoding in which bytes leave a program.
import { createPrivateKey } from 'node:crypto';

/** Bytes of the number that are looked for at once: they occur nowhere by chance. */
const PART = 12;
/** Some of them are in each line of a PEM. */
const STEP = 4;
/** Of the long number of an RSA key a few places are enough. */
const MAX_PARTS = 8;
/** A PEM holds the number in base64, a Secret holds the PEM in base64, and a dump may hold that in base64 again. */
const LEVELS = 3;

/** The encodings in which a text shows a part of the key. */
export function keyFinds(text: string, keyPem: string): string[] {
  const patterns = known.get(keyPem) ?? new Patterns(patternsOfKey(keyPem));
  known.set(keyPem, patterns);
  return patterns.in(text);
}

const known = new Map<string, Patterns>();

/** Characters of a pattern that have a hash; each pattern has at least so many. */
const WINDOW = 8;
const BASE = 31;
const LEAVING = Array.from({ length: WINDOW }).reduce<number>((power) => Math.imul(power, BASE), 1);
/** Bits of a hash that a table looks at before the patterns. */
const TABLE_BITS = 20;

/** Looks for a thousand patterns at once: a rolling hash says where one may begin. */
class Patterns {
  readonly #byHash = new Map<number, [pattern: string, what: string][]>();
  readonly #table = new Uint8Array(1 << TABLE_BITS);

  constructor(patterns: ReadonlyMap<string, string>) {
    for (const [pattern, what] of patterns) {
      const hash = hashOf(pattern);
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), [pattern, what]]);
      this.#table[hash >>> (32 - TABLE_BITS)] = 1;
    }
  }

  in(text: string): string[] {
    const found = new Set<string>();
    let hash = hashOf(text);
    for (let end = Math.min(WINDOW, text.length); ; end += 1) {
      if (this.#table[hash >>> (32 - TABLE_BITS)] === 1)
        for (const [pattern, what] of this.#byHash.get(hash) ?? []) if (text.startsWith(pattern, end - WINDOW)) found.add(what);
      if (end >= text.length) return [...found].sort();
      const leaving = Math.imul(LEAVING, text.charCodeAt(end - WINDOW));
      hash = (Math.imul(hash, BASE) + text.charCodeAt(end) - leaving) | 0;
    }
  }
}

/** Of the first characters. */
function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < WINDOW && at < text.length; at += 1) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

/** What each pattern is. */
function patternsOfKey(keyPem: string): ReadonlyMap<string, string> {
  const { d = '' } = createPrivateKey(keyPem).export({ format: 'jwk' });
  const number = Buffer.from(d, 'base64url');
  const found = patternsOf(Buffer.from('PRIVATE KEY-----')).map(([what, pattern]): [string, string] => [
    pattern,
    `armor ${what}`,
  ]);
  const step = Math.max(STEP, Math.ceil((number.length - PART) / MAX_PARTS));
  for (let at = 0; at + PART <= number.length; at += step)
    for (const [what, pattern] of patternsOf(number.subarray(at, at + PART))) found.push([pattern, what]);
  return new Map(found);
}

/** Encodings of bytes, each with a name. */
function patternsOf(bytes: Buffer): [what: string, pattern: string][] {
  const found: [string, string][] = [
    ['plain', bytes.toString('latin1')],
    ['hex', bytes.toString('hex')],
    ['hex', bytes.toString('hex').toUpperCase()],
  ];
  let level = [bytes];
  for (let times = 1; times <= LEVELS; times += 1) {
    const texts = level.flatMap(inBase64);
    for (const text of texts) {
      const what = `base64 ${String(times)} times`;
      found.push([what, text], [`${what} in a URL`, encodeURIComponent(text)]);
      found.push([`${what}, url`, text.replaceAll('+', '-').replaceAll('/', '_')]);
      found.push(
        [`${what} in JSON`, text.replaceAll('/', String.raw`\/`)],
        [`${what} in hex`, Buffer.from(text).toString('hex')],
      );
    }
    level = texts.map((text) => Buffer.from(text));
  }
  return found;
}

/** Base64 depends on the place of the bytes among three: for each place the characters that depend on nothing else. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].map((skip) => {
    const text = Buffer.concat([Buffer.alloc(skip), bytes]).toString('base64');
    return text.slice(4, 4 * Math.floor((skip + bytes.length) / 3));
  });
}
