// The size of responses, and the content of the first one: the difference to the peer's state, or the full state in parts.
import { describe, expect, it } from 'vitest';
import { namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import { TypeLog } from '../log/type-log.ts';

describe('a subscription', () => {
  it('sends no response over the message limit, with any entries, removals and retries', () => {
    const log = new TypeLog('T');
    const known = new Map(Array.from({ length: 300 }, (_, i) => [`gone-${String(i)}`, '1']));
    const put100 = (version: string): void => {
      for (let i = 0; i < 100; i += 1) put(log, `r${String(i)}`.padEnd(100 + 8 * i, '-'), version);
    };
    put100('1');
    const subscription = subscribe(log, { known, chunkBytes: () => 950 });
    const sizes: number[] = [];
    const seen: string[] = [];
    const removed: string[] = [];
    const drain = (): void => {
      for (let draft = subscription.next(); draft !== null; draft = subscription.next()) {
        const names = draft.removed.reduce((sum, one) => sum + one.length + 3, 0);
        sizes.push(draft.entries.reduce((sum, { length }) => sum + length, names));
        seen.push(...namesOf(draft));
        removed.push(...draft.removed);
        if (draft.entries.length > 0 && seen.length <= 100)
          subscription.reject(new Map(namesOf(draft).map((name) => [name, 'no'])), 'no');
        else subscription.acknowledge();
      }
    };
    drain();
    expect([seen.length, removed.length, subscription.nacked.size]).toEqual([100, 300, 100]);
    subscription.retry();
    drain();
    expect([seen.length, subscription.nacked.size]).toEqual([200, 0]);
    for (let i = 0; i < 100; i += 1) remove(log, `r${String(i)}`.padEnd(100 + 8 * i, '-'));
    drain();
    expect(removed.length).toBe(400);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    expect(log.size).toBe(0);
  });

  it('sends a resource of the maximum message size, and withholds a resource one byte larger', () => {
    const log = new TypeLog('T');
    put(log, 'name', '1');
    put(log, 'names', '1');
    const largestBytes = Buffer.byteLength(JSON.stringify(['name', '1']));
    const subscription = subscribe(log, { largestBytes });
    expect(namesOf(subscription.next())).toEqual(['name']);
    expect([...subscription.withheld.keys()]).toEqual(['names']);
  });

  it('resumes with the difference and removes resources that only the peer has (D29)', () => {
    const log = new TypeLog('T');
    put(log, 'same', '1');
    put(log, 'changed', '2');
    put(log, 'new', '1');
    const known = new Map([
      ['same', '1'],
      ['changed', '1'],
      ['gone', '1'],
      ['unknown-version', ''],
    ]);
    put(log, 'unknown-version', '5');
    const subscription = subscribe(log, { known });
    const draft = subscription.next();
    expect(namesOf(draft).sort()).toEqual(['changed', 'new', 'unknown-version']);
    expect(draft?.removed).toEqual(['gone']);
    subscription.acknowledge();
    remove(log, 'same');
    expect(subscription.next()?.removed).toEqual(['same']);
  });

  it('splits a full state for a Meridian peer and marks its end, also when the last part is empty', () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    put(log, 'b', '1');
    const subscription = subscribe(log, { chunkBytes: () => 1 });
    expect(subscription.next()).toMatchObject({ entries: [expect.anything()], isPartial: true });
    remove(log, 'b');
    subscription.acknowledge();
    expect(subscription.next()).toMatchObject({ entries: [], isPartial: false });
    subscription.acknowledge();
    expect(subscription.next()).toBeNull();
  });

  it('splits a first state only for a Meridian peer', () => {
    const log = new TypeLog('T');
    for (let i = 0; i < 10; i += 1) put(log, `r${String(i)}`, '1');
    const kuma = subscribe(log, { form: 'kuma', chunkBytes: () => 20 });
    expect(kuma.next()).toMatchObject({ entries: { length: 10 }, isPartial: false });
    const resuming = subscribe(log, { chunkBytes: () => 20, known: new Map([['gone', '1']]) });
    const seen: string[] = [];
    const removed: string[] = [];
    for (let draft = resuming.next(); draft !== null; draft = resuming.next()) {
      seen.push(...namesOf(draft));
      removed.push(...draft.removed);
      resuming.acknowledge();
    }
    expect(seen).toHaveLength(10);
    expect(removed).toEqual(['gone']);
  });
});
