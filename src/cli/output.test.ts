import { describe, expect, it } from 'vitest';
import { ageOf, usesColour } from './output.ts';

describe('output', () => {
  it('has colour at a terminal without NO_COLOR', () => {
    expect(usesColour({ isTTY: true }, {})).toBe(true);
    expect(usesColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(usesColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
    expect(usesColour({}, {})).toBe(false);
  });

  it.each([
    [59, '59s'],
    [60 * 5, '5m'],
    [3600 * 2, '2h'],
    [86_400, '1d'],
    [86_400 * 365, '1y'],
  ])('writes an age of %i s as %s (rest-api 6)', (seconds, text) => {
    const now = Date.parse('2026-01-02T00:00:00Z');
    expect(ageOf(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
    expect(ageOf(undefined, now)).toBe('never');
  });
});
