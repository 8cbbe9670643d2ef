// How rules of several routes become one list (policies 3.3).
import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { mergeRouteRules } from './merge-route-rules.ts';

const rule = (path: string, conf: JsonObject = {}): JsonObject => ({
  matches: [{ path: { type: 'Exact', value: path } }],
  default: conf,
});
const paths = (confs: readonly JsonObject[]): unknown =>
  confs.map(({ rules }) => (rules as JsonObject[]).map(({ matches }) => JSON.stringify(matches).match(/\/\w*/)?.[0]));

it("puts the strongest policy's rules first, in the order they were written", () => {
  expect(paths(mergeRouteRules([{ rules: [rule('/a'), rule('/b')] }, { rules: [rule('/c'), rule('/d')] }]))).toEqual([
    ['/c', '/d', '/a', '/b'],
  ]);
});

it('folds equal matches into the later place; filters and backendRefs replace, each for itself', () => {
  const merged = mergeRouteRules([
    { rules: [rule('/b'), rule('/a', { filters: [1], backendRefs: [1] })] },
    { rules: [rule('/c'), rule('/a', { backendRefs: [2] })] },
  ]);
  expect(paths(merged)).toEqual([['/c', '/a', '/b']]);
  expect((merged[0]?.['rules'] as JsonObject[])[1]?.['default']).toEqual({ filters: [1], backendRefs: [2] });
});

it('keeps groups of hostnames apart', () => {
  expect(mergeRouteRules([{ rules: [rule('/a')], hostnames: ['x'] }, { rules: [rule('/a')] }])).toHaveLength(2);
});
