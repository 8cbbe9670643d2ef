// These tests show when the insights of one stream are stored and answered, and when its zone is asked again.
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { InsightRateLimiter } from './insight-rate-limiter.ts';
import { InsightsOfStream } from './insights-of-stream.ts';

/**
 * A stream in a fleet of 10,000 zones, which may store 150 rows a second, with all questions and answers and the second of each.
 */
function open(canAskAgain = true): {
  clock: ManualClock;
  limiter: InsightRateLimiter;
  stream: InsightsOfStream;
  said: string[];
  say: (what: string) => () => void;
} {
  const clock = new ManualClock();
  const began = clock.elapsed();
  const said: string[] = [];
  const say = (what: string) => () => void said.push(`${what} ${String(Math.round((clock.elapsed() - began) / 1_000))}`);
  const limiter = new InsightRateLimiter({ clock, fleetSize: () => 10_000, ownZones: () => 10_000 });
  const stream = new InsightsOfStream({ limiter, canAskAgain, askAgain: say('asked'), clock });
  return { clock, limiter, stream, said, say };
}

it('a zone that waits is asked again every 150 s, and at its turn', async () => {
  const { clock, limiter, stream, said } = open();
  limiter.count(150 * 320);
  expect(stream.admits(10, false)).toBe(false);
  await clock.advance(150_000);
  expect(stream.admits(12, false)).toBe(false);
  await clock.advance(150_000);
  expect(stream.admits(14, false)).toBe(false);
  await clock.advance(150_000);
  expect(said).toEqual(['asked 150', 'asked 300', 'asked 320']);
  expect(stream.admits(16, false)).toBe(true);
});

it('a zone that is asked is not asked a second time before its response', async () => {
  const { clock, limiter, stream, said } = open();
  limiter.count(150 * 160);
  stream.admits(1, false);
  await clock.advance(1_000_000);
  expect(said).toEqual(['asked 150']);
  expect(stream.admits(1, false)).toBe(true);
});

it('a zone that had nothing new when it was asked waits no longer', async () => {
  const { clock, limiter, stream } = open();
  limiter.count(150 * 160);
  expect(stream.admits(10, false)).toBe(false);
  await clock.advance(150_000);
  stream.unchanged();
  expect(limiter.waiting).toBe(0);
  await clock.advance(20_000);
  expect(stream.admits(10, false)).toBe(true);
});

it('a turn is for one response: the next one waits for another', async () => {
  const { clock, limiter, stream, said } = open();
  limiter.count(300);
  expect(stream.admits(150, false)).toBe(false);
  await clock.advance(2_000);
  expect(stream.admits(150, false)).toBe(true);
  limiter.count(150 * 100);
  expect(stream.admits(10, false)).toBe(false);
  await clock.advance(200_000);
  expect(said[0]).toBe('asked 2');
  expect(said).toHaveLength(2);
  expect(stream.admits(10, false)).toBe(true);
});

it('a zone that sends more rows than its turn has counted delays the next turn', async () => {
  const { clock, limiter, stream, said } = open();
  limiter.count(300);
  stream.admits(150, false);
  await clock.advance(2_000);
  expect(said).toEqual(['asked 2']);
  expect(stream.admits(150 + 300, false)).toBe(true);
  const later: string[] = [];
  limiter.wait(1, () => later.push('turn'));
  await clock.advance(2_999);
  expect(later).toEqual([]);
  await clock.advance(1);
  expect(later).toEqual(['turn']);
});

it('a full state is stored at once, and its rows are counted', () => {
  const { limiter, stream, said, say } = open();
  limiter.count(300);
  expect(stream.admits(1_000, true)).toBe(true);
  stream.stored(150, say('answered'));
  expect(said).toEqual(['answered 0']);
});

it('a zone of Kuma has its answer when its rows have had their turn, however long that takes', async () => {
  const { clock, limiter, stream, said, say } = open(false);
  limiter.count(150 * 400);
  expect(stream.admits(10, false)).toBe(true);
  stream.stored(10, say('answered'));
  await clock.advance(399_000);
  expect(said).toEqual([]);
  await clock.advance(1_000);
  expect(said).toEqual(['answered 400']);
});

it('a zone of Kuma that does not wait for its answer gets the answer to its last response alone', async () => {
  const { clock, limiter, stream, said, say } = open(false);
  limiter.count(150 * 400);
  for (const nonce of ['first', 'second']) {
    stream.admits(10, false);
    stream.stored(10, say(nonce));
  }
  await clock.advance(500_000);
  expect(said).toEqual(['second 400']);
});

it('a zone whose insights are counted has its answer at its turn, and before it would end the stream', async () => {
  for (const [rows, second] of [
    [150 * 20, 20],
    [150 * 400, 150],
  ] as const) {
    const { clock, limiter, said, say } = open();
    const stream = new InsightsOfStream({ limiter, canAskAgain: false, isImpatient: true, askAgain: say('asked'), clock });
    limiter.count(rows);
    expect(stream.admits(10, false)).toBe(true);
    stream.stored(1, say('answered'));
    await clock.advance(1_000_000);
    expect(said).toEqual([`answered ${String(second)}`]);
    expect(limiter.waiting).toBe(0);
  }
});

it('an ended stream is not asked and not answered', async () => {
  for (const canAskAgain of [true, false]) {
    const { clock, limiter, stream, said, say } = open(canAskAgain);
    limiter.count(150 * 400);
    if (stream.admits(10, false)) stream.stored(10, say('answered'));
    stream.close();
    await clock.advance(1_000_000);
    expect(said).toEqual([]);
  }
});
