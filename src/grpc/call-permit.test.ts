// The calls of one address, with a clock that the test turns.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { messageOf } from '../base/errors.ts';
import { AddressLimiter } from './address-limiter.ts';
import { callingConnection, callPermit, endWaits, type CallingConnection, type CallPermit } from './call-permit.ts';

let clock: ManualClock;
let limiter: AddressLimiter;
/** The numbers of the calls that have begun, in that order. */
let begun: number[];
let calls: CallPermit[];
let ends: string[];

beforeEach(() => {
  clock = new ManualClock();
  limiter = new AddressLimiter(clock);
  [begun, calls, ends] = [[], [], []];
});

function connect(): CallingConnection {
  const connection: CallingConnection = callingConnection(limiter, () => endWaits(connection));
  return connection;
}

/** @param then handles a call that has begun */
function call(connection: CallingConnection, then: (permit: CallPermit) => void = () => undefined): void {
  const permit = callPermit(connection);
  const number = calls.push(permit) - 1;
  permit.take().then(
    async () => {
      begun.push(number);
      await Promise.resolve();
      then(permit);
    },
    (error: unknown) => void ends.push(messageOf(error)),
  );
}

const refuse = (permit: CallPermit): void => permit.refuse();
const giveBack = (permit: CallPermit): void => permit.giveBack();
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const times = (count: number, task: () => void): void => upTo(count).forEach(task);

describe('the calls of an address', () => {
  it('that come at once and are refused begin a hundred at once, then twenty a second, in their order', async () => {
    times(200, () => call(connect(), refuse));
    await clock.advance(49);
    expect(begun).toEqual(upTo(100));
    await clock.advance(1);
    expect(begun).toEqual(upTo(101));
    await clock.advance(950);
    expect(begun).toEqual(upTo(120));
    await clock.advance(4_000);
    expect([begun, ends]).toEqual([upTo(200), []]);
  });

  it('that come one after the other do not overtake those that wait', async () => {
    const connection = connect();
    times(102, () => call(connection, refuse));
    await clock.advance(60);
    call(connection, refuse);
    await clock.advance(39);
    expect(begun).toEqual(upTo(101));
    await clock.advance(51);
    expect(begun).toEqual(upTo(103));
  });

  it('that are good begin without the rate, however many come at once', async () => {
    times(500, () => call(connect(), giveBack));
    await clock.advance(0);
    expect([begun, ends]).toEqual([upTo(500), []]);
  });

  it('that are good begin without the rate beside some that are refused', async () => {
    times(500, () => call(connect(), calls.length % 9 === 0 ? refuse : giveBack));
    await clock.advance(0);
    expect([begun.length, ends]).toEqual([500, []]);
  });

  it('begin when the part of a permit that was there is whole', async () => {
    const connection = connect();
    times(100, () => call(connection, refuse));
    await clock.advance(20);
    call(connection, refuse);
    await clock.advance(29);
    expect(begun).toHaveLength(100);
    await clock.advance(1);
    expect(begun).toHaveLength(101);
  });

  it('get back all permits in five seconds, and no more than these', async () => {
    const connection = connect();
    times(100, () => call(connection, refuse));
    await clock.advance(60_000);
    times(150, () => call(connection, refuse));
    await clock.advance(0);
    expect(begun).toHaveLength(200);
  });

  it('begin at the rate while those before them neither pass nor fail', async () => {
    const connection = connect();
    times(120, () => call(connection));
    await clock.advance(1_000);
    expect(begun).toEqual(upTo(120));
    // No more permits come back than there are.
    await clock.advance(5_000);
    calls.forEach(giveBack);
    times(150, () => call(connection));
    await clock.advance(0);
    expect(begun).toHaveLength(220);
  });

  it('are refused when a hundred wait for the rate, the newest first', async () => {
    const [first, second] = [connect(), connect()];
    times(100, () => call(connect(), refuse));
    times(100, () => call(first));
    call(second);
    await clock.advance(0);
    expect([begun.length, ends, second.isClosed]).toEqual([100, ['too many calls from this address were refused'], true]);
    call(first);
    await clock.advance(0);
    const closed = upTo(100).map(() => 'the connection was closed');
    expect([first.isClosed, ends.slice(1).toSorted()]).toEqual([true, [...closed, ends[0]]]);
  });

  it.each(['is refused then', 'was refused before'])(
    'end with their connection when 17 of it wait, and one of it %s',
    async (when) => {
      const [bad, good] = [connect(), connect()];
      times(99, () => callPermit(connect()).refuse());
      const refused = callPermit(bad);
      await refused.take();
      times(when === 'was refused before' ? 16 : 17, () => call(bad));
      times(20, () => call(good));
      expect(bad.isClosed).toBe(false);
      refused.refuse();
      if (when === 'was refused before') call(bad);
      await clock.advance(0);
      expect([bad.isClosed, good.isClosed, begun, ends]).toEqual([
        true,
        false,
        [],
        expect.arrayContaining(['the connection was closed']),
      ]);
      await clock.advance(1_000);
      expect(begun).toHaveLength(20);
    },
  );
});

