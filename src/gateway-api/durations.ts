// Durations in the two spellings: Gateway API's (GEP-2257: `1h30m`, whole milliseconds) and a policy's (Go: `1h30m0s`).
// Invariant: both spellings mean the same whole number of milliseconds; other texts are refused.

const GATEWAY_DURATION = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/;
const GO_DURATION = /^\+?([0-9]+(\.[0-9]*)?(h|ms|m|s|us|µs|ns))+$/;
/** Milliseconds in a unit. */
const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 };
const MAX_HOURS = 99_999;

/** Milliseconds of a Gateway API duration; null for another text. */
export function parseGatewayDuration(text: string): number | null {
  return GATEWAY_DURATION.test(text) ? sumOf(text) : null;
}

/** Milliseconds of a policy's duration; null for another text, and for a duration that Gateway API cannot express. */
export function parseGoDuration(text: string): number | null {
  if (text === '0') return 0;
  const sum = GO_DURATION.test(text) ? sumOf(text) : Number.NaN;
  return Number.isInteger(sum) && sum < (MAX_HOURS + 1) * 3_600_000 ? sum : null;
}

/** `90000` → `1m30s`. */
export function formatGatewayDuration(milliseconds: number): string {
  const { hours, minutes, seconds, rest } = partsOf(milliseconds);
  const text = [
    [hours, 'h'],
    [minutes, 'm'],
    [seconds, 's'],
    [rest, 'ms'],
  ].flatMap(([amount, unit]) => (amount === 0 ? [] : [`${String(amount)}${String(unit)}`]));
  return text.length === 0 ? '0s' : text.join('');
}

/** `90000` → `1m30s`, `60000` → `1m0s`, `500` → `500ms`: as policies are printed (policies 0). */
export function formatGoDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  if (milliseconds < 1000) return `${String(milliseconds)}ms`;
  const { hours, minutes, seconds, rest } = partsOf(milliseconds);
  const fraction =
    rest === 0
      ? ''
      : `.${String(rest)
          .padStart(3, '0')
          .replace(/(?<!0)0+$/, '')}`;
  const start = hours > 0 ? `${String(hours)}h${String(minutes)}m` : minutes > 0 ? `${String(minutes)}m` : '';
  return `${start}${String(seconds)}${fraction}s`;
}

function partsOf(milliseconds: number): { hours: number; minutes: number; seconds: number; rest: number } {
  return {
    hours: Math.floor(milliseconds / 3_600_000),
    minutes: Math.floor(milliseconds / 60_000) % 60,
    seconds: Math.floor(milliseconds / 1000) % 60,
    rest: milliseconds % 1000,
  };
}

function sumOf(text: string): number {
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+(?:\.[0-9]*)?)(h|ms|m|s|us|µs|ns)/gy))
    sum += Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN);
  return Number(sum.toFixed(6));
}
