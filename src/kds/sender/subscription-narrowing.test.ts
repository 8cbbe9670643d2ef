// The search of a subscription for the refused resource when a NACK names none, as with Kuma peers.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { namesOf, put, read, remove, subscribe } from '../../../test/support/fake-entries.ts';
import type { Draft, Item } from './response-draft.ts';
import { MAX_PROBES } from './nacked-resources.ts';
import type { Subscription } from './subscription.ts';
import { TypeLog } from '../log/type-log.ts';

const namesIn = (items: ReadonlyMap<Item, string>): string[] => [...items.keys()].map(({ wireName }) => wireName).sort();

/** A peer that stores what is good, and refuses a whole response without a name if anything in it is bad. */
class AnonymousPeer {
  readonly rows = new Map<string, string>();
  readonly bad: Set<string>;
  readonly #subscription: Subscription;

  constructor(subscription: Subscription, bad: Iterable<string>) {
    this.#subscription = subscription;
    this.bad = new Set(bad);
  }

  /** Answers responses until none comes. @returns how many there were */
  drain(): number {
    let count = 0;
    for (let draft = this.#subscription.next(); draft !== null; draft = this.#subscription.next()) {
      count += 1;
      this.#answer(draft);
    }
    return count;
  }

  #answer(draft: Draft): void {
    for (const { name, version } of draft.entries.map(read)) if (!this.bad.has(name)) this.rows.set(name, version);
    for (const name of draft.removed) this.rows.delete(name);
    if (namesOf(draft).some((name) => this.bad.has(name))) this.#subscription.reject(new Map(), 'user error');
    else this.#subscription.acknowledge();
  }
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `r${String(i)}`);
}

describe('a NACK without a name', () => {
  it('is narrowed down to the culprit at once, by halves of the suspects', () => {
    const log = new TypeLog('T');
    for (const name of numbered(5_000)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma', largestBytes: 1_000_000 });
    const peer = new AnonymousPeer(subscription, ['r4321']);
    expect(peer.drain()).toBeLessThanOrEqual(1 + 2 * 13);
    expect(namesIn(subscription.nacked.refused)).toEqual(['r4321']);
    expect(namesIn(subscription.nacked.suspects)).toEqual([]);
    expect(subscription.isBehind).toBe(true);
  });

  it('leads to retries of the culprit only, until the peer accepts it', () => {
    const log = new TypeLog('T');
    for (const name of numbered(100)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma' });
    const peer = new AnonymousPeer(subscription, ['r7']);
    peer.drain();
    subscription.retry();
    expect(namesOf(subscription.next())).toEqual(['r7']);
    peer.bad.clear();
    subscription.acknowledge();
    expect([subscription.nacked.size, subscription.isBehind]).toEqual([0, false]);
  });

  it('no longer counts for a deleted culprit', () => {
    const log = new TypeLog('T');
    for (const name of numbered(10)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma' });
    const peer = new AnonymousPeer(subscription, ['r3', 'r8']);
    peer.drain();
    expect(namesIn(subscription.nacked.refused)).toEqual(['r3', 'r8']);
    remove(log, 'r3');
    peer.drain();
    expect(namesIn(subscription.nacked.refused)).toEqual(['r8']);
  });

  it('costs a bounded number of responses between two retries, for any number of bad resources', () => {
    const log = new TypeLog('T');
    for (const name of numbered(1_000)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma', largestBytes: 1_000_000 });
    const peer = new AnonymousPeer(subscription, numbered(1_000));
    expect(peer.drain()).toBe(1 + MAX_PROBES);
    subscription.retry();
    expect(peer.drain()).toBe(MAX_PROBES);
    expect(subscription.nacked.size).toBe(1_000);
  });

  it('does not delay new changes', () => {
    const log = new TypeLog('T');
    for (const name of numbered(64)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma' });
    const bad = new Set(['r0', 'r40']);
    const answer = (draft: Draft | null): void => {
      if (namesOf(draft).some((name) => bad.has(name))) subscription.reject(new Map(), 'no');
      else subscription.acknowledge();
    };
    answer(subscription.next());
    answer(subscription.next());
    put(log, 'news', '1');
    expect(namesOf(subscription.next())).toEqual(['news']);
  });

  it('makes every resource of the response a suspect until it is narrowed down', () => {
    const log = new TypeLog('T');
    for (const name of numbered(4)) put(log, name, '1');
    const subscription = subscribe(log, { form: 'kuma' });
    subscription.next();
    subscription.reject(new Map(), 'no');
    expect(namesIn(subscription.nacked.suspects)).toEqual(['r0', 'r1', 'r2', 'r3']);
    expect(namesIn(subscription.nacked.refused)).toEqual([]);
  });

  it('leads to the names of the culprits, during any writes, deletions and repairs', () => {
    const name = fc.nat(40).map((i) => `r${String(i)}`);
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), name }),
      fc.record({ do: fc.constant('delete' as const), name }),
      fc.record({ do: fc.constant('break' as const), name }),
      fc.record({ do: fc.constant('mend' as const), name }),
      fc.record({ do: fc.constant('drain' as const) }),
      fc.record({ do: fc.constant('retry' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const log = new TypeLog('T');
        const truth = new Map<string, string>();
        const subscription = subscribe(log, { form: 'kuma', chunkBytes: () => 60 });
        const peer = new AnonymousPeer(subscription, []);
        let version = 0;
        for (const one of steps) {
          if (one.do === 'put') {
            truth.set(one.name, String(++version));
            put(log, one.name, String(version));
          } else if (one.do === 'delete') {
            truth.delete(one.name);
            remove(log, one.name);
          } else if (one.do === 'break') peer.bad.add(one.name);
          else if (one.do === 'mend') peer.bad.delete(one.name);
          else if (one.do === 'retry') subscription.retry();
          else peer.drain();
        }
        for (let round = 0; round < 10; round += 1) {
          peer.drain();
          subscription.retry();
        }
        peer.drain();
        const good = [...truth].filter(([key]) => !peer.bad.has(key));
        for (const [key, value] of good) expect(peer.rows.get(key)).toBe(value);
        expect(namesIn(subscription.nacked.suspects)).toEqual([]);
        for (const culprit of namesIn(subscription.nacked.refused)) {
          expect(peer.bad).toContain(culprit);
          expect(truth.has(culprit)).toBe(true);
        }
        // What the peer holds in its present version is accepted, though a newer look at it would refuse it.
        for (const [key, value] of truth)
          if (peer.rows.get(key) !== value) expect(namesIn(subscription.nacked.refused)).toContain(key);
        subscription.close();
        expect(log.size).toBe(truth.size);
      }),
      { numRuns: 300 },
    );
  });
});
