// Subscriptions over random writes, refusals, drops and reconnects, against a naive model of what each peer may see.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { nameOf, put, read, remove, subscribe } from '../../../test/support/fake-entries.ts';
import type { Entry } from '../log/entry.ts';
import type { Draft } from './response-draft.ts';
import type { Subscription } from './subscription.ts';
import { TypeLog } from '../log/type-log.ts';

/** There are few names, so that commands meet. */
const name = fc.constantFrom('a', 'b', 'c', 'd');
const command = fc.oneof(
  fc.record({ do: fc.constant('put' as const), name, isOtherRow: fc.boolean() }),
  fc.record({ do: fc.constant('delete' as const), name }),
  fc.record({ do: fc.constant('hide' as const), name }),
  fc.record({ do: fc.constant('hide for one' as const), peer: fc.nat(2), name }),
  fc.record({ do: fc.constant('flush' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('ack' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('nack' as const), peer: fc.nat(2), name }),
  fc.record({ do: fc.constant('nack-unnamed' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('retry' as const), peer: fc.nat(2) }),
  fc.record({ do: fc.constant('reconnect' as const), peer: fc.nat(2), resume: fc.boolean() }),
);

/** The next response. A subscription that says that it has no more is asked all the same, and must have none. */
function nextOf(subscription: Subscription): Draft | null {
  const { hasMore, acknowledged } = subscription;
  const next = subscription.next();
  if (!hasMore) expect([next, subscription.acknowledged]).toEqual([null, acknowledged]);
  return next;
}

describe('random writes, refusals, drops and reconnects', () => {
  it('end with every peer holding exactly its visible entries, and without unused slots', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
        const log = new TypeLog('T');
        const truth = new Map<string, string>();
        const hidden = new Set<string>();
        const peers = [0, 1, 2].map(() => {
          const hiddenHere = new Set<string>();
          const canSee = (entry: Entry): boolean => !hidden.has(nameOf(entry)) && !hiddenHere.has(nameOf(entry));
          return {
            rows: new Map<string, string>(),
            ...{ hiddenHere, canSee, subscription: subscribe(log, { canSee }) },
            draft: null as Draft | null,
            full: true,
          };
        });
        let version = 0;
        // A name that goes and comes again has another key, as a Mesh does (engine 7), or the key of another row before it.
        const keyOf = new Map<string, string>();
        const plainNameOf = new Map<string, string>();
        const apply = (peer: (typeof peers)[number], refuse?: string): void => {
          if (peer.draft === null) return;
          const before = new Map(peer.rows);
          if (peer.full) peer.rows.clear();
          for (const bytes of peer.draft.entries) {
            const { name: wireName, version: sent } = read(bytes);
            if (wireName !== refuse && refuse !== '') peer.rows.set(wireName, sent);
            else if (before.has(wireName)) peer.rows.set(wireName, before.get(wireName) ?? '');
          }
          for (const wireName of peer.draft.removed) if (wireName !== refuse) peer.rows.delete(wireName);
          if (refuse === undefined) peer.subscription.acknowledge();
          else peer.subscription.reject(new Map(refuse === '' ? [] : [[refuse, 'no']]), 'no');
          peer.full = false;
          peer.draft = null;
        };
        for (const step of commands) {
          if (step.do === 'put') {
            truth.set(step.name, String(++version));
            const isNew = !keyOf.has(step.name);
            const key = keyOf.get(step.name) ?? (step.isOtherRow ? step.name : `${step.name}@${String(version)}`);
            keyOf.set(step.name, key);
            if (isNew) plainNameOf.set(step.name, `plain-${step.name}-${String(version)}`);
            put(log, step.name, String(version), key, plainNameOf.get(step.name));
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
            if (step.do === 'hide for one') {
              // The visibility changes as that of a mesh that is given to a zone, or taken from it: the log does not move.
              if (!peer.hiddenHere.delete(step.name)) peer.hiddenHere.add(step.name);
              const slot = log.find(keyOf.get(step.name) ?? '');
              if (slot !== undefined) peer.subscription.review([slot]);
            } else if (step.do === 'flush') peer.draft ??= nextOf(peer.subscription);
            else if (step.do === 'ack') apply(peer);
            else if (step.do === 'nack') apply(peer, step.name);
            else if (step.do === 'nack-unnamed') apply(peer, '');
            else if (step.do === 'retry') peer.subscription.retry();
            else {
              peer.subscription.close();
              peer.draft = null;
              peer.full = !step.resume;
              const { canSee } = peer;
              peer.subscription = subscribe(log, { canSee, known: step.resume ? peer.rows : null, chunkBytes: () => 8 });
            }
          }
        }
        for (const peer of peers) {
          const expected = new Map([...truth].filter(([key]) => !hidden.has(key) && !peer.hiddenHere.has(key)));
          for (let round = 0; round < 20; round += 1) {
            peer.subscription.retry();
            peer.draft ??= nextOf(peer.subscription);
            apply(peer);
          }
          expect(new Map([...peer.rows].sort())).toEqual(new Map([...expected].sort()));
          peer.subscription.close();
        }
        expect([log.size, [...log.since(0)].length]).toEqual([truth.size, truth.size]);
      }),
      { numRuns: 300 },
    );
  });
});
