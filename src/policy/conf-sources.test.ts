import { expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { confSources } from './conf-sources.ts';
import { parsePolicy } from './parse-policy.ts';
import type { Contribution } from './resource-rules.ts';

const by = (name: string, conf: JsonObject): Contribution => ({
  ...{ policy: parsePolicy(make('MeshTimeout', name, {}), 0), index: 0, conf },
});

function sources(...confs: JsonObject[]): unknown[] {
  const contributions = confs.map((conf, at) => by(`p${String(at)}`, conf));
  const values = confSources(contributions);
  expect(confSources(contributions)).toBe(values);
  return values.map(({ path, value, from }) => [path, value, from.map(({ policy }) => policy.displayName)]);
}

it('each value is of the last contribution that set it, in the order of first appearance', () => {
  expect(sources({ http: { a: 1, b: 2 }, c: 3 }, { http: { b: 4, d: 5 } }, { c: 6 })).toEqual([
    ['http.a', 1, ['p0']],
    ['http.b', 4, ['p1']],
    ['http.d', 5, ['p1']],
    ['c', 6, ['p2']],
  ]);
});

it('a list is replaced, and one that is appended to has all contributions', () => {
  expect(sources({ list: [1], appendItems: [1] }, { list: [2], appendItems: [2] }, { appendItems: [3] })).toEqual([
    ['list', [2], ['p1']],
    ['appendItems', [1, 2, 3], ['p0', 'p1', 'p2']],
  ]);
  expect(sources({ appendItems: 'x' }, { appendItems: [2] })).toEqual([['appendItems', [2], ['p1']]]);
  expect(sources({ appendItems: { a: 1 } }, { appendItems: [2] })).toEqual([['appendItems', [2], ['p1']]]);
});

it('an object replaces a value and a value an object; an empty object changes no fields', () => {
  expect(sources({ a: 1 }, { a: { b: 2 } })).toEqual([['a.b', 2, ['p1']]]);
  expect(sources({ a: { b: 2 } }, { a: 1 })).toEqual([['a', 1, ['p1']]]);
  expect(sources({ a: { b: 2 } }, { a: {} })).toEqual([['a.b', 2, ['p0']]]);
});
