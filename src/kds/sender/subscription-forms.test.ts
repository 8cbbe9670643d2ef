// Peers that cannot read the native form: the translated and the withheld resources.
import { describe, expect, it } from 'vitest';
import { namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import type { Form } from '../log/entry.ts';
import { TypeLog } from '../log/type-log.ts';

/** A peer that has a resource whose row is deleted, and whose wire name another row then has. `take` acknowledges the next response. */
function takeOver(form: Form) {
  const log = new TypeLog('T');
  put(log, 'r', '1');
  const subscription = subscribe(log, { form, chunkBytes: () => 1000 });
  const take = (): [added: string[], removed: readonly string[] | undefined] => {
    const draft = subscription.next();
    subscription.acknowledge();
    return [namesOf(draft), draft?.removed];
  };
  take();
  remove(log, 'r');
  put(log, 'r', '2', 'r', 'plain-other');
  return { log, subscription, take };
}

describe('a subscription', () => {
  it("withholds a resource that the peer's form cannot express, removes it from the peer, and reports it (D26)", () => {
    const log = new TypeLog('T');
    put(log, 'odd', '1');
    put(log, 'even', '1');
    const subscription = subscribe(log, { form: 'kuma', chunkBytes: () => 1000 });
    expect(namesOf(subscription.next())).toEqual(['even']);
    expect([...subscription.withheld]).toEqual([['odd', 'the peer cannot read 1']]);
    subscription.acknowledge();
    remove(log, 'odd');
    expect(subscription.next()).toBeNull();
    expect(subscription.withheld.size).toBe(0);
  });

  it('withholds a resource too large for a message, and sends the others of its type (Kuma issue 11062)', () => {
    const log = new TypeLog('T');
    put(log, 'x'.repeat(2_000), '1');
    put(log, 'small', '1');
    const subscription = subscribe(log);
    expect(namesOf(subscription.next())).toEqual(['small']);
    expect([...subscription.withheld.values()]).toEqual([expect.stringMatching(/2\d+ bytes; .* takes 1000$/)]);
  });

  it('sends names without a hash to a peer without the feature (D28)', () => {
    const log = new TypeLog('T');
    put(log, 'r', '1');
    const subscription = subscribe(log, { form: 'legacy', chunkBytes: () => 1000 });
    subscription.next();
    subscription.acknowledge();
    remove(log, 'r');
    expect(subscription.next()?.removed).toEqual(['plain-r']);
  });

  it('removes the name of a row from a peer without hashes when another row takes over its wire name', () => {
    const { subscription, take } = takeOver('legacy');
    expect(take()).toEqual([['r'], ['plain-r']]);
    expect(subscription.next()).toBeNull();
  });

  it.each(['native', 'kuma'] as const)('sends an update in the %s form when another row takes over a wire name', (form) => {
    const { subscription, log, take } = takeOver(form);
    expect(take()).toEqual([['r'], []]);
    remove(log, 'r');
    expect(take()).toEqual([[], ['r']]);
    expect([subscription.next(), [...log.since(0)]]).toEqual([null, []]);
  });
});
