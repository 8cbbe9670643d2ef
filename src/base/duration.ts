// Go durations, the form of every duration in the configuration and in plugin specs (kds-wire 1).

const UNITS_MS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/y;

/** `1h0m0s`, `250ms` → milliseconds; null if the text is no Go duration. A bare `0` is one. */
export function parseGoDuration(text: string): number | null {
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0;
  let ms = 0;
  let at = 0;
  while (at < body.length) {
    PART.lastIndex = at;
    const match = PART.exec(body);
    if (match === null) return null;
    ms += Number(match[1]) * (UNITS_MS[match[2] ?? ''] ?? 0);
    at = PART.lastIndex;
  }
  return body === '' ? null : negative ? -ms : ms;
}
