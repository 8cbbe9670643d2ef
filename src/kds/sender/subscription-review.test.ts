// Slots whose visibility to one peer changes without a change of the log, as when a mesh is given to a zone, or taken from it.
import { describe, expect, it } from 'vitest';
import { nameOf, namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import type { Subscription } from './subscription.ts';
import { TypeLog, type Slot } from '../log/type-log.ts';

function setUp(type = 'MeshTimeout') {
  const log = new TypeLog(type);
  const hidden = new Set<string>();
  for (const name of ['a', 'b']) put(log, name, '1');
  const subscription = subscribe(log, { canSee: (entry) => !hidden.has(nameOf(entry)) });
  const slotOf = (name: string): Slot => log.find(name) as Slot;
  const review = (...names: string[]): boolean => subscription.review(names.map(slotOf));
  return { log, hidden, subscription, slotOf, review };
}

/** Names added and removed by the next response, which the peer acknowledges; null without one. */
function exchange(subscription: Subscription): [added: string[], removed: readonly string[]] | null {
  const draft = subscription.next();
  if (draft === null) return null;
  subscription.acknowledge();
  return [namesOf(draft), draft.removed];
}

describe('a slot that a peer may no longer see', () => {
  it('is removed without a change of the log, and added when the peer may see it again', () => {
    const { hidden, subscription, slotOf, review, log } = setUp();
    exchange(subscription);
    const { position } = log;
    hidden.add('a');
    expect(review('a', 'b')).toBe(true);
    expect([subscription.isBehind, subscription.isSettled, subscription.behindBy(9)]).toEqual([true, false, 1]);
    expect(exchange(subscription)).toEqual([[], ['a']]);
    expect([subscription.isBehind, subscription.isSettled, subscription.behindBy(9)]).toEqual([false, true, 0]);
    expect(subscription.holding(slotOf('a')).state).toBe('hidden');
    hidden.clear();
    expect(review('a', 'b')).toBe(true);
    expect(subscription.holding(slotOf('a')).state).toBe('pending');
    expect(exchange(subscription)).toEqual([['a'], []]);
    expect([subscription.next(), log.position]).toEqual([null, position]);
  });

  it('is counted among what the peer has not confirmed, also after it moved in the log', () => {
    const { hidden, subscription, slotOf, log } = setUp();
    exchange(subscription);
    hidden.add('a');
    log.touch(slotOf('a'));
    expect([subscription.isBehind, subscription.behindBy(9)]).toEqual([true, 1]);
    expect(exchange(subscription)).toEqual([[], ['a']]);
    expect(subscription.behindBy(9)).toBe(0);
  });

  it('is added again when the peer may see it before it has answered the removal', () => {
    const { hidden, subscription, review } = setUp();
    exchange(subscription);
    hidden.add('a');
    review('a');
    expect(subscription.next()?.removed).toEqual(['a']);
    hidden.clear();
    review('a');
    subscription.acknowledge();
    expect(exchange(subscription)).toEqual([['a'], []]);
  });

  it('is nothing new to a peer that sees the same as before', () => {
    const { hidden, subscription, review } = setUp();
    exchange(subscription);
    hidden.add('a');
    hidden.delete('a');
    expect(review('a')).toBe(false);
    expect(subscription.next()).toBeNull();
  });

  it('is not sent twice when the log has it for the peer anyway', () => {
    const { hidden, subscription, review, log } = setUp();
    hidden.add('a');
    exchange(subscription);
    hidden.clear();
    put(log, 'a', '2');
    review('a');
    expect(exchange(subscription)).toEqual([['a'], []]);
    expect(subscription.next()).toBeNull();
  });

  it('does nothing when its resource has gone meanwhile, and another has its place', () => {
    const { hidden, subscription, review, log } = setUp();
    hidden.add('a');
    exchange(subscription);
    hidden.clear();
    review('a');
    remove(log, 'a');
    put(log, 'c', '1');
    expect(exchange(subscription)).toEqual([['c'], []]);
    expect(subscription.next()).toBeNull();
  });
});

describe('a withheld resource that a peer may no longer see', () => {
  it('is not reported anymore, and is reported again when the peer may see it again', () => {
    const { hidden, subscription, review, log } = setUp();
    const large = 'large'.repeat(300);
    put(log, large, '1');
    exchange(subscription);
    expect(subscription.withheldCount).toBe(1);
    hidden.add(large);
    expect(review(large)).toBe(true);
    expect([subscription.next(), subscription.withheldCount]).toEqual([null, 0]);
    expect([review(large), subscription.isSettled]).toEqual([false, true]);
    hidden.clear();
    expect(review(large)).toBe(true);
    expect([subscription.next(), subscription.withheldCount]).toEqual([null, 1]);
  });
});

describe('a Mesh that exists and is taken from a peer', () => {
  it('is a withdrawal, and never in one response with a Mesh that was deleted', () => {
    const { hidden, subscription, review, log } = setUp('Mesh');
    exchange(subscription);
    hidden.add('a');
    review('a');
    remove(log, 'b');
    const drafts = [subscription.next()];
    subscription.acknowledge();
    drafts.push(subscription.next());
    expect(drafts.map((draft) => [draft?.removed, draft?.isWithdrawal])).toEqual([
      [['b'], false],
      [['a'], true],
    ]);
  });

  it('is a withdrawal for a peer that resumes with it', () => {
    const { log, hidden } = setUp('Mesh');
    hidden.add('a');
    const known = new Map([
      ['a', '1'],
      ['b', '1'],
      ['gone', '1'],
    ]);
    const subscription = subscribe(log, { canSee: (entry) => !hidden.has(nameOf(entry)), known });
    const first = subscription.next();
    expect([first?.removed, first?.isWithdrawal]).toEqual([['a'], true]);
    // The peer keeps it: the removal is tried again, and the Mesh is sent when the peer may see it.
    subscription.reject(new Map([['a', 'it has dataplanes']]), '');
    expect(exchange(subscription)).toEqual([[], ['gone']]);
    expect(subscription.nacked.size).toBe(1);
    subscription.retry();
    const again = subscription.next();
    expect([again?.removed, again?.isWithdrawal]).toEqual([['a'], true]);
    subscription.reject(new Map([['a', 'it has dataplanes']]), '');
    hidden.clear();
    expect(subscription.review([log.find('a') as Slot])).toBe(true);
    expect(exchange(subscription)).toEqual([['a'], []]);
    expect([subscription.nacked.size, subscription.next()]).toEqual([0, null]);
  });
});
