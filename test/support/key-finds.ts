// Whether a text shows a private key: its armor and its secret number, in each encoding in which bytes leave a program.
import { createPrivateKey } from 'node:crypto';

/** Bytes of the number that are looked for at once: they occur nowhere by chance. */
const PART = 12;
/** Some of them are in each line of a PEM. */
const STEP = 4;
/** A PEM holds the number in base64, a Secret holds the PEM in base64, and a dump may hold that in base64 again. */
const LEVELS = 3;

/** The encodings in which a text shows a part of the key. @param keyPem a key of an elliptic curve */
export function keyFinds(text: string, keyPem: string): string[] {
  const { patterns, clean } = known.get(keyPem) ?? { patterns: patternsOfKey(keyPem), clean: new Set<string>() };
  known.set(keyPem, { patterns, clean });
  if (clean.has(text)) return [];
  const found = [...new Set([...patterns].flatMap(([pattern, what]) => (text.includes(pattern) ? [what] : [])))].sort();
  if (found.length === 0) clean.add(text);
  return found;
}

/** @property clean texts without the key: some answers are long, and the same for each caller */
type Known = { readonly patterns: ReadonlyMap<string, string>; readonly clean: Set<string> };
const known = new Map<string, Known>();

/** What each pattern is. */
function patternsOfKey(keyPem: string): ReadonlyMap<string, string> {
  const { d = '' } = createPrivateKey(keyPem).export({ format: 'jwk' });
  const number = Buffer.from(d, 'base64url');
  const found = patternsOf(Buffer.from('PRIVATE KEY-----')).map(([what, pattern]): [string, string] => [
    pattern,
    `armor ${what}`,
  ]);
  for (let at = 0; at + PART <= number.length; at += STEP)
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
