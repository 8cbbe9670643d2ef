// Go durations: read and printed as Go does.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { formatGoNanoseconds, parseGoDuration, parseGoNanoseconds, printedByGo } from './duration.ts';

const MAX = 2n ** 63n - 1n;

/** Text, and what Go's `ParseDuration(text).String()` gives. */
const FORMS: readonly (readonly [string, string])[] = [
  ['0', '0s'],
  ['+0', '0s'],
  ['0h', '0s'],
  ['60s', '1m0s'],
  ['1h', '1h0m0s'],
  ['90m', '1h30m0s'],
  ['1.5s', '1.5s'],
  ['1500ms', '1.5s'],
  ['300ms', '300ms'],
  ['1us', '1µs'],
  ['1μs', '1µs'],
  ['1500us', '1.5ms'],
  ['1500ns', '1.5µs'],
  ['999ns', '999ns'],
  ['.5h', '30m0s'],
  ['1.s', '1s'],
  ['-90s', '-1m30s'],
  ['0.1234567890123h', '7m24.444440444s'],
  ['0000000000000000000001s', '1s'],
  ['2562047h47m16.854775807s', '2562047h47m16.854775807s'],
  ['-2562047h47m16.854775808s', '-2562047h47m16.854775808s'],
];

describe('Go durations', () => {
  it.each(FORMS)('prints %s as %s', (text, form) => {
    const nanoseconds = parseGoNanoseconds(text);
    expect(nanoseconds === null ? null : formatGoNanoseconds(nanoseconds)).toBe(form);
  });

  it.each(['', '-', '60', '1x', 's', '.s', '1 s', '1d', '1s ', 'soon', '2562047h47m16.854775808s', '9223372036854775808ns'])(
    'refuses %j',
    (text) => {
      expect(parseGoNanoseconds(text)).toBeNull();
      expect(parseGoDuration(text)).toBeNull();
    },
  );

  it('parses the printed form of every int64 to the same duration', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -MAX - 1n, max: MAX }), (nanoseconds) => {
        const text = formatGoNanoseconds(nanoseconds);
        expect(parseGoNanoseconds(text)).toBe(nanoseconds);
        expect(formatGoNanoseconds(parseGoNanoseconds(text) ?? 0n)).toBe(text);
      }),
    );
  });

  it('reads texts of any length', () => {
    expect(parseGoNanoseconds('9'.repeat(1_000_000))).toBeNull();
    expect(parseGoNanoseconds(`${'9'.repeat(1_000_000)}s`)).toBeNull();
    expect(parseGoNanoseconds(`0.${'9'.repeat(1_000_000)}s`)).toBe(1_000_000_000n);
    expect(parseGoNanoseconds('1s'.repeat(100_000))).toBe(100_000_000_000_000n);
  });
});

it('prints a duration of whole units in the same form as any other', () => {
  const whole = fc.stringMatching(/^(\d{1,7}h)?(\d{1,7}m)?(\d{1,7}s)?(\d{1,7}ms)?$/);
  const any = fc.stringMatching(/^[+-]?(\d{0,3}(\.\d{0,3})?(ns|us|ms|s|m|h)){1,3}$/);
  fc.assert(
    fc.property(fc.oneof(whole, any, fc.string()), (text) => {
      const nanoseconds = parseGoNanoseconds(text);
      expect(printedByGo(text)).toBe(nanoseconds === null ? null : formatGoNanoseconds(nanoseconds));
    }),
    { numRuns: 1_000 },
  );
});
