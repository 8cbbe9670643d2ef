import { describe, expect, it } from 'vitest';
import { RecentChanges } from './recent-changes.ts';
import type { DeliveryState } from '../kds/sender/delivery.ts';
import type { Target } from './receipts.ts';
import { changeSummary, rolloutOf } from './rollout.ts';

const KEY = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
const COMMITTED = new Date('2026-01-01T00:00:00Z');
const none = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
const target = (to: string, state: Target['state'], fields: Partial<Target> = {}): Target => ({
  ...{ to, state, sentMs: null, acknowledgedMs: null, reason: null, ...fields },
});
const changes = new RecentChanges('globalToZone');
const change = changes.append(
  {
    ...{ ...KEY, position: 1, version: 3, committedAt: COMMITTED, isRemoval: false },
    ...{ wireName: 'slow.shop', visibility: { to: 'all' }, isNew: false },
  },
  COMMITTED.getTime(),
);
const followed = (...targets: Target[]) => ({ change, isLogged: true, targets });

describe('a rollout', () => {
  it('has the facts of the change, the counts, and the state of each peer', () => {
    const targets = [
      target('east', 'acknowledged', { sentMs: 1, acknowledgedMs: 4 }),
      target('west', 'refused', { sentMs: 2, reason: 'unknown field' }),
    ];
    expect(rolloutOf(KEY, followed(...targets))).toEqual({
      ...{ ...KEY, change: change.id, version: 3, isRemoval: false, committedAt: '2026-01-01T00:00:00.000Z' },
      ...{ outcome: 'refused', counts: { ...none, acknowledged: 1, refused: 1 }, medianMs: 4, slowestMs: 4 },
      targets: [
        { to: 'east', state: 'acknowledged', sentMs: 1, acknowledgedMs: 4 },
        { to: 'west', state: 'refused', sentMs: 2, reason: 'unknown field' },
      ],
    });
  });

  it('of a resource that no peer gets has the reason, and no change', () => {
    const key = { type: 'Zone', mesh: '', name: 'east' };
    expect(rolloutOf(key, { change: null, isLogged: false, targets: [] }, 'the type Zone is not synced')).toEqual({
      ...{ type: 'Zone', name: 'east', note: 'the type Zone is not synced' },
      ...{ outcome: 'everywhere', counts: none, targets: [] },
    });
  });

  it.each<[string, DeliveryState | 'unknown', ...(DeliveryState | 'unknown')[]]>([
    ['everywhere', 'acknowledged', 'hidden'],
    ['everywhere', 'hidden'],
    ['away', 'acknowledged', 'away'],
    ['waiting', 'away', 'pending'],
    ['waiting', 'acknowledged', 'sent'],
    ['waiting', 'away', 'unknown'],
    ['refused', 'refused', 'pending', 'away'],
    ['refused', 'withheld', 'acknowledged'],
  ])('is «%s» with a peer of the state %s', (outcome, ...states) => {
    const targets = states.map((state, at) => target(`zone-${String(at)}`, state));
    const rollout = rolloutOf(KEY, followed(...targets));
    expect(rollout.outcome).toBe(outcome);
    expect(Object.values(rollout.counts).reduce((sum, count) => sum + count, 0)).toBe(states.length);
    expect(rollout).not.toHaveProperty('medianMs');
  });

  it.each([
    [[7], 7, 7],
    [[9, 1], 1, 9],
    [[20, 3, 100], 20, 100],
    [[4, 3, 2, 1], 2, 4],
  ])('of acknowledgements after %j ms has the median %d and the slowest %d', (times, medianMs, slowestMs) => {
    const targets = times.map((acknowledgedMs, at) => target(`zone-${String(at)}`, 'acknowledged', { acknowledgedMs }));
    expect(rolloutOf(KEY, followed(...targets))).toMatchObject({ medianMs, slowestMs });
  });
});

it('a change of a list has the same summary, without its peers', () => {
  const targets = [target('east', 'acknowledged', { acknowledgedMs: 4 })];
  const { targets: _, change: id, ...summary } = rolloutOf(KEY, followed(...targets));
  expect(changeSummary(change, targets)).toEqual({ id, ...summary });
  expect(changeSummary({ ...change, mesh: '' }, targets)).not.toHaveProperty('mesh');
});
