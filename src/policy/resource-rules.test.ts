// The rules of a proxy over those that it shares, and the keys of a resource.
import { expect, it, vi } from 'vitest';
import { make, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { parsePolicy, type ToItem } from './parse-policy.ts';
import { toOrder } from './precedence.ts';
import { keysOf, LayeredRules, ResourceRuleBuilder, RulesOnDemand, type ResourceRule } from './resource-rules.ts';

const resource = makeService('backend');
const rule = (kri: string, layer: string): ResourceRule => ({ kri, resource, section: '', conf: [{ layer }], contributions: [] });
const byKri = (...rules: ResourceRule[]): Map<string, ResourceRule> => new Map(rules.map((one) => [one.kri, one]));
const item = (name: string, targetRef: JsonObject, conf: JsonObject): ToItem => {
  const [first] = parsePolicy(makeTo('MeshTimeout', name, targetRef, conf), 0).to;
  if (first === undefined) throw new Error('no item');
  return first;
};
const service = (sectionName?: string): JsonObject => ({ kind: 'MeshService', name: 'backend', ...(sectionName !== undefined && { sectionName }) }); // oxfmt-ignore

it('layered rules have each key once, and the own rule of a key in both layers', () => {
  const own = byKri(rule('a', 'own'), rule('b', 'own'));
  const layered = new LayeredRules(own, byKri(rule('b', 'shared'), rule('c', 'shared')));
  expect(layered.size).toBe(3);
  expect(['a', 'b', 'c', 'd'].map((kri) => [layered.has(kri), layered.get(kri)?.conf[0]?.['layer']])).toEqual([
    [true, 'own'],
    [true, 'own'],
    [true, 'shared'],
    [false, undefined],
  ]);
  expect([...layered.values()].map(({ kri, conf }) => [kri, conf[0]?.['layer']])).toEqual([
    ['a', 'own'],
    ['b', 'own'],
    ['c', 'shared'],
  ]);
});

it('a resource has a key for itself and for each port that an item names, and an item of the whole resource counts for all', () => {
  const [whole, admin, web] = [item('a', service(), {}), item('b', service('admin'), {}), item('c', service('web'), {})];
  const shown = (items: ToItem[]): unknown =>
    keysOf('kri_', { resource, items }).map(({ kri, section, items: own }) => [
      kri,
      section,
      own.map(({ policy }) => policy.displayName),
    ]);
  expect(shown([admin, whole, web])).toEqual([
    ['kri_admin', 'admin', ['b', 'a']],
    ['kri_', '', ['a']],
    ['kri_web', 'web', ['a', 'c']],
  ]);
  expect(shown([admin])).toEqual([['kri_admin', 'admin', ['b']]]);
});

it('rules are built when they are first read, once, and merge the items of the Mesh with those of the key in order', () => {
  const mesh = [item('d', { kind: 'Mesh' }, { http: { requestTimeout: '1s', streamIdleTimeout: '1s' } }), item('b', { kind: 'Mesh' }, { http: { requestTimeout: '2s' } })]; // oxfmt-ignore
  const builder = new ResourceRuleBuilder('MeshTimeout', toOrder(''), mesh);
  const build = vi.spyOn(builder, 'build');
  const own = [item('c', service(), { http: { requestTimeout: '3s' }, idleTimeout: '9s' })];
  const key = { kri: 'kri_', resource, section: '', items: own };
  const meshKey = { kri: 'kri_mesh', resource: make('Mesh', 'default', {}), section: '', items: [] };
  const rules = new RulesOnDemand(builder, new Map([key, meshKey].map((one) => [one.kri, one])));
  expect([rules.size, rules.has('kri_'), rules.has('other'), build.mock.calls.length]).toEqual([2, true, false, 0]);
  expect(rules.get('other')).toBeUndefined();
  const found = rules.get('kri_');
  expect(found?.contributions.map(({ policy }) => policy.displayName)).toEqual(['d', 'b', 'c']);
  expect(found?.conf).toEqual([{ http: { requestTimeout: '3s', streamIdleTimeout: '1s' }, idleTimeout: '9s' }]);
  expect([rules.get('kri_') === found, [...rules.values()].map(({ kri, conf }) => [kri, conf[0]])]).toEqual([
    true,
    [
      ['kri_', found?.conf[0]],
      ['kri_mesh', { http: { requestTimeout: '2s', streamIdleTimeout: '1s' } }],
    ],
  ]);
  expect(build).toHaveBeenCalledTimes(2);
});
