// Duration and Timestamp: text in JSON ⇄ seconds and nanoseconds on the wire (proto3 JSON mapping).

const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/;
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i;

/** The limit is about 10,000 years. */
const MAX_DURATION_SECONDS = 315_576_000_000;
/** The bounds are 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const [FIRST_SECOND, LAST_SECOND] = [-62_135_596_800, 253_402_300_799];
const NANOS = 1_000_000_000;

export type SecondsNanos = { readonly seconds: number; readonly nanos: number };

/** Parses `5s`, `0.500s` or `-1.5s` to seconds and nanoseconds of the same sign; null if the text is no duration. */
export function parseDuration(text: string): SecondsNanos | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const sign = match[1] === '-' ? -1 : 1;
  const read = { seconds: signed(sign, Number(match[2])), nanos: signed(sign, Number((match[3] ?? '').padEnd(9, '0'))) };
  return isDuration(read) ? read : null;
}

/** Prints a duration with 0, 3, 6 or 9 fraction digits. @throws RangeError past 10,000 years or with parts of different signs */
export function formatDuration(value: SecondsNanos): string {
  if (!isDuration(value)) throw new RangeError(`${value.seconds} s and ${value.nanos} ns are no duration`);
  const { seconds, nanos } = value;
  return `${seconds < 0 || nanos < 0 ? '-' : ''}${Math.abs(seconds)}${fraction(Math.abs(nanos))}s`;
}

/** Parses RFC 3339 to seconds since 1970 and nanoseconds; null if the text is no time. */
export function parseTimestamp(text: string): SecondsNanos | null {
  const [, clock, digits, offset] = TIMESTAMP.exec(text.toUpperCase()) ?? [];
  if (clock === undefined || offset === undefined) return null;
  const local = Date.parse(`${clock}Z`);
  // The 30th of February parses, as the 2nd of March.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(clock)) return null;
  const read = { seconds: Date.parse(`${clock}${offset}`) / 1000, nanos: Number((digits ?? '').padEnd(9, '0')) };
  return isTimestamp(read) ? read : null;
}

/** Prints a time as RFC 3339 with `Z` and 0, 3, 6 or 9 fraction digits. @throws RangeError outside of the years 0001 to 9999 */
export function formatTimestamp(value: SecondsNanos): string {
  if (!isTimestamp(value)) throw new RangeError(`${value.seconds} s and ${value.nanos} ns are no time of the years 0001 to 9999`);
  const whole = new Date(value.seconds * 1000).toISOString().slice(0, 19);
  return `${whole}${fraction(value.nanos)}Z`;
}

function isDuration({ seconds, nanos }: SecondsNanos): boolean {
  return Math.abs(seconds) <= MAX_DURATION_SECONDS && Math.abs(nanos) < NANOS && seconds * nanos >= 0;
}

function isTimestamp({ seconds, nanos }: SecondsNanos): boolean {
  return seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos < NANOS;
}

/** The amount with its sign, and never -0, which JSON and `===` treat differently. */
function signed(sign: number, amount: number): number {
  return amount === 0 ? 0 : sign * amount;
}

function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}
