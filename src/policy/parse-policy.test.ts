import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { parsePolicy } from './parse-policy.ts';

it('a parsed policy has the defaults of its schema and durations in the wire form, for any stored form', () => {
  const http = { perTryTimeout: '60s', hostSelection: [{ predicate: 'OmitPreviousHosts' }] };
  const { to } = parsePolicy(make('MeshRetry', 'a', { to: [{ targetRef: { kind: 'Mesh' }, default: { http } }] }), 1);
  expect(to[0]?.conf).toEqual({
    http: { perTryTimeout: '1m0s', hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }] },
  });
});

it.each([
  ['MeshCircuitBreaker', 0],
  ['MeshTLS', 0],
  ['MeshRateLimit', 1],
])('a rule of a %s has %d matches: what all clients share takes none', (type, matches) => {
  const rules = [{ matches: [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }], default: {} }];
  expect(parsePolicy(make(type, 'a', { rules }), 1).rules[0]?.matches).toHaveLength(matches);
});

it('a policy is read with its places in the spec; what is no object is skipped', () => {
  const item = { targetRef: { kind: 'Mesh' }, default: { a: 1, b: null } };
  const policy = parsePolicy(make('MeshTimeout', 'a', { to: [5, item], rules: [null, item], from: ['x', 'y', item] }), 1);
  expect([policy.to, policy.rules, policy.from].map((items) => items.map(({ index, conf }) => [index, conf]))).toEqual([
    [[1, { a: 1 }]],
    [[1, { a: 1 }]],
    [[2, { a: 1 }]],
  ]);
  expect(parsePolicy(make('MeshTimeout', 'a', { to: 'x' }), 1)).toMatchObject({ to: [], rules: [], from: [], conf: null });
});

describe('spiffeId', () => {
  const id = (value: string): JsonObject => ({ type: 'Exact', value: `spiffe://a/${value}` });

  it.each(['allow', 'deny', 'allowWithShadowDeny'])('in %s of a MeshTrafficPermission is read as spiffeID', (list) => {
    const conf = { [list]: [{ spiffeId: id('x'), sni: { type: 'Exact', value: 's' } }, { spiffeID: id('y') }, 5] };
    const stored = make('MeshTrafficPermission', 'a', { rules: [{ default: conf }] });
    const given = structuredClone(stored.spec);
    expect(parsePolicy(stored, 1).rules[0]?.conf).toEqual({
      [list]: [{ spiffeID: id('x'), sni: { type: 'Exact', value: 's' } }, { spiffeID: id('y') }, 5],
    });
    expect(stored.spec).toEqual(given);
  });

  it('in matches is read as spiffeID; beside spiffeID it stays, so that a check refuses the match', () => {
    const rules = [
      {
        matches: [
          { spiffeID: null, spiffeId: id('x') },
          { spiffeID: id('x'), spiffeId: id('y') },
        ],
        default: {},
      },
    ];
    expect(parsePolicy(make('MeshTimeout', 'a', { rules }), 1).rules[0]?.matches).toEqual([
      { spiffeID: id('x') },
      { spiffeID: id('x'), spiffeId: id('y') },
    ]);
  });
});
