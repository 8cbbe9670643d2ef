// The allocation of virtual addresses.
import { expect, it } from 'vitest';
import { VipPool } from './vip-pool.ts';

it('the pool takes an address from its holder when another row has it stored', () => {
  const pool = new VipPool('241.0.0.0/8');
  pool.hold('a', '241.0.0.1');
  pool.hold('b', '241.0.0.1');
  expect([pool.addressOf('a'), pool.addressOf('b')]).toEqual([undefined, '241.0.0.1']);
  pool.release('a');
  expect(pool.holderOf('241.0.0.1')).toBe('b');
  expect(pool.take('a')).toBe('241.0.0.0');
});
