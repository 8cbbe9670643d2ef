// Responses that could not be sent, and what a peer cannot get.
import { describe, expect, it } from 'vitest';
import { namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import { TypeLog } from '../log/type-log.ts';

describe('a full state that could not be sent', () => {
  it('is sent again as it is then, and leaves nothing that the peer holds', () => {
    const log = new TypeLog('T');
    for (const name of ['a', 'b']) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma' });
    expect(namesOf(subscription.next())).toEqual(['a', 'b']);
    remove(log, 'a');
    put(log, 'c', '1');
    subscription.withdraw();
    expect([subscription.isSettled, subscription.isBehind]).toEqual([false, true]);
    const again = subscription.next();
    expect([namesOf(again), again?.removed]).toEqual([['b', 'c'], []]);
    subscription.acknowledge();
    expect([subscription.isSettled, subscription.isBehind, subscription.next()]).toEqual([true, false, null]);
  });

  it('is not what a later change is, nor a part for a Meridian peer: both stay pending', () => {
    for (const form of ['native', 'kuma'] as const) {
      const log = new TypeLog('T');
      put(log, 'a', '1');
      const subscription = subscribe(log, { form });
      if (form === 'kuma') {
        subscription.next();
        subscription.acknowledge();
        put(log, 'b', '1');
      }
      expect(subscription.next()?.entries).toHaveLength(1);
      subscription.withdraw();
      expect(subscription.next()).toBeNull();
      subscription.acknowledge();
      expect([subscription.isSettled, subscription.isBehind]).toEqual([true, false]);
      subscription.withdraw();
      expect(subscription.next()).toBeNull();
    }
  });
});

it('a peer is settled when its first state was sent completely and answered', () => {
  const log = new TypeLog('T');
  for (const name of ['a', 'b']) put(log, name, '1');
  const subscription = subscribe(log, { chunkBytes: () => 1 });
  expect(subscription.isSettled).toBe(false);
  expect(subscription.next()).toMatchObject({ entries: { length: 1 }, isPartial: true });
  subscription.acknowledge();
  expect(subscription.isSettled).toBe(false);
  expect(subscription.next()).toMatchObject({ entries: { length: 1 }, isPartial: false });
  expect(subscription.isSettled).toBe(false);
  subscription.acknowledge();
  expect([subscription.isSettled, subscription.acknowledged]).toEqual([true, log.position]);
});

describe('a withheld resource', () => {
  const withheldIn = (then: (log: TypeLog) => void): string[] => {
    const log = new TypeLog('T');
    put(log, 'odd', '1');
    const subscription = subscribe(log, { form: 'kuma' });
    subscription.next();
    subscription.acknowledge();
    expect([...subscription.withheld]).toEqual([['odd', 'the peer cannot read 1']]);
    then(log);
    subscription.next();
    return [...subscription.withheld.values()];
  };

  it('stays reported while others change, with its last reason', () => {
    expect(withheldIn((log) => put(log, 'other', '1'))).toEqual(['the peer cannot read 1']);
    expect(withheldIn((log) => put(log, 'odd', '2'))).toEqual(['the peer cannot read 2']);
  });

  it('is removed from a peer that has it in an older form, unless it is a Mesh, which stays until it is deleted', () => {
    for (const [type, removed] of [
      ['MeshTimeout', ['one']],
      ['Mesh', []],
    ] as const) {
      const log = new TypeLog(type);
      const subscription = subscribe(log);
      const answered = () => {
        const draft = subscription.next();
        subscription.acknowledge();
        return draft;
      };
      put(log, 'one', '1');
      answered();
      put(log, 'one', 'too large'.repeat(1_000));
      expect(answered()?.removed ?? []).toEqual(removed);
      expect(subscription.withheldCount).toBe(1);
      put(log, 'one', '3');
      expect(namesOf(answered())).toEqual(['one']);
      put(log, 'one', 'too large'.repeat(1_000));
      answered();
      remove(log, 'one');
      expect(answered()?.removed ?? []).toEqual(type === 'Mesh' ? ['one'] : []);
    }
  });

  it('is not reported after it is deleted, or when the peer can read it', () => {
    expect(withheldIn((log) => remove(log, 'odd'))).toEqual([]);
    expect(withheldIn((log) => put(log, 'readable', '2', 'odd'))).toEqual([]);
  });
});
