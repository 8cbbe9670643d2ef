// One peer and one type: the responses, the answers to them, and removals.
import { describe, expect, it, vi } from 'vitest';
import { namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import { TypeLog } from '../log/type-log.ts';

describe('a subscription', () => {
  it('answers the first request also when the log is empty', () => {
    const subscription = subscribe(new TypeLog('T'));
    expect(subscription.next()).toEqual({ entries: [], removed: [], bytes: 0, isPartial: false, isWithdrawal: false, upTo: 0 });
    subscription.acknowledge();
    expect(subscription.next()).toBeNull();
  });

  it.each([new Map<string, string>(), null])('answers the first request of a peer that has nothing once: %s', (known) => {
    const subscription = subscribe(new TypeLog('T'), { known });
    expect([subscription.isSettled, subscription.isBehind]).toEqual([false, false]);
    expect(subscription.next()).toMatchObject({ entries: [], removed: [], upTo: 0 });
    expect([subscription.next(), subscription.isSettled]).toEqual([null, false]);
    subscription.acknowledge();
    expect([subscription.next(), subscription.isSettled, subscription.acknowledged]).toEqual([null, true, 0]);
  });

  it('is behind until the answer to the only resource, and sends it', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = subscribe(log, { known: new Map() });
    expect([subscription.isBehind, subscription.behindBy(9), subscription.acknowledged]).toEqual([true, 1, 0]);
    expect(namesOf(subscription.next())).toEqual(['r']);
    expect([subscription.isBehind, subscription.behindBy(9)]).toEqual([true, 1]);
    subscription.acknowledge();
    expect([subscription.isBehind, subscription.behindBy(9), subscription.acknowledged]).toEqual([false, 0, 1]);
  });

  it('counts no more resources behind than its limit', () => {
    const log = new TypeLog('T');
    for (const name of ['a', 'b', 'c']) put(log, name, '1');
    const subscription = subscribe(log);
    expect([0, 1, 2, 3, 4].map((limit) => subscription.behindBy(limit))).toEqual([0, 1, 2, 3, 3]);
    subscription.next();
    subscription.acknowledge();
    remove(log, 'b');
    expect([0, 1, 2].map((limit) => subscription.behindBy(limit))).toEqual([0, 1, 1]);
  });

  it('sends only later changes after an ACK', () => {
    const log = new TypeLog('T');
    for (let i = 0; i < 50; i += 1) put(log, `r${String(i)}`, '1');
    const subscription = subscribe(log);
    expect(subscription.next()?.entries).toHaveLength(50);
    put(log, 'r7', '2');
    expect(subscription.next()).toBeNull();
    subscription.acknowledge();
    expect(namesOf(subscription.next())).toEqual(['r7']);
  });

  it('coalesces a thousand changes that come while a response is in flight', () => {
    const log = new TypeLog('T');
    put(log, 'r', '0');
    const subscription = subscribe(log);
    subscription.next();
    for (let i = 1; i <= 1000; i += 1) put(log, 'r', String(i));
    subscription.acknowledge();
    expect(namesOf(subscription.next())).toEqual(['r']);
    subscription.acknowledge();
    expect(subscription.next()).toBeNull();
  });

  it('sends a removal only to peers that may hold the name (engine 3)', () => {
    const log = new TypeLog('T');
    let visible = true;
    const sees = subscribe(log, { canSee: () => visible });
    const never = subscribe(log, { canSee: () => false });
    put(log, 'r', '1');
    sees.next();
    never.next();
    sees.acknowledge();
    never.acknowledge();
    visible = false;
    put(log, 'r', '2');
    put(log, 'r', '3');
    expect(sees.next()).toMatchObject({ entries: [], removed: ['r'] });
    expect(never.next()).toBeNull();
  });

  it('ends without a look at resources that the peer does not have, however many there are', () => {
    const log = new TypeLog('T');
    for (let i = 0; i < 100; i += 1) put(log, `r${String(i)}`, '1');
    const subscription = subscribe(log, { canSee: ({ version }) => version === '2' });
    put(log, 'r70', '2');
    expect(namesOf(subscription.next())).toEqual(['r70']);
    const walk = vi.spyOn(log, 'since');
    const release = vi.spyOn(log, 'release');
    subscription.close();
    expect([walk.mock.calls.length, release.mock.calls.map(([{ key }]) => key)]).toEqual([0, [log.find('r70')?.key]]);
  });

  it('drops a tombstone when no subscription holds it any more (engine 4)', () => {
    const log = new TypeLog('T');
    const subscription = subscribe(log);
    put(log, 'r', '1');
    subscription.next();
    subscription.acknowledge();
    remove(log, 'r');
    expect(log.size).toBe(1);
    expect(subscription.next()?.removed).toEqual(['r']);
    subscription.acknowledge();
    expect(log.size).toBe(0);
    for (let i = 0; i < 1000; i += 1) {
      put(log, `churn-${String(i)}`, '1');
      remove(log, `churn-${String(i)}`);
    }
    expect(log.size).toBe(0);
  });

  it('sends a deletion and recreation during a response in flight as an update (engine 7)', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = subscribe(log);
    subscription.next();
    remove(log, 'r');
    put(log, 'r', '2');
    subscription.acknowledge();
    expect(subscription.next()).toMatchObject({ removed: [], entries: [expect.anything()] });
  });

  it('sends a removal and then an addition for a name that another slot has now (engine 7)', () => {
    const log = new TypeLog('T');
    put(log, 'mesh', '1', 'mesh@1');
    const subscription = subscribe(log);
    subscription.next();
    remove(log, 'mesh@1');
    put(log, 'mesh', '1', 'mesh@2');
    put(log, 'other', '1');
    subscription.acknowledge();
    expect(subscription.next()).toMatchObject({ removed: ['mesh'], entries: [] });
    subscription.acknowledge();
    expect(namesOf(subscription.next())).toEqual(['mesh', 'other']);
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
    expect(log.size).toBe(2);
  });

  it('has everything when a resource came and went that the peer never had', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = subscribe(log);
    subscription.next();
    put(log, 'short', '1');
    remove(log, 'short');
    subscription.acknowledge();
    expect([subscription.isBehind, subscription.next(), subscription.isBehind]).toEqual([true, null, false]);
  });

  it('does not repeat a refused removal when another slot has the name now (engine 7, 15)', () => {
    const log = new TypeLog('T');
    put(log, 'mesh', '1', 'mesh@1');
    const subscription = subscribe(log, { form: 'native' });
    subscription.next();
    subscription.acknowledge();
    remove(log, 'mesh@1');
    put(log, 'mesh', '1', 'mesh@2');
    expect(subscription.next()).toMatchObject({ removed: ['mesh'], entries: [] });
    subscription.reject(new Map([['mesh', 'no']]), 'no');
    expect(namesOf(subscription.next())).toEqual(['mesh']);
    subscription.acknowledge();
    subscription.retry();
    expect([subscription.next(), subscription.isBehind]).toEqual([null, false]);
  });
});
