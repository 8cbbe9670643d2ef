// The warning about refused streams.
import { describe, expect, it } from 'vitest';
import { countRefused, refusedLately, refusedStreamsWarning, renderRefused } from './refused-streams.ts';

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));

describe('refused streams of a zone', () => {
  it('are counted until ten minutes after the last', () => {
    const two = countRefused(countRefused(null, 'too many', at(0)), 'too often', at(60));
    expect(two).toEqual({ count: 2, since: at(0), last: at(60), reason: 'too often' });
    const status = { refusedStreams: renderRefused(two) };
    const warning =
      '2 streams were refused or delayed of zone "east" since 2026-01-01T00:00:00.000Z, the last at 2026-01-01T00:01:00.000Z: too often';
    expect(refusedStreamsWarning('east', status, at(600))).toBe(warning);
    expect(refusedStreamsWarning('east', status, at(660))).toBeNull();
    expect(countRefused(two, 'too many', at(660))).toEqual({ count: 1, since: at(660), last: at(660), reason: 'too many' });
  });

  it('are the reason of the last and the time of the first, until ten minutes after the last', () => {
    const status = { refusedStreams: renderRefused(countRefused(countRefused(null, 'too many', at(0)), 'too often', at(60))) };
    expect(refusedLately(status, at(659))).toEqual({ since: at(0).toISOString(), reason: 'too often' });
    expect(refusedLately(status, at(660))).toBeNull();
    expect(refusedLately({}, at(0))).toBeNull();
  });

  it('have 500 characters of their reason', () => {
    expect(countRefused(null, 'x'.repeat(501), at(0)).reason).toHaveLength(500);
  });

  it.each([{}, { refusedStreams: null }, { refusedStreams: { count: 'x' } }, { refusedStreams: { count: 1, last: 'never' } }])(
    'are absent in %j',
    (status) => {
      expect(refusedStreamsWarning('east', status, at(0))).toBeNull();
    },
  );
});
