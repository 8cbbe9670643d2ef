import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { RefusedProxies } from './refused-proxies.ts';

let clock: ManualClock;
let refused: RefusedProxies;
const proxy = (name: string) => ({ mesh: 'shop', name });
const names = (): string[] => refused.list().map(({ name }) => name);

beforeEach(() => {
  clock = new ManualClock();
  refused = new RefusedProxies(clock);
});

it('a refused proxy is kept with its last reason and the number of its calls', () => {
  refused.refused(proxy('cart'), 'no token', false);
  refused.refused(proxy('cart'), 'forged', false);
  expect(refused.list()).toMatchObject([{ mesh: 'shop', name: 'cart', reason: 'forged', count: 2, isKnown: false }]);
});

it('a proxy that is let in, and one that has not come for two minutes, are forgotten', async () => {
  refused.refused(proxy('cart'), 'forged', false);
  refused.refused(proxy('web'), 'of another mesh', true);
  refused.admitted(proxy('web'));
  expect(names()).toEqual(['cart']);
  await clock.advance(120_000);
  expect(names()).toEqual([]);
});

it('callers without a good token fill a list of a hundred, and push out none whose token is good', () => {
  refused.refused(proxy('cart'), 'of another mesh', true);
  for (let number = 0; number < 1_000; number += 1) refused.refused(proxy(`x${String(number)}`), 'forged', false);
  refused.refused(proxy('x'.repeat(1_000)), 'forged', false);
  expect(names()).toHaveLength(101);
  expect(names()).toContain('cart');
});
