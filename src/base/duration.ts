// Go durations, the form of every duration in the configuration and in plugin specs (kds-wire 1).

const UNITS_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3_600e9,
};
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;
/** A Go duration is an int64 of nanoseconds. */
const MAX_NS = 2n ** 63n - 1n;
/** The number of digits of a fraction that Go reads; it ignores the others. */
const MAX_FRACTION_DIGITS = 18;
/** The number of digits of the largest int64. */
const MAX_DIGITS = 19;

const SIMPLE = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?(?:(\d{1,6})ms)?$/;

/** `1h0m0s`, `250ms` → milliseconds; null if the text is no Go duration. A bare `0` is one. */
export function parseGoDuration(text: string): number | null {
  const simple = simpleMilliseconds(text);
  if (simple !== null) return simple;
  const nanoseconds = parseGoNanoseconds(text);
  return nanoseconds === null ? null : Number(nanoseconds) / 1e6;
}

/** The nanoseconds of a Go duration, exactly as Go's `time.ParseDuration` counts them; null where they do not fit an int64. */
export function parseGoNanoseconds(text: string): bigint | null {
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0n;
  if (body === '') return null;
  let total = 0n;
  for (let at = 0; at < body.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const [, whole = '', fraction = '', unit = ''] = PART.exec(body) ?? [];
    if (unit === '' || (whole === '' && fraction === '')) return null;
    // Limit the length first: BigInt parses digits in more than linear time.
    if (whole.length > MAX_DIGITS && whole.replace(/^0+/, '').length > MAX_DIGITS) return null;
    total += BigInt(whole.slice(-MAX_DIGITS)) * BigInt(UNITS_NS[unit] ?? 0) + fractionOf(fraction, UNITS_NS[unit] ?? 0);
    if (total > MAX_NS + (negative ? 1n : 0n)) return null;
  }
  return negative ? -total : total;
}

/** The text as Go prints the duration: `60s` → `1m0s`. Null if it is no Go duration. */
export function printedByGo(text: string): string | null {
  const simple = simpleMilliseconds(text);
  if (simple !== null) return printedMilliseconds(simple);
  const nanoseconds = parseGoNanoseconds(text);
  return nanoseconds === null ? null : formatGoNanoseconds(nanoseconds);
}

/**
 * Reads whole hours, minutes, seconds and milliseconds in this order. It avoids BigInt, which costs more than the rest of a small
 * spec.
 */
function simpleMilliseconds(text: string): number | null {
  const [found, hours = 0, minutes = 0, seconds = 0, milliseconds = 0] = SIMPLE.exec(text) ?? [];
  if (found === undefined || found === '') return null;
  return Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1_000 + Number(milliseconds);
}

/** Prints whole milliseconds as `formatGoNanoseconds` does. */
function printedMilliseconds(total: number): string {
  if (total > 0 && total < 1_000) return `${String(total)}ms`;
  // The shortest decimal of up to three places is exact for every duration that is read here.
  const seconds = `${String((total % 60_000) / 1_000)}s`;
  const minutes = Math.floor(total / 60_000);
  if (minutes === 0) return seconds;
  const rest = `${String(minutes % 60)}m${seconds}`;
  return minutes < 60 ? rest : `${String(Math.floor(minutes / 60))}h${rest}`;
}

/** Prints a duration in the form of Go's `Duration.String`: `1h0m0s`, `1m30s`, `1.5s`, `300ms`, `1µs`, `0s`. */
export function formatGoNanoseconds(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return `-${formatGoNanoseconds(-nanoseconds)}`;
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1_000n) return `${String(nanoseconds)}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 3)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 6)}ms`;
  const minutes = nanoseconds / 60_000_000_000n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return seconds;
  if (minutes < 60n) return `${String(minutes)}m${seconds}`;
  return `${String(minutes / 60n)}h${String(minutes % 60n)}m${seconds}`;
}

/** Go multiplies fractions as floats and drops fractions of a nanosecond. */
function fractionOf(digits: string, unit: number): bigint {
  const read = digits.slice(0, MAX_FRACTION_DIGITS);
  return BigInt(Math.trunc(Number(read) * (unit / 10 ** read.length)));
}

/** `1500` with three places → `1.5`. */
function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = String(value % scale)
    .padStart(places, '0')
    .replace(/(?<!0)0+$/, '');
  return `${String(value / scale)}${fraction === '' ? '' : `.${fraction}`}`;
}
