import { beforeEach, expect, it } from 'vitest';
import { PendingResponses } from './pending-responses.ts';

const at = (seconds: number): Date => new Date(seconds * 1_000);

let pending: PendingResponses;

beforeEach(() => {
  pending = new PendingResponses();
  pending.open('east', 's1');
});

const lags = (seconds: number): unknown[] => [...pending.lags(at(seconds))].map((lag) => [lag.zone, lag.type, lag.seconds]);

it('the lag lasts from a response to its acknowledgement', () => {
  expect(lags(5)).toEqual([]);
  pending.sent('east', 's1', 'Mesh', at(10));
  expect(lags(13)).toEqual([['east', 'Mesh', 3]]);
  expect(lags(9)).toEqual([['east', 'Mesh', 0]]);
  pending.accepted('east', 's1', 'Mesh');
  expect(lags(20)).toEqual([['east', 'Mesh', 0]]);
});

it('the lag continues after refusals until the peer lacks nothing', () => {
  pending.sent('east', 's1', 'Mesh', at(10));
  pending.rejected('east', 's1', 'Mesh');
  pending.nacked('east', 's1', 'Mesh', 2);
  pending.sent('east', 's1', 'Mesh', at(15));
  pending.accepted('east', 's1', 'Mesh');
  expect(lags(20)).toEqual([['east', 'Mesh', 10]]);
  pending.sent('east', 's1', 'Mesh', at(21));
  pending.nacked('east', 's1', 'Mesh', 0);
  expect(lags(22)).toEqual([['east', 'Mesh', 12]]);
  pending.rejected('east', 's1', 'Mesh');
  pending.nacked('east', 's1', 'Mesh', 0);
  expect(lags(30)).toEqual([['east', 'Mesh', 0]]);
  pending.sent('east', 's1', 'Mesh', at(31));
  expect(lags(33)).toEqual([['east', 'Mesh', 2]]);
});

it('the lag counts only for the newest stream of a zone, until the stream ends or the zone is deleted', () => {
  pending.sent('east', 's1', 'Mesh', at(1));
  pending.open('east', 's2');
  expect(lags(5)).toEqual([]);
  pending.sent('east', 's1', 'Mesh', at(1));
  for (const type of ['MeshRetry', 'MeshTimeout']) pending.sent('east', 's2', type, at(2));
  pending.accepted('east', 's1', 'MeshRetry');
  pending.nacked('east', 's1', 'MeshRetry', 1);
  pending.close('east', 's1');
  expect(lags(5)).toEqual([
    ['east', 'MeshRetry', 3],
    ['east', 'MeshTimeout', 3],
  ]);
  pending.close('east', 's2');
  expect(lags(5)).toEqual([]);
  pending.open('east', 's3');
  pending.sent('east', 's3', 'Mesh', at(1));
  pending.forget('east');
  expect(lags(5)).toEqual([]);
});
