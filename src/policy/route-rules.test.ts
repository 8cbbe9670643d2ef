import { expect, it } from 'vitest';
import { canonicalMatches, matchesHash, mergeRouteRules } from './route-rules.ts';
import type { JsonObject } from '../resource/types.ts';

it('a route rule key is the hash of the canonical JSON', () => {
  expect(matchesHash([{ path: { value: '/', type: 'Exact' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
  expect(matchesHash([{ path: { type: 'Exact', value: '/' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
});

it('the canonical JSON has its keys in sorted order', () => {
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

it('the canonical JSON has the keys that a match has, and no others', () => {
  const match = { headers: [{ name: 'n', type: 'Present', other: 1 }], path: { value: '/' } };
  expect(JSON.stringify(canonicalMatches([match, {}]))).toBe(
    '[{"path":{"value":"/"},"headers":[{"type":"Present","name":"n"}]},{}]',
  );
});

it('a route rule key distinguishes matches, for any value', () => {
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

it('the matches of a rule are read once for their hash, however often it is asked for', () => {
  let reads = 0;
  const match = Object.defineProperty<JsonObject>({}, 'path', {
    get: () => ((reads += 1), { type: 'Exact', value: '/' }),
  });
  const matches = [match];
  const first = matchesHash(matches);
  const before = reads;
  expect([matchesHash(matches), reads]).toEqual([first, before]);
  expect(before).toBeGreaterThan(0);
});

it('route rules of the strongest policy come first, in the order of the document', () => {
  expect(paths(mergeRouteRules([{ rules: [rule('/a'), rule('/b')] }, { rules: [rule('/c'), rule('/d')] }]))).toEqual([
    ['/c', '/d', '/a', '/b'],
  ]);
});

it('route rules with equal matches are merged at the later place, filters and backendRefs separately', () => {
  const merged = mergeRouteRules([
    { rules: [rule('/b'), rule('/a', { filters: [1], backendRefs: [1] })] },
    { rules: [rule('/c'), rule('/a', { backendRefs: [2] })] },
  ]);
  expect(paths(merged)).toEqual([['/c', '/a', '/b']]);
  expect((merged[0]?.['rules'] as JsonObject[] | undefined)?.[1]?.['default']).toEqual({ filters: [1], backendRefs: [2] });
});

it('route rules of different hostnames stay separate', () => {
  expect(mergeRouteRules([{ rules: [rule('/a')], hostnames: ['x'] }, { rules: [rule('/a')] }])).toHaveLength(2);
});
