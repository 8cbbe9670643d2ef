// Both directions of a session in one process, with random writes, cuts and resumes: at rest the zone has what global wrote, global has
// what the zone wrote, and nothing is sent back to its origin.
import { systemClock } from '../../src/base/clock.ts';
import { fc } from '../support/property.ts';
import { expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import {
  globalReceiveRules,
  globalSendRules,
  zoneReceiveRules,
  zoneSendRules,
  type ReceiveRules,
} from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const ZONE = 'east';
const log = createLogger('silent');

/** One stream. A cut loses the messages in flight. */
function connect(changelog: Changelog, rules: ReceiveRules, into: TinyStore, peer: string, resume: boolean): () => void {
  let isCut = false;
  let work = Promise.resolve();
  const common = {
    peer,
    streamId: 's',
    maxMessageBytes: 10_485_760,
    observe: () => undefined,
    log,
    clock: systemClock,
  };
  const sender = new Sender({
    ...common,
    identifier: peer,
    changelog,
    initialSyncLimiter: new InitialSyncLimiter(systemClock),
    fail: () => undefined,
    zones: null,
    send(message) {
      work = work.then(async () => {
        if (!isCut) await receiver.handle(decodeDeltaResponse(message));
      });
    },
  });
  const receiver = new Receiver({
    ...common,
    zone: ZONE,
    rules,
    store: into,
    node: { version: '0', instanceId: 'i', config: '' },
    resume,
    // A name that is refused, so that a NACK is part of every run.
    validate: (_info, { labels }) => (labels['bad'] === 'yes' ? [{ field: 'labels', reason: 'refused by the test' }] : []),
    send(message) {
      if (!isCut) sender.handle(decodeDeltaRequest(message));
    },
  });
  work = work.then(() => receiver.start());
  return () => {
    isCut = true;
    sender.close();
  };
}

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      side: fc.constantFrom('global' as const, 'zone' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      bad: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      side: fc.constantFrom('global' as const, 'zone' as const),
      name: fc.constantFrom('a', 'b', 'c'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reconnect' as const), resume: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
);

it('the stores are equal after random writes, refusals, disconnects and resumes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (commands) => {
      const stop = new AbortController();
      const stores = { global: new TinyStore().withZones(ZONE), zone: new TinyStore() };
      const down = new Changelog(stores.global, globalSendRules(), log);
      const up = new Changelog(stores.zone, zoneSendRules({ zone: ZONE }), log);
      const running = [down.run(stop.signal), up.run(stop.signal)];
      const open = (resume: boolean): (() => void)[] => [
        connect(down, zoneReceiveRules(), stores.zone, ZONE, resume),
        connect(up, globalReceiveRules(ZONE, { hashedNames: true }), stores.global, ZONE, resume),
      ];
      let streams = open(true);
      const truth = { global: new Map<string, number>(), zone: new Map<string, number>() };
      let n = 0;
      for (const step of commands) {
        if (step.do === 'wait') await new Promise((resolve) => setImmediate(resolve));
        else if (step.do === 'reconnect') {
          for (const cut of streams) cut();
          streams = open(step.resume);
        } else {
          const key = { type: 'MeshTimeout', mesh: 'default', name: step.name };
          if (step.do === 'delete') {
            await stores[step.side].write({ op: 'delete', key });
            truth[step.side].delete(step.name);
          } else {
            // What is refused is not expected over there; the next good write of the name must get through all the same.
            await stores[step.side].write({ op: 'put', key, labels: step.bad ? { bad: 'yes' } : {}, spec: { n: ++n } });
            if (!step.bad) truth[step.side].set(step.name, n);
            else {
              await stores[step.side].write({ op: 'put', key, labels: {}, spec: { n: ++n } });
              truth[step.side].set(step.name, n);
            }
          }
        }
      }
      const rowsOf = (store: TinyStore): [string, unknown][] =>
        [...store.rows.values()]
          .filter(({ type }) => type === 'MeshTimeout')
          .map(({ name, spec }): [string, unknown] => [name, spec['n']])
          .sort();
      const expected = (side: 'global' | 'zone'): [string, unknown][] => {
        const other = side === 'global' ? 'zone' : 'global';
        const copies = [...truth[other]].map(([name, value]): [string, unknown] => [
          hashName({ mesh: 'default', name, ...(other === 'zone' && { zone: ZONE }) }),
          value,
        ]);
        return [...[...truth[side]].map(([name, value]): [string, unknown] => [name, value]), ...copies].sort();
      };
      await vi.waitFor(
        () => {
          expect(rowsOf(stores.global)).toEqual(expected('global'));
          expect(rowsOf(stores.zone)).toEqual(expected('zone'));
        },
        { timeout: 60_000, interval: 5 },
      );
      for (const cut of streams) cut();
      stop.abort();
      await Promise.all(running);
    }),
    { numRuns: 200 },
  );
});
