// Private keys in bytes that leave the process: each is replaced, as PEM or as PEM in base64, wherever it stands. The one rule for dumps,
// answers, events and logs (decision 93). Pure. Invariant: the result holds no key, and text without a key comes back as it is.

/** The text in the place of a key. */
export const HIDDEN = '[private key, not shown]';

const BEGIN = '-----BEGIN ';
const END = '-----END ';
const ARMOR = 'PRIVATE KEY-----';
/** The armor in base64, for each place among three bytes, without the characters that depend on what stands beside. */
const ENCODED = [0, 1, 2].map((skip) => {
  const text = Buffer.concat([Buffer.alloc(skip), Buffer.from(ARMOR)]).toString('base64');
  return text.slice(skip === 0 ? 0 : 4, 4 * Math.floor((skip + ARMOR.length) / 3));
});
const NEEDLES = [ARMOR, ...ENCODED];
/** The rest of the first line behind `BEGIN`. */
const LABEL = /(?:[A-Z0-9]{1,20} ){0,2}PRIVATE KEY-----/y;
/** Base64 of both alphabets, on one line or on several, also with the line ends of JSON. */
const BASE64 = /(?:[\w+/=\s-]|\\[nrt])+/g;

/** The text without private keys. */
export function withoutKeys(text: string): string {
  if (!NEEDLES.some((needle) => text.includes(needle))) return text;
  return withoutEncoded(withoutPem(text));
}

/** The same for bytes of UTF-8. */
export function withoutKeyBytes<T extends Uint8Array>(bytes: T): T | Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return NEEDLES.some((needle) => buffer.includes(needle)) ? Buffer.from(withoutKeys(buffer.toString())) : bytes;
}

/** A key without an end goes to the end of its string in JSON, or of the text. */
function withoutPem(text: string): string {
  const parts: string[] = [];
  let kept = 0;
  for (let begin = text.indexOf(BEGIN); begin !== -1; begin = text.indexOf(BEGIN, Math.max(kept, begin + 1))) {
    LABEL.lastIndex = begin + BEGIN.length;
    if (!LABEL.test(text)) continue;
    parts.push(text.slice(kept, begin), HIDDEN);
    kept = endOfPem(text, begin + BEGIN.length);
  }
  return parts.join('') + text.slice(kept);
}

function endOfPem(text: string, label: number): number {
  const quote = text.indexOf('"', label);
  let limit = quote === -1 ? text.length : quote;
  while (text.charAt(limit - 1) === '\\') limit -= 1;
  const body = text.slice(label, limit);
  const end = body.indexOf(END);
  const last = end === -1 ? -1 : body.indexOf(ARMOR, end);
  return last === -1 ? limit : label + last + ARMOR.length;
}

/** Hides everything around the armor that can be base64 of one text. */
function withoutEncoded(text: string): string {
  const hasKey = (part: string): boolean => ENCODED.some((needle) => part.includes(needle));
  return hasKey(text) ? text.replace(BASE64, (part) => (hasKey(part) ? HIDDEN : part)) : text;
}
