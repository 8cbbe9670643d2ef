import { pino } from 'pino';
import { expect, it } from 'vitest';
import { RateLimitedLogger } from './rate-limited-logger.ts';

const MINUTE = 60_000;

function setUp(): { lines: () => object[]; warn: (cause: string) => void; pass: (ms: number) => void } {
  const lines: object[] = [];
  let now = 0;
  const options = { base: null, timestamp: false };
  const log = pino(options, { write: (line) => void lines.push(JSON.parse(line) as object) });
  const limited = new RateLimitedLogger(log, () => now);
  return {
    lines: () => lines.splice(0),
    warn: (cause) => limited.warn(cause, { zone: cause }, 'refused'),
    pass: (ms) => void (now += ms),
  };
}

const line = (zone: string): object => ({ level: 40, zone, msg: 'refused' });

it('the logger writes a cause once a minute, and then the number of skipped lines', () => {
  const { lines, warn, pass } = setUp();
  for (let n = 0; n < 1_000; n += 1) warn('east');
  warn('west');
  expect(lines()).toEqual([line('east'), { ...line('west'), leftOut: 999 }]);
  pass(MINUTE - 1);
  warn('east');
  expect(lines()).toEqual([]);
  pass(1);
  warn('east');
  warn('west');
  expect(lines()).toEqual([{ ...line('east'), leftOut: 1 }, line('west')]);
});

it('the logger writes a hundred causes a minute, and counts the others', () => {
  const { lines, warn, pass } = setUp();
  for (let n = 0; n < 10_000; n += 1) warn(`zone-${String(n)}`);
  expect(lines()).toHaveLength(100);
  pass(MINUTE);
  warn('zone-0');
  expect(lines()).toEqual([{ ...line('zone-0'), leftOut: 9_900 }]);
});
