import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { parsePolicy } from '../policy/parse-policy.ts';
import type { Contribution } from '../policy/resource-rules.ts';
import type { JsonObject } from '../resource/types.ts';
import { fieldOf, problemIn } from './config-problem.ts';

function contribution(name: string, index: number, conf: JsonObject): Contribution {
  return { policy: parsePolicy(make('MeshTimeout', name, {}), 0), index, conf };
}

describe('the cause of a problem with a value', () => {
  const weak = contribution('weak', 2, { http: { requestTimeout: 'x' }, list: [{ a: 1 }, null] });
  const strong = contribution('strong', 3, { http: {}, list: [{ b: 1 }], nothing: null });
  const of = (policy: string, field: string): unknown => ({ policy: `kri_mt_default___${policy}_`, field, reason: 'bad' });

  it.each([
    ['http', 'strong', 'spec.to[3].default.http'],
    ['http.requestTimeout', 'weak', 'spec.to[2].default.http.requestTimeout'],
    ['list[0].a', 'weak', 'spec.to[2].default.list[0].a'],
    ['list[0].b', 'strong', 'spec.to[3].default.list[0].b'],
    ['list[1]', 'weak', 'spec.to[2].default.list[1]'],
    ['nothing', 'strong', 'spec.to[3].default.nothing'],
    ['nothing.inside', 'strong', 'spec.to[3].default.nothing.inside'],
    // Nobody wrote it: a consequence of the whole.
    ['other', 'strong', 'spec.to[3].default.other'],
    ['toString', 'strong', 'spec.to[3].default.toString'],
    ['', 'strong', 'spec.to[3].default'],
  ])('at «%s» is the strongest policy with the value: %s', (path, policy, field) => {
    expect(problemIn([weak, strong], 'to', path, 'bad')).toEqual(of(policy, field));
  });

  it('is the weaker one where it alone has the value, in either order', () => {
    expect(problemIn([strong, weak], 'to', 'list[0].b', 'bad')).toEqual(of('strong', 'spec.to[3].default.list[0].b'));
  });

  it('is the Dataplane where no policy is in force', () => {
    expect(problemIn([], 'to', 'a.b', 'bad')).toEqual({ policy: null, field: 'a.b', reason: 'bad' });
  });
});

it.each([
  ['default', 'a', 'spec.default.a'],
  ['default', '', 'spec.default'],
  ['rules', 'a', 'spec.rules[4].default.a'],
  ['from', '[0].a', 'spec.from[4].default[0].a'],
] as const)('the field of a value in %s at «%s» is %s', (section, path, field) => {
  expect(fieldOf(section, 4, path)).toBe(field);
});
