// Malformed policies from peers. The tables of roles are in rules-visibility-global.test.ts and the golden cases.
import { describe, expect, it } from 'vitest';
import { label } from './labels.ts';
import { policyRole } from './policy-role.ts';
import type { Json } from './types.ts';

describe('the role of a policy', () => {
  const kinds: readonly Json[] = [{ toString: 1 }, { valueOf: null, toString: null }, ['MeshService'], 7, null];
  it.each(kinds.map((kind) => ({ kind })))('is consumer when the kind of an item is $kind', ({ kind }) => {
    const policy = { labels: { [label.namespace]: 'shop' }, spec: { to: [{ targetRef: { kind, name: 'a' } }] } };
    expect(policyRole(policy)).toBe('consumer');
    expect(policyRole(policy, 'kuma')).toBe('consumer');
  });
});
