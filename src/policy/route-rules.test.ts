import { expect, it } from 'vitest';
import { canonicalMatches, matchesHash, mergeRouteRules } from './route-rules.ts';
import type { JsonObject } from '../resource/types.ts';

it('hashes the canonical JSON', () => {
  expect(matchesHash([{ path: { value: '/', type: 'Exact' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
  expect(matchesHash([{ path: { type: 'Exact', value: '/' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
});

it('puts keys in the order of the hash', () => {
  const match = {
    headers: [{ value: 'v', name: 'n', type: 'Exact' }],
    method: 'GET',
    queryParams: [{ name: 'q', type: 'Exact', value: '1' }],
    path: { type: 'Exact', value: '/' },
  };
  expect(JSON.stringify(canonicalMatches([match]))).toBe(
    '[{"path":{"value":"/","type":"Exact"},"method":"GET","queryParams":[{"type":"Exact","name":"q","value":"1"}],"headers":[{"type":"Exact","name":"n","value":"v"}]}]',
  );
});

it('distinguishes matches and reads any value', () => {
  expect(matchesHash([{ path: { type: 'Exact', value: '/<a>' } }])).not.toBe(
    matchesHash([{ path: { type: 'Exact', value: '/a' } }]),
  );
  expect(matchesHash(undefined)).toBe(matchesHash('nonsense'));
});

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