describe('a call', () => {
  it.each<[string, readonly (keyof Pick<CallPermit, 'refuse' | 'giveBack' | 'leave'>)[], number]>([
    ['that is refused costs one permit', ['refuse', 'giveBack', 'refuse', 'leave'], 1],
    ['that is refused after it gave its permit back costs one permit', ['giveBack', 'refuse'], 1],
    ['that gives its permit back costs none', ['giveBack', 'giveBack'], 0],
    ['whose caller leaves in its permit costs none if it gives the permit back', ['leave', 'giveBack'], 0],
  ])('%s', async (_, said, cost) => {
    const connection = connect();
    call(connection, (permit) => said.forEach((what) => permit[what]()));
    await clock.advance(0);
    times(100, () => call(connection, refuse));
    await clock.advance(0);
    expect(begun).toHaveLength(1 + 100 - cost);
  });

  it('that is refused before it has a permit costs one permit', async () => {
    callPermit(connect()).refuse();
    times(100, () => call(connect(), refuse));
    await clock.advance(0);
    expect(begun).toHaveLength(99);
  });

  it('that is refused without a permit does not take the permit of one that waits', async () => {
    const connection = connect();
    times(101, () => call(connection, refuse));
    await clock.advance(50);
    times(10, () => callPermit(connection).refuse());
    call(connection);
    await clock.advance(50);
    expect(begun).toEqual(upTo(102));
  });

  it('that is admitted lets the calls of its connection begin without permits', async () => {
    const [connection, other] = [connect(), connect()];
    times(99, () => call(other, refuse));
    call(connection);
    times(20, () => call(connection, refuse));
    call(other);
    await clock.advance(0);
    expect(begun).toHaveLength(100);
    calls[99]?.admit();
    times(20, () => call(connection, refuse));
    await clock.advance(0);
    // The admitted stream gave its permit back to the call of the other connection.
    expect(begun.toSorted((a, b) => a - b)).toEqual(upTo(141));
  });

  it('whose caller has left does not begin, and costs nothing', async () => {
    const connection = connect();
    times(103, () => call(connection, refuse));
    await clock.advance(0);
    calls[100]?.leave();
    await clock.advance(50);
    expect([begun, ends]).toEqual([[...upTo(100), 101], ['the caller has left']]);
    const early = callPermit(connection);
    early.leave();
    await expect(early.take()).rejects.toThrow('the caller has left');
    early.refuse();
    await clock.advance(50);
    expect(begun.at(-1)).toBe(102);
  });

  it('on a closed connection does not begin', async () => {
    const connection = connect();
    times(101, () => call(connection));
    await clock.advance(0);
    endWaits(connection);
    await expect(callPermit(connection).take()).rejects.toThrow('the connection was closed');
    await expect(callPermit(null).take()).rejects.toThrow('the connection was closed');
    await clock.advance(50);
    expect([begun.length, ends]).toEqual([100, ['the connection was closed']]);
    // These returns of permits have no effect.
    calls.forEach(giveBack);
    times(100, () => call(connect(), refuse));
    await clock.advance(0);
    expect(begun).toHaveLength(200);
  });
});
