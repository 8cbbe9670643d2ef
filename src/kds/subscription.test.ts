import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Subscription, type Draft, type SubscriptionOptions } from './subscription.ts';
import type { Encoding, Entry } from './entry.ts';
import { TypeLog } from './type-log.ts';

const EVERYBODY = { to: 'all' } as const;

type FakeEntry = Entry & { readonly bytes: Uint8Array };

function entry(name: string, version: string): FakeEntry {
  const bytes = Buffer.from(JSON.stringify([name, version]));
  const encoding: Encoding = { version, bytes };
  return {
    audience: EVERYBODY,
    version,
    bytes,
    in(form) {
      if (form === 'native') return encoding;
      return name.startsWith('odd') ? { withheld: `nobody over there knows ${version}` } : { version: `p${version}`, bytes };
    },
  };
}

function put(log: TypeLog, name: string, version: string, key = name): void {
  log.append({ key, wireName: name, plainName: `plain-${name}` }, entry(name, version));
}

function remove(log: TypeLog, key: string): void {
  const slot = log.find(key);
  if (slot !== undefined) log.bury(slot);
}

function subscribe(
  log: TypeLog,
  options: Partial<SubscriptionOptions> = {},
  canSee: (e: Entry) => boolean = () => true,
): Subscription {
  return new Subscription(
    log,
    { canSee, form: 'native', largestBytes: 1000 },
    { known: null, chunkBytes: () => 1_000_000, ...options },
  );
}

function namesOf(draft: Draft | null): string[] {
  return (draft?.entries ?? []).map((bytes) => (JSON.parse(Buffer.from(bytes).toString()) as [string, string])[0]);
}

