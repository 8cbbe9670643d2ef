// The count of refused streams and delayed full states, and the warnings about them.
import { describe, expect, it } from 'vitest';
import { calledLately, countCall, mergeCalls, recentWarning } from './recent-calls.ts';

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));
const times = 'since 2026-01-01T00:00:00.000Z, the last at 2026-01-01T00:01:00.000Z: too often';

describe('recent calls of a zone', () => {
  it('are counted until ten minutes after the last', () => {
    const two = countCall(countCall(null, 'too many', at(0)), 'too often', at(60));
    expect(two).toEqual({ count: 2, since: at(0), last: at(60), reason: 'too often' });
    const status = mergeCalls('refusedStreams', {}, two, at(60));
    expect(recentWarning('refusedStreams', 'east', status, at(600))).toBe(`2 streams of zone "east" were refused ${times}`);
    expect(recentWarning('refusedStreams', 'east', status, at(660))).toBeNull();
    expect(countCall(two, 'too many', at(660))).toEqual({ count: 1, since: at(660), last: at(660), reason: 'too many' });
  });

  it('say whether streams were refused or full states delayed', () => {
    const status = mergeCalls('delayedFullStates', {}, { count: 1, since: at(0), last: at(60), reason: 'too often' }, at(60));
    expect(recentWarning('delayedFullStates', 'east', status, at(60))).toBe(`1 full state of zone "east" was delayed ${times}`);
    expect(recentWarning('refusedStreams', 'east', status, at(60))).toBeNull();
    expect(calledLately('refusedStreams', status, at(60))).toBeNull();
  });

  it('are the reason of the last and the time of the first, until ten minutes after the last', () => {
    const status = mergeCalls('refusedStreams', {}, countCall(countCall(null, 'too many', at(0)), 'too often', at(60)), at(60));
    expect(calledLately('refusedStreams', status, at(659))).toEqual({ since: at(0).toISOString(), reason: 'too often' });
    expect(calledLately('refusedStreams', status, at(660))).toBeNull();
    expect(calledLately('refusedStreams', {}, at(0))).toBeNull();
  });

  it('are stored as those with the newer last one, of this process or of another', () => {
    const [older, newer] = [countCall(null, 'older', at(0)), countCall(null, 'newer', at(60))];
    const [olderRow, newerRow] = [older, newer].map((calls) => mergeCalls('refusedStreams', {}, calls, at(60)));
    expect(mergeCalls('refusedStreams', newerRow ?? {}, older, at(60))).toEqual(newerRow);
    expect(mergeCalls('refusedStreams', olderRow ?? {}, newer, at(60))).toEqual(newerRow);
    expect(mergeCalls('refusedStreams', olderRow ?? {}, null, at(60))).toEqual(olderRow);
    expect(mergeCalls('delayedFullStates', olderRow ?? {}, null, at(60))).toEqual({});
    expect(mergeCalls('refusedStreams', { refusedStreams: { last: 'never' } }, older, at(60))).toEqual(olderRow);
  });

  it('have 500 characters of their reason', () => {
    expect(countCall(null, 'x'.repeat(501), at(0)).reason).toHaveLength(500);
  });

  it.each([{}, { refusedStreams: null }, { refusedStreams: { count: 'x' } }, { refusedStreams: { count: 1, last: 'never' } }])(
    'are absent in %j',
    (status) => {
      expect(recentWarning('refusedStreams', 'east', status, at(0))).toBeNull();
    },
  );
});
