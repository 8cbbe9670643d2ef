// Refused resources are retried. They delay no other resource, and remove no stored one.
import { describe, expect, it } from 'vitest';
import { namesOf, put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import type { Item } from './response-draft.ts';
import { nackedResource, readNackDetails, writeNackDetails } from '../protocol/nack.ts';
import { TypeLog } from '../log/type-log.ts';

const UNNAMED = new Map<string, string>();

const namesOfItems = (items: ReadonlyMap<Item, string>): string[] => [...items.keys()].map(({ wireName }) => wireName);

describe('a subscription', () => {
  it('retries refused slots and counts the others as stored (engine 15)', () => {
    const log = new TypeLog('T');
    put(log, 'good', '1');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(new Map([['bad', 'no']]), 'no');
    expect(namesOfItems(subscription.nacked.refused)).toEqual(['bad']);
    expect(subscription.acknowledged).toBe(log.position);
    expect(subscription.next()).toBeNull();
    expect(subscription.isBehind).toBe(true);
    subscription.retry();
    expect(namesOf(subscription.next())).toEqual(['bad']);
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
  });

  it('has a reason for each refused resource, also where the peer gives that of the first ones alone', () => {
    const log = new TypeLog('T');
    const names = Array.from({ length: 101 }, (_, at) => `n${String(at)}`);
    for (const name of names) put(log, `${name}.m`, '1');
    const subscription = subscribe(log, { largestBytes: 100_000 });
    subscription.next();
    const refused = names.map((name) => nackedResource('T', { name, mesh: 'm' }, `bad ${name}`));
    const read = readNackDetails(writeNackDetails(refused));
    subscription.reject(new Map(read.map(({ name, mesh, reason }) => [`${name}.${mesh}`, reason])), 'no');
    const reasons = [...subscription.nacked.refused.values()];
    expect([reasons.length, reasons[99]]).toEqual([101, 'bad n99']);
    expect(reasons[100]).toBe('the peer gave the reasons of other resources alone');
  });

  it('leaves what it reported as it was when it ends: the next stream is compared with it', () => {
    const log = new TypeLog('T');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(new Map([['bad', 'no']]), 'no');
    const report = subscription.nacked.takeReport();
    subscription.close();
    expect([[...report.changed], report.refused]).toEqual([[['bad', 'no']], { count: 1, first: ['bad'], reason: 'no' }]);
  });

  it('suspects every name of a response when the NACK names none', () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    put(log, 'b', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(UNNAMED, 'no');
    expect(namesOfItems(subscription.nacked.suspects)).toEqual(['a', 'b']);
    expect(namesOfItems(subscription.nacked.refused)).toEqual([]);
  });

  it('keeps a recreated Mesh when a response without names is refused (engine 7, 15)', () => {
    const log = new TypeLog('Mesh');
    const subscription = subscribe(log, { form: 'kuma' });
    put(log, 'mesh', '1', 'mesh@1');
    subscription.next();
    subscription.acknowledge();
    put(log, 'bad', '1');
    remove(log, 'mesh@1');
    put(log, 'mesh', '1', 'mesh@2');
    expect(subscription.next()).toMatchObject({ entries: { length: 1 }, removed: ['mesh'] });
    // A Kuma peer refuses what it is to store, never that something is gone.
    subscription.reject(UNNAMED, 'no');
    expect(namesOfItems(subscription.nacked.refused)).toEqual(['bad']);
    expect(namesOf(subscription.next())).toEqual(['mesh']);
    subscription.acknowledge();
    subscription.retry();
    expect(subscription.next()).toMatchObject({ entries: { length: 1 }, removed: [] });
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
    expect(log.size).toBe(2);
  });

  it.each(['native', 'legacy'] as const)('does not remove a name that another slot has now (%s)', (form) => {
    const log = new TypeLog('Mesh');
    const subscription = subscribe(log, { form, chunkBytes: () => 1000 });
    put(log, 'mesh', '1', 'mesh@1');
    subscription.next();
    subscription.acknowledge();
    remove(log, 'mesh@1');
    subscription.next();
    subscription.reject(new Map([['mesh', 'no']]), 'no');
    expect(namesOfItems(subscription.nacked.refused)).toEqual(['mesh']);
    put(log, 'mesh', '2', 'mesh@2');
    expect(namesOf(subscription.next())).toEqual(['mesh']);
    subscription.acknowledge();
    subscription.retry();
    expect(subscription.next()).toBeNull();
    expect([subscription.isBehind, log.size]).toEqual([false, 1]);
  });

  it('sends a resource that changed after its refusal once, not also as a retry', () => {
    const log = new TypeLog('T');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(new Map([['bad', 'no']]), 'no');
    put(log, 'bad', '2');
    subscription.retry();
    expect(namesOf(subscription.next())).toEqual(['bad']);
    subscription.acknowledge();
    expect(subscription.next()).toBeNull();
    expect(subscription.isBehind).toBe(false);
  });

  it('finds a refused resource by its plain name if the peer has it under that name', () => {
    const log = new TypeLog('T');
    put(log, 'bad', '1');
    put(log, 'good', '1');
    const subscription = subscribe(log, { form: 'legacy' });
    subscription.next();
    subscription.reject(new Map([['plain-bad', 'no']]), 'no');
    expect([...subscription.nacked.refused.values()]).toEqual(['no']);
    expect(namesOfItems(subscription.nacked.refused)).toEqual(['bad']);
    expect(namesOfItems(subscription.nacked.suspects)).toEqual([]);
  });

  it('retries refused resources after the pending answer', () => {
    const log = new TypeLog('T');
    put(log, 'bad', '1');
    const subscription = subscribe(log);
    subscription.next();
    subscription.reject(new Map([['bad', 'no']]), 'no');
    put(log, 'good', '1');
    subscription.next();
    subscription.retry();
    expect(subscription.next()).toBeNull();
    subscription.acknowledge();
    expect(namesOf(subscription.next())).toEqual(['bad']);
  });

  it('retries the refused removal of a name that the log never had, and is behind until it is accepted', () => {
    const subscription = subscribe(new TypeLog('T'), { known: new Map([['gone', '1']]) });
    expect(subscription.next()?.removed).toEqual(['gone']);
    subscription.reject(new Map([['gone', 'no']]), 'no');
    expect([namesOfItems(subscription.nacked.refused), subscription.isBehind]).toEqual([['gone'], true]);
    subscription.retry();
    expect(subscription.next()?.removed).toEqual(['gone']);
    subscription.acknowledge();
    expect(subscription.isBehind).toBe(false);
  });

  it('suspects removals too when a Meridian peer refuses more resources than it can name', () => {
    const subscription = subscribe(new TypeLog('T'), {
      known: new Map([
        ['gone', '1'],
        ['left', '1'],
      ]),
    });
    subscription.next();
    subscription.reject(UNNAMED, 'no');
    expect(namesOfItems(subscription.nacked.suspects)).toEqual(['gone', 'left']);
    expect(subscription.next()?.removed).toEqual(['gone']);
  });
});
