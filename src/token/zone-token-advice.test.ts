import { expect, it } from 'vitest';
import { expiryWarning } from './zone-token-advice.ts';

const now = new Date('2026-01-01T00:00:00Z');

it.each([
  ['2026-01-31T00:00:00Z', null],
  ['2026-01-30T23:59:59Z', 'expires in 29 days (2026-01-30T23:59:59.000Z)'],
  ['2026-01-02T12:00:00Z', 'expires in 1 day (2026-01-02T12:00:00.000Z)'],
  ['2026-01-01T12:00:00Z', 'expires in less than a day (2026-01-01T12:00:00.000Z)'],
  ['2026-01-01T00:00:00Z', 'has expired (2026-01-01T00:00:00.000Z)'],
])('a token that expires at %s: %s', (end, text) => {
  const warning = expiryWarning('east', new Date(end), now);
  if (text === null) expect(warning).toBeNull();
  else {
    expect(warning).toContain(`the token of zone "east" ${text}.`);
    expect(warning).toContain('meridian generate zone-token --zone east');
  }
});

it('warns as early as configured', () => {
  expect(expiryWarning('east', new Date('2026-01-02T00:00:00Z'), now, 3_600_000)).toBeNull();
});
