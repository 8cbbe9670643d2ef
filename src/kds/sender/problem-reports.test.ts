import { beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../base/log.ts';
import type { Item } from './response-draft.ts';
import { NackedResources } from './nacked-resources.ts';
import { ProblemReports } from './problem-reports.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';

const itemOf = (name: string): Item => ({ wireName: name, plainName: name, isStray: true });
const items = (count: number): Item[] => Array.from({ length: count }, (_, n) => itemOf(`r${String(n)}`));

let events: SyncEvent[];
let reports: ProblemReports;
let log: ReturnType<typeof createLogger>;
let lines: unknown[][];

function reportsWith(held = new Map<string, string>()): ProblemReports {
  const observe = (event: SyncEvent): void => void events.push(event);
  const warnings = new RateLimitedLogger(log, () => 0);
  return new ProblemReports({ peer: 'east', streamId: 's', observe, log, warnings }, 'T', held);
}

beforeEach(() => {
  [events, lines] = [[], []];
  log = createLogger('silent');
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(log, level).mockImplementation((...line: unknown[]) => void lines.push(line));
  reports = reportsWith();
});

const refusals = (): unknown[] =>
  events.flatMap((event) => (event.kind === 'refused' ? [[event.refused.first, event.suspects.first]] : []));
const withheld = (): unknown[] => events.flatMap((event) => (event.kind === 'withheld' ? [[...event.resources.keys()]] : []));

it('refused resources are reported when they change; the log names ten', () => {
  const nacked = new NackedResources();
  reports.refused({ nacked });
  nacked.refuse(items(11), 'no');
  for (let time = 0; time < 2; time += 1) reports.refused({ nacked });
  const refused = items(10).map(({ wireName }) => wireName);
  expect(refusals()).toEqual([[refused, []]]);
  expect(lines).toEqual([[{ type: 'T', refused, of: 11, suspects: 0, reason: 'no' }, 'the peer refused resources']]);
});

it('refused and suspected resources have a log line each', () => {
  const nacked = new NackedResources();
  nacked.suspect([itemOf('a'), itemOf('b')], 'one of them');
  reports.refused({ nacked });
  nacked.refuse([itemOf('c')], 'no');
  reports.refused({ nacked });
  nacked.refuse([itemOf('d')], 'no');
  reports.refused({ nacked });
  expect(refusals()).toHaveLength(3);
  expect(lines.map(([about]) => about)).toEqual([
    { type: 'T', refused: [], of: 0, suspects: 2, reason: 'one of them' },
    { type: 'T', refused: ['c'], of: 1, suspects: 2, reason: 'no' },
  ]);
});

it('the end of all refusals is reported and not logged', () => {
  const nacked = new NackedResources();
  const [item] = items(1);
  if (item === undefined) throw new Error('no item');
  nacked.refuse([item], 'no');
  reports.refused({ nacked });
  nacked.delete(item);
  reports.refused({ nacked });
  expect([refusals(), lines.length]).toEqual([
    [
      [['r0'], []],
      [[], []],
    ],
    1,
  ]);
});

it('withheld resources are reported when one comes, goes or has another reason', () => {
  const report = (...given: [string, string][]): void =>
    reports.withheld({ withheld: new Map(given), withheldCount: given.length });
  report();
  report(['a', 'too large']);
  report(['a', 'too large']);
  report(['a', 'unreadable']);
  report(['a', 'unreadable'], ['b', 'too large']);
  report(['b', 'too large']);
  report();
  expect(withheld()).toEqual([['a'], ['a'], ['a', 'b'], ['b'], []]);
  expect(lines.map(([about]) => about)).toEqual([
    { type: 'T', name: 'a', reason: 'too large' },
    { type: 'T', name: 'a', reason: 'unreadable' },
    { type: 'T', name: 'b', reason: 'too large' },
  ]);
  report(...items(11).map(({ wireName }): [string, string] => [wireName, 'too large']));
  expect(lines).toHaveLength(13);
});

it('held removals are reported with the withheld resources', () => {
  const holding = reportsWith(new Map([['h', 'unknown mesh']]));
  holding.withheld({ withheld: new Map([['a', 'too large']]), withheldCount: 1 });
  expect(withheld()).toEqual([['h', 'a']]);
  expect(lines.map(([, message]) => message)).toEqual([
    'the removal of this resource is held',
    'the peer cannot take this resource; it is withheld',
  ]);
});

it('the count of a full state that is too large follows the state, and is logged once', () => {
  const counts = (): unknown[] =>
    events.flatMap((event) => (event.kind === 'withheld' ? [[event.count, event.all !== null]] : []));
  reports.tooLarge(2_000, 1_000, 2);
  reports.tooLarge(2_001, 1_000, 2);
  reports.tooLarge(3_000, 1_000, 3);
  reports.fits();
  expect(counts()).toEqual([
    [2, true],
    [3, true],
    [0, false],
  ]);
  expect(lines).toHaveLength(1);
});
