import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { formatGatewayDuration, formatGoDuration, parseGatewayDuration, parseGoDuration } from './durations.ts';

describe('durations', () => {
  it.each([
    ['0s', 0, '0s', '0s'],
    ['500ms', 500, '500ms', '500ms'],
    ['90s', 90_000, '1m30s', '1m30s'],
    ['60s', 60_000, '1m', '1m0s'],
    ['1h', 3_600_000, '1h', '1h0m0s'],
    ['1h1m1s1ms', 3_661_001, '1h1m1s1ms', '1h1m1.001s'],
    ['1500ms', 1500, '1s500ms', '1.5s'],
  ])('reads %s and writes it in both spellings', (text, milliseconds, gateway, go) => {
    expect(parseGatewayDuration(text)).toBe(milliseconds);
    expect(formatGatewayDuration(milliseconds)).toBe(gateway);
    expect(formatGoDuration(milliseconds)).toBe(go);
    expect(parseGoDuration(go)).toBe(milliseconds);
  });

  it.each(['', '1', '1.5s', '-1s', '1d', '100000s', '1h1m1s1ms1ms', ' 1s'])('refuses %j as a Gateway API duration', (text) => {
    expect(parseGatewayDuration(text)).toBeNull();
  });

  it.each(['', '1', '-1s', '1us', '1.0001s', '1d', '100000h'])(
    'refuses %j as a policy duration with a Gateway API form',
    (text) => {
      expect(parseGoDuration(text)).toBeNull();
    },
  );

  it('keeps every whole number of milliseconds', () => {
    fc.assert(
      fc.property(fc.nat(99_999 * 3_600_000), (milliseconds) => {
        expect(parseGatewayDuration(formatGatewayDuration(milliseconds))).toBe(milliseconds);
        expect(parseGoDuration(formatGoDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
