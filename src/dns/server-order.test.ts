import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Resolvers } from './resolv-conf.ts';
import { ServerOrder } from './server-order.ts';

const servers = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((address) => ({ address, port: 53 }));
const [first, second] = servers as [(typeof servers)[0], (typeof servers)[0]];
const resolvers = (rotates = false): Resolvers => ({ servers, timeoutMs: 5_000, attempts: 2, rotates });

function setUp(): { clock: ManualClock; order: ServerOrder; ends: (given?: Resolvers) => string } {
  const clock = new ManualClock();
  const order = new ServerOrder(clock);
  const ends = (given = resolvers()): string =>
    order
      .of(given)
      .map(({ address }) => address.at(-1))
      .join('');
  return { clock, order, ends };
}

describe('ServerOrder', () => {
  it('is that of the file', () => {
    const { ends } = setUp();
    expect([ends(), ends()]).toEqual(['123', '123']);
  });

  it('begins with each server in turn where the file says rotate', () => {
    const { ends } = setUp();
    expect([1, 2, 3, 4].map(() => ends(resolvers(true)))).toEqual(['123', '231', '312', '123']);
  });

  it('has servers last that did not answer in the last half minute', async () => {
    const { clock, order, ends } = setUp();
    order.note(first, false);
    expect(ends()).toBe('231');
    order.note(second, false);
    expect(ends()).toBe('312');
    order.note(first, true);
    expect(ends()).toBe('132');
    await clock.advance(30_000);
    expect(ends()).toBe('123');
  });
});
