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

it('the pool gives each address of its network once before it gives a released one again', () => {
  const pool = new VipPool('241.0.0.6/30');
  const given = ['a', 'b', 'c'].map((id) => pool.take(id));
  expect(given).toEqual(['241.0.0.4', '241.0.0.5', '241.0.0.6']);
  pool.release('a');
  expect([pool.addressOf('a'), pool.holderOf('241.0.0.4')]).toEqual([undefined, undefined]);
  expect([pool.take('d'), pool.take('e'), pool.take('f')]).toEqual(['241.0.0.7', '241.0.0.4', null]);
  pool.release('unknown');
  pool.release('c');
  pool.release('b');
  expect([pool.take('g'), pool.take('h')]).toEqual(['241.0.0.5', '241.0.0.6']);
});

it('a row keeps one address, in any network, and no text that is no address', () => {
  const pool = new VipPool('241.0.0.0/32');
  for (const text of ['', 'none', '241.0.0']) pool.hold('a', text);
  expect(pool.addressOf('a')).toBeUndefined();
  pool.hold('a', 'fd00::1');
  pool.hold('a', '10.0.0.1');
  expect([pool.addressOf('a'), pool.holderOf('fd00::1'), pool.holderOf('10.0.0.1')]).toEqual(['10.0.0.1', undefined, 'a']);
  expect([pool.take('b'), pool.take('c')]).toEqual(['241.0.0.0', null]);
});
