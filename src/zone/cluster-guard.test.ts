import { describe, expect, it } from 'vitest';
import { decideCluster } from './cluster-guard.ts';

describe('decideCluster', () => {
  it.each([
    [null, 'a', 'first'],
    ['', 'a', 'first'],
    ['a', 'a', 'same'],
    ['a', 'b', 'other'],
    ['a', '', 'other'],
  ])('known %j, offered %j: %s', (known, offered, expected) => {
    expect(decideCluster(known, offered)).toBe(expected);
  });
});
