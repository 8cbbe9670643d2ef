import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../base/log.ts';
import type { LoggedChange } from '../kds/log/changelog.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { noZones, type ZonesTally } from '../receipts/tally-questions.ts';
import type { Change } from '../receipts/kept-change.ts';
import { RecentChanges } from '../receipts/recent-changes.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { ChangeEvents } from './change-events.ts';

const TYPE = 'MeshTimeout';
const logged = (position: number): LoggedChange => ({
  ...{ type: TYPE, mesh: 'shop', name: `t-${String(position)}`, position, version: 0, committedAt: null },
  ...{ wireName: `t-${String(position)}.shop`, visibility: { to: 'all' }, isRemoval: false, isNew: true },
});

let clock: ManualClock;
let stop: AbortController;
let changes: RecentChanges;
let others: Set<string>;
/** The answers of the other replicas, and the questions to them. */
let elsewhere: ZonesTally;
let asked: string[][];
let touched: string[];
let events: ChangeEvents;

beforeEach(async () => {
  clock = new ManualClock();
  stop = new AbortController();
  changes = new RecentChanges('globalToZone');
  others = new Set(['cp-2']);
  elsewhere = noZones();
  [asked, touched] = [[], []];
  const talliesAt = async (_replicas: ReadonlySet<string>, given: readonly Change[]): Promise<ZonesTally[]> => {
    asked.push(given.map(({ name }) => name));
    return given.map(() => elsewhere);
  };
  const receipts = { changes, audienceOf: () => 3, talliesAt };
  events = new ChangeEvents({ receipts, others: () => others, isElsewhere: () => false, clock, log: createLogger('silent') });
  changes.observe({ kind: 'opened', peer: 'east', streamId: 'e', stream: 'globalToZone', authorized: true }, 0);
  void events.run({ touch: (_topic, key) => touched.push(key), loaded: () => undefined }, stop.signal);
  await clock.advance(0);
});
afterEach(() => stop.abort());

const append = (position: number): void => void changes.append(logged(position), clock.now().getTime());
const acknowledge = (position: number): void => {
  const event: SyncEvent = { kind: 'acknowledged', peer: 'east', streamId: 'e', type: TYPE, position, seconds: 0 };
  changes.observe(event, clock.now().getTime());
};
const shown = (): unknown => JSON.parse(events.render.changes?.(touched.at(-1) ?? '')?.json ?? 'null');

describe('the events of changes', () => {
  it('count zones of other replicas, with one question a second while a change is in flight', async () => {
    append(1);
    append(2);
    acknowledge(2);
    elsewhere = { withheld: 0, sent: 2, acknowledged: 1, refused: 0, slowestMs: 9_000 };
    await clock.advance(1_000);
    expect(asked).toEqual([['t-1', 't-2']]);
    expect(shown()).toMatchObject({ name: 't-2', targets: 3, applied: 2, slowestMs: 9_000 });
    elsewhere = { withheld: 0, sent: 2, acknowledged: 2, refused: 0, slowestMs: 9_000 };
    await clock.advance(1_000);
    expect(shown()).toMatchObject({ name: 't-2', applied: 3 });
    await clock.advance(10_000);
    expect(asked).toHaveLength(2);
  });

  it('ask no replica where there is only one, and stop asking about a zone that is away', async () => {
    others.clear();
    append(1);
    await clock.advance(10_000);
    expect(asked).toEqual([]);
    others.add('cp-2');
    append(2);
    await clock.advance(310_000);
    const before = asked.length;
    expect(before).toBeGreaterThan(100);
    await clock.advance(60_000);
    expect(asked).toHaveLength(before);
  });

  it.each([-10_800_000, 10_800_000])(
    'ask about a zone that is away for five minutes, also when the date is set by %i ms',
    async (ms) => {
      append(1);
      await clock.advance(1_000);
      clock.moveDate(ms);
      await clock.advance(200_000);
      expect(asked).toHaveLength(201);
      await clock.advance(110_000);
      const before = asked.length;
      await clock.advance(60_000);
      expect(asked).toHaveLength(before);
    },
  );

  it('are not made without a stream', async () => {
    stop.abort();
    await clock.advance(0);
    append(1);
    expect([touched, changes.onProgress, clock.sleepers]).toEqual([[], null, 0]);
  });
});