describe('a subscription', () => {
  it('answers the first request even when there is nothing', () => {
    const subscription = subscribe(new TypeLog('T'));
    expect(subscription.next()).toEqual({ entries: [], removed: [], bytes: 0, isPartial: false });
    subscription.acknowledge();
    expect(subscription.next()).toBeNull();
  });

  it('sends only what changed since, once the peer has confirmed', () => {
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

  it('tells of a removal whoever may hold the name, and nobody else (engine 3)', () => {
    const log = new TypeLog('T');
    let visible = true;
    const sees = subscribe(log, {}, () => visible);
    const never = subscribe(log, {}, () => false);
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

  it('drops a tombstone when nobody holds it any more (engine 4)', () => {
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

  it('makes an update of a deletion and a new creation in flight (engine 7)', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = subscribe(log);
    subscription.next();
    remove(log, 'r');
    put(log, 'r', '2');
    subscription.acknowledge();
    expect(subscription.next()).toMatchObject({ removed: [], entries: [expect.anything()] });
  });

  it('sends a removal and then the addition of a name that another slot fills now (engine 7)', () => {
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

  it('withholds what the form of the peer cannot say, takes it away if the peer has it, and says so (decisions D26)', () => {
    const log = new TypeLog('T');
    put(log, 'odd', '1');
    put(log, 'even', '1');
    const subscription = new Subscription(
      log,
      { canSee: () => true, form: 'kuma', largestBytes: 1000 },
      { known: null, chunkBytes: () => 1000 },
    );
    expect(namesOf(subscription.next())).toEqual(['even']);
    expect([...subscription.withheld]).toEqual([['odd', 'nobody over there knows 1']]);
    subscription.acknowledge();
    remove(log, 'odd');
    expect(subscription.next()).toBeNull();
    expect(subscription.withheld.size).toBe(0);
  });

  it('withholds a resource that no message can hold, and sends the others of its type (pain 11062)', () => {
    const log = new TypeLog('T');
    put(log, 'x'.repeat(2_000), '1');
    put(log, 'small', '1');
    const subscription = subscribe(log);
    expect(namesOf(subscription.next())).toEqual(['small']);
    expect([...subscription.withheld.values()]).toEqual([expect.stringMatching(/2\d+ bytes; .* takes 1000$/)]);
  });

  it('tries refused slots again and lets the rest count as stored (engine 15)', () => {
    const log = new TypeLog('T');
    put(log, 'good', '1');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    expect(subscription.reject(['bad'])).toEqual(['bad']);
    expect(subscription.next()).toBeNull();
    expect(subscription.isBehind).toBe(true);
    subscription.retry();
    expect(namesOf(subscription.next())).toEqual(['bad']);
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
  });

  it('suspects every name of a response when the peer names none', () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    put(log, 'b', '1');
    const subscription = subscribe(log);
    subscription.next();
    expect(subscription.reject([])).toEqual(['a', 'b']);
  });

  it('keeps a Mesh that was made anew when a response without names is refused (engine 7, 15)', () => {
    const log = new TypeLog('Mesh');
    const subscription = subscribe(log);
    put(log, 'mesh', '1', 'mesh@1');
    subscription.next();
    subscription.acknowledge();
    put(log, 'bad', '1');
    remove(log, 'mesh@1');
    put(log, 'mesh', '1', 'mesh@2');
    expect(subscription.next()).toMatchObject({ entries: { length: 1 }, removed: ['mesh'] });
    // A receiver refuses what it is to store, never that something is gone.
    expect(subscription.reject([])).toEqual(['bad']);
    expect(namesOf(subscription.next())).toEqual(['mesh']);
    subscription.acknowledge();
    subscription.retry();
    expect(subscription.next()).toMatchObject({ entries: { length: 1 }, removed: [] });
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
    expect(log.size).toBe(2);
  });

  it.each(['native', 'legacy'] as const)('never takes a name away that another slot has filled since (%s)', (form) => {
    const log = new TypeLog('Mesh');
    const view = { canSee: () => true, form, largestBytes: 1000 };
    const subscription = new Subscription(log, view, { known: null, chunkBytes: () => 1000 });
    put(log, 'mesh', '1', 'mesh@1');
    subscription.next();
    subscription.acknowledge();
    remove(log, 'mesh@1');
    subscription.next();
    expect(subscription.reject(['mesh'])).toEqual(['mesh']);
    put(log, 'mesh', '2', 'mesh@2');
    expect(namesOf(subscription.next())).toEqual(['mesh']);
    subscription.acknowledge();
    subscription.retry();
    expect(subscription.next()).toBeNull();
    expect([subscription.isBehind, log.size]).toEqual([false, 1]);
  });

  it('tries again what was refused once the answer that is due has come', () => {
    const log = new TypeLog('T');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(['bad']);
    put(log, 'good', '1');
    subscription.next();
    subscription.retry();
    expect(subscription.next()).toBeNull();
    subscription.acknowledge();
    expect(namesOf(subscription.next())).toEqual(['bad']);
  });

  it('makes no response larger than a message, whatever it brings, removes and tries again', () => {
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
        if (draft.entries.length > 0 && seen.length <= 100) subscription.reject([]);
        else subscription.acknowledge();
      }
    };
    drain();
    expect([seen.length, removed.length, subscription.refused]).toEqual([100, 300, 100]);
    subscription.retry();
    drain();
    expect([seen.length, subscription.refused]).toEqual([200, 0]);
    for (let i = 0; i < 100; i += 1) remove(log, `r${String(i)}`.padEnd(100 + 8 * i, '-'));
    drain();
    expect(removed.length).toBe(400);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    expect(log.size).toBe(0);
  });

  it('resumes with the difference and removes what the peer has too much (decisions D29)', () => {
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

  it('splits a full state for a peer of ours and marks its end, even where that is empty', () => {
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

  it('splits a first state only for a peer of ours', () => {
    const log = new TypeLog('T');
    for (let i = 0; i < 10; i += 1) put(log, `r${String(i)}`, '1');
    const kuma = new Subscription(
      log,
      { canSee: () => true, form: 'kuma', largestBytes: 1000 },
      { known: null, chunkBytes: () => 20 },
    );
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

  it('sends un-hashed names to a peer without the feature (decisions D28)', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = new Subscription(
      log,
      { canSee: () => true, form: 'legacy', largestBytes: 1000 },
      { known: null, chunkBytes: () => 1000 },
    );
    subscription.next();
    subscription.acknowledge();
    remove(log, 'r');
    expect(subscription.next()?.removed).toEqual(['plain-r']);
  });
});

/** Names of few resources, so that commands meet. */
const name = fc.constantFrom('a', 'b', 'c', 'd');
const command = fc.oneof(
  fc.record({ do: fc.constant('put' as const), name }),
  fc.record({ do: fc.constant('delete' as const), name }),
  fc.record({ do: fc.constant('hide' as const), name }),
  fc.record({ do: fc.constant('flush' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('ack' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('nack' as const), peer: fc.nat(2), name }),
  fc.record({ do: fc.constant('nack-unnamed' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('retry' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('reconnect' as const), peer: fc.nat(2), resume: fc.boolean() }),
);

describe('random writes, refusals, drops and reconnects', () => {
  it('end with every peer holding exactly what it may see, and no slot left over', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
        const log = new TypeLog('T');
        const truth = new Map<string, string>();
        const hidden = new Set<string>();
        const peers = [0, 1, 2].map(() => ({
          rows: new Map<string, string>(),
          subscription: subscribe(log),
          draft: null as Draft | null,
          full: true,
        }));
        const visible = (e: Entry): boolean =>
          !hidden.has((JSON.parse(Buffer.from((e as FakeEntry).bytes).toString()) as [string])[0]);
        for (const peer of peers) peer.subscription = subscribe(log, {}, visible);
        let version = 0;
        // A name that goes and comes again fills another slot, as a Mesh does (engine 7).
        const keyOf = new Map<string, string>();
        const apply = (peer: (typeof peers)[number], refuse?: string): void => {
          if (peer.draft === null) return;
          const before = new Map(peer.rows);
          if (peer.full) peer.rows.clear();
          for (const bytes of peer.draft.entries) {
            const [wireName, v] = JSON.parse(Buffer.from(bytes).toString()) as [string, string];
            if (wireName !== refuse && refuse !== '') peer.rows.set(wireName, v);
            else if (before.has(wireName)) peer.rows.set(wireName, before.get(wireName) ?? '');
          }
          for (const wireName of peer.draft.removed) if (wireName !== refuse) peer.rows.delete(wireName);
          if (refuse === undefined) peer.subscription.acknowledge();
          else peer.subscription.reject(refuse === '' ? [] : [refuse]);
          peer.full = false;
          peer.draft = null;
        };
        for (const step of commands) {
          if (step.do === 'put') {
            truth.set(step.name, String(++version));
            const key = keyOf.get(step.name) ?? `${step.name}@${String(version)}`;
            keyOf.set(step.name, key);
            put(log, step.name, String(version), key);
          } else if (step.do === 'delete') {
            truth.delete(step.name);
            remove(log, keyOf.get(step.name) ?? '');
            keyOf.delete(step.name);
          } else if (step.do === 'hide') {
            if (!hidden.delete(step.name)) hidden.add(step.name);
            const slot = log.find(keyOf.get(step.name) ?? '');
            if (slot !== undefined) log.touch(slot);
          } else {
            const peer = peers[step.peer];
            if (peer === undefined) continue;
            if (step.do === 'flush') peer.draft ??= peer.subscription.next();
            else if (step.do === 'ack') apply(peer);
            else if (step.do === 'nack') apply(peer, step.name);
            else if (step.do === 'nack-unnamed') apply(peer, '');
            else if (step.do === 'retry') peer.subscription.retry();
            else {
              peer.subscription.close();
              peer.draft = null;
              peer.full = !step.resume;
              peer.subscription = subscribe(log, { known: step.resume ? peer.rows : null, chunkBytes: () => 8 }, visible);
            }
          }
        }
        const expected = new Map([...truth].filter(([key]) => !hidden.has(key)));
        for (const peer of peers) {
          for (let round = 0; round < 20; round += 1) {
            peer.subscription.retry();
            peer.draft ??= peer.subscription.next();
            apply(peer);
          }
          expect(new Map([...peer.rows].sort())).toEqual(new Map([...expected].sort()));
          peer.subscription.close();
        }
        expect(log.size).toBe(truth.size);
      }),
      { numRuns: 300 },
    );
  });
});
