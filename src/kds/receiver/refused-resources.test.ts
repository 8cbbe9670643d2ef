// The memory of a receiver about the resources that it refuses: their number, the first names and the reason.
import { expect, it } from 'vitest';
import { nameText } from '../../resource/types.ts';
import type { NackedResource } from '../protocol/nack.ts';
import { RefusedResources } from './refused-resources.ts';

const TYPE = 'MeshTimeout';
const refusals = (from: number, to: number, reason = 'bad'): NackedResource[] =>
  Array.from({ length: to - from }, (_, n) => ({ type: TYPE, mesh: 'shop', name: `t${String(from + n)}`, reason }));
const textsOf = (named: readonly NackedResource[]): string[] => named.map(nameText);
const NOTHING = { count: 0, first: [], reason: null };

it('all refused resources of a type count, and the first ten are named', () => {
  const refused = new RefusedResources(Infinity);
  const { count, first, reason } = refused.note(TYPE, [], refusals(0, 1_500));
  expect([count, first.length, first[0], reason]).toEqual([1_500, 10, 't0.shop', 'bad']);
});

it('resources beyond the first 1,000 stay refused when the first ones are corrected, and their reasons come with their next refusal', () => {
  const refused = new RefusedResources(Infinity);
  refused.note(TYPE, [], refusals(0, 1_500));
  const left = refused.note(TYPE, textsOf(refusals(0, 1_000)), []);
  expect(left).toMatchObject({ count: 500, reason: expect.stringContaining('more than 1000 resources') as string });
  expect(left.first[0]).toBe('t1000.shop');
  expect(refused.note(TYPE, [], refusals(1_000, 1_500, 'still bad'))).toMatchObject({ count: 500, reason: 'still bad' });
});

it('a resource that is refused again counts once, with its last reason', () => {
  const refused = new RefusedResources(Infinity);
  refused.note(TYPE, [], refusals(0, 2));
  expect(refused.note(TYPE, [], refusals(0, 1, 'worse'))).toEqual({ count: 2, first: ['t0.shop', 't1.shop'], reason: 'worse' });
});

it('nothing is refused after every resource was accepted or removed', () => {
  const refused = new RefusedResources(Infinity);
  refused.note(TYPE, [], refusals(0, 3));
  expect(refused.note(TYPE, textsOf(refusals(0, 3)), [])).toEqual(NOTHING);
  expect(refused.note(TYPE, [], [])).toEqual(NOTHING);
});

it('as many names are remembered as the peer may have rows, of all types together, and a solved one makes room', () => {
  const refused = new RefusedResources(3);
  expect(refused.note(TYPE, [], refusals(0, 2)).count).toBe(2);
  expect(refused.note('MeshRetry', [], refusals(0, 2)).count).toBe(1);
  refused.note(TYPE, textsOf(refusals(0, 1)), []);
  expect(refused.note('MeshRetry', [], refusals(0, 2)).count).toBe(2);
});

it('a name of any length is remembered, and shown in part', () => {
  const refused = new RefusedResources(Infinity);
  const long = { type: TYPE, mesh: 'shop', name: 'x'.repeat(100_000), reason: 'too long' };
  const { count, first } = refused.note(TYPE, [], [long, { ...long, name: `${long.name}y` }]);
  expect(count).toBe(2);
  expect(Math.max(...first.map((name) => name.length))).toBeLessThan(700);
  expect(refused.note(TYPE, textsOf([long]), []).count).toBe(1);
});
