import { describe, expect, it } from 'vitest';
import { competingControlPlanes } from './competing-control-planes.ts';

const now = new Date('2026-01-01T01:00:00Z');
const insight = (...turns: readonly (readonly [id: string, secondsAgo: number])[]) => ({
  subscriptions: turns.map(([zoneInstanceId, ago]) => ({
    zoneInstanceId,
    connectTime: new Date(now.getTime() - ago * 1000).toISOString(),
  })),
});

describe('two control planes under one name', () => {
  it.each([
    ['one comes back after the other', insight(['a', 30], ['b', 20], ['a', 10]), ['a', 'b']],
    ['the rows are in another order', insight(['a', 10], ['a', 30], ['b', 20]), ['a', 'b']],
    ['three take turns', insight(['a', 50], ['b', 40], ['c', 30], ['b', 10]), ['a', 'b', 'c']],
    ['each tries several times', insight(['a', 50], ['a', 45], ['b', 40], ['b', 35], ['a', 10]), ['a', 'b']],
  ])('are detected when %s', (_, rows, expected) => {
    expect(competingControlPlanes(rows, now)).toEqual(expected);
  });

  it.each([
    ['one connects again and again', insight(['a', 30], ['a', 20], ['a', 10])],
    ['a replica takes over', insight(['a', 30], ['b', 20], ['b', 10])],
    ['replicas are replaced one after the other', insight(['a', 30], ['b', 20], ['c', 10])],
    ['the rows are in another order than their turns', insight(['a', 30], ['b', 10], ['a', 20])],
    ['it was five minutes ago', insight(['a', 300], ['b', 200], ['a', 10])],
    ['it was more than five minutes ago', insight(['a', 900], ['b', 800], ['a', 10])],
    ['nothing says which instance it was', insight(['', 30], ['b', 20], ['', 10])],
    ['there is no subscription', {}],
  ])('are not detected when %s', (_, rows) => {
    expect(competingControlPlanes(rows, now)).toEqual([]);
  });
});
