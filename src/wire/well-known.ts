// Well-known types whose JSON is not an object of fields: Duration, Timestamp, wrappers, Struct (proto3 JSON mapping).

const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/;
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i;

export type SecondsNanos = { readonly seconds: number; readonly nanos: number };

/** `5s`, `0.500s` → seconds and nanoseconds; null if the text is no duration. */
export function parseDuration(text: string): SecondsNanos | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const sign = match[1] === '-' ? -1 : 1;
  const seconds = sign * Number(match[2]);
  const nanos = sign * Number((match[3] ?? '').padEnd(9, '0'));
  return { seconds: seconds === 0 ? 0 : seconds, nanos: nanos === 0 ? 0 : nanos };
}

/** With 0, 3, 6 or 9 fraction digits. */
export function formatDuration({ seconds, nanos }: SecondsNanos): string {
  const negative = seconds < 0 || nanos < 0;
  return `${negative ? '-' : ''}${String(Math.abs(seconds))}${fraction(Math.abs(nanos))}s`;
}

/** RFC 3339 → seconds since 1970 and nanoseconds; null if the text is no time. */
export function parseTimestamp(text: string): SecondsNanos | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const ms = Date.parse(`${match[1] ?? ''}${match[3] ?? ''}`.toUpperCase());
  return Number.isNaN(ms) ? null : { seconds: ms / 1000, nanos: Number((match[2] ?? '').padEnd(9, '0')) };
}

/** RFC 3339 with `Z` and 0, 3, 6 or 9 fraction digits. Throws RangeError outside the years 0001 to 9999. */
export function formatTimestamp({ seconds, nanos }: SecondsNanos): string {
  if (seconds < -62_135_596_800 || seconds > 253_402_300_799) throw new RangeError('timestamp is outside of the years 0001 to 9999');
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  return `${whole}${fraction(nanos)}Z`;
}

function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}

/** Wrapper types: their JSON is the bare value (kds-wire 4). */
export const wrapperTypes: ReadonlySet<string> = new Set(
  ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map((name) => `google.protobuf.${name}Value`),
);
