// The insights of a zone that wait for their turn on global: both ends of the stream, with the clock of the test.
import { afterEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { InsightRateLimiter } from '../../src/kds/insights/insight-rate-limiter.ts';
import { insightSink } from '../../src/kds/insights/insight-sink.ts';
import { atOnce } from '../../src/kds/protocol/pace.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalReceiveRules, zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { fc } from '../support/property.ts';
import { TinyStore } from '../support/tiny-store.ts';

const PROXIES = 100;
const HOUR_MS = 3_600_000;
const log = createLogger('silent');

let ends: (() => Promise<void>)[] = [];

async function endAll(): Promise<void> {
  const ended = ends;
  ends = [];
  await Promise.all(ended.map((end) => end()));
}

afterEach(endAll);

type Zone = {
  readonly rows: TinyStore;
  /** Why its stream was ended. */
  readonly failures: readonly string[];
  readonly sender: Sender;
  /** Each proxy has other counts; or the proxies `to` do not exist. */
  readonly change: (n: number, to?: number) => Promise<void>;
};

/** Global with the part of a replica in a fleet of 10,000: 20 zones, which may store 0.3 rows a second. */
function openGlobal(): { clock: ManualClock; store: TinyStore; connect: (zone: string) => Promise<Zone> } {
  const clock = new ManualClock();
  const store = new TinyStore();
  const insightLimiter = new InsightRateLimiter({ clock, fleetSize: () => 10_000, ownZones: () => 20 });
  const connect = async (zone: string): Promise<Zone> => {
    store.withZones(zone);
    const rows = new TinyStore();
    const stop = new AbortController();
    const changelog = new Changelog(rows, zoneSendRules({ zone }), log);
    const running = changelog.run(stop.signal);
    await changelog.ready;
    const failures: string[] = [];
    let work = Promise.resolve();
    const common = { peer: zone, streamId: 's', maxMessageBytes: 10_485_760, observe: () => undefined, log, clock };
    const fail = (error: Error): void => void failures.push(error.message);
    const sender = new Sender({
      ...common,
      identifier: zone,
      changelog,
      initialSyncLimiter: new InitialSyncLimiter(clock),
      fail,
      zones: null,
      send: (message) => void (work = work.then(() => receiver.handle(decodeDeltaResponse(message)))),
    });
    const rules = globalReceiveRules(zone, { hashedNames: true });
    const sinking = { ...common, pace: atOnce, most: Infinity, resumes: true, insights: 'all' as const, limiter: insightLimiter };
    const receiver = new Receiver({
      ...common,
      zone,
      rules,
      store,
      node: { version: '0', instanceId: 'i', config: '' },
      resume: true,
      sink: insightSink({ ...sinking, rules }),
      validate: () => [],
      fail,
      send: (message) => sender.handle(decodeDeltaRequest(message)),
    });
    await receiver.start();
    ends.push(async () => {
      stop.abort();
      sender.close();
      receiver.close();
      await running;
    });
    const change = async (n: number, to = PROXIES): Promise<void> => {
      for (let at = 0; at < PROXIES; at += 1) {
        const key = { type: 'DataplaneInsight', mesh: 'default', name: `web-${String(at)}` };
        if (at >= to) await rows.write({ op: 'delete', key });
        else await rows.write({ op: 'put', key, labels: { n: String(n) }, spec: {} });
      }
      await clock.advance(1);
    };
    return { rows, failures, sender, change };
  };
  return { clock, store, connect };
}

/** The counts that a store has of the proxies. */
function counts(store: TinyStore): string[] {
  const insights = [...store.rows.values()].filter(({ type }) => type === 'DataplaneInsight');
  return insights.map(({ name, labels }) => `${labels['kuma.io/display-name'] ?? name} ${labels['n'] ?? ''}`).sort();
}

it('a zone whose insights wait longer for their turn than a stream waits for an answer keeps its stream', async () => {
  const { clock, store, connect } = openGlobal();
  const { change, failures } = await connect('east');
  for (let n = 1; n <= 4; n += 1) await change(n);
  await clock.advance(2 * HOUR_MS);
  expect(failures).toEqual([]);
  expect(counts(store)).toHaveLength(PROXIES);
  expect(counts(store).every((count) => count.endsWith(' 4'))).toBe(true);
});

it('the rows of zones that connect at the same time are stored in turns', async () => {
  const { clock, store, connect } = openGlobal();
  const zones = [];
  for (let at = 0; at < 4; at += 1) zones.push(await connect(`zone-${String(at)}`));
  for (const { change } of zones) await change(1);
  const stored: number[] = [];
  for (let minute = 0; minute < 30; minute += 1) {
    stored.push(counts(store).length);
    await clock.advance(60_000);
  }
  // 0.3 rows a second: 100 rows in 333 s.
  expect(Math.max(...stored.map((rows, at) => rows - 18 * at))).toBeLessThanOrEqual(PROXIES);
  expect(counts(store)).toHaveLength(4 * PROXIES);
  expect(zones.flatMap(({ failures }) => failures)).toEqual([]);
});

it('a proxy that is gone while its zone waits for a turn is gone on global after it', async () => {
  const { clock, store, connect } = openGlobal();
  const { change } = await connect('east');
  await change(1);
  await change(2);
  await change(3, 1);
  await clock.advance(HOUR_MS);
  expect(counts(store)).toEqual(['web-0 3']);
});

it('a zone that waits for its turn shows since when global is behind', async () => {
  const { clock, connect } = openGlobal();
  const { change, sender } = await connect('east');
  await change(1);
  const since = clock.now();
  await change(2);
  await clock.advance(320_000);
  expect(sender.lag()).toMatchObject({ since, types: ['DataplaneInsight'] });
  await clock.advance(HOUR_MS);
  expect(sender.lag()).toBeNull();
});

it('a stream ends when its zone has a turn and the store does not answer', async () => {
  const { clock, store, connect } = openGlobal();
  const { change, failures } = await connect('east');
  await change(1);
  await change(2);
  vi.spyOn(store, 'listMeta').mockRejectedValue(new Error('gone'));
  await clock.advance(150_000);
  expect(failures).toEqual(['the store did not say which DataplaneInsights it has']);
});

it('global has the insights of its zones after random changes and any turns', async () => {
  const change = fc.record({
    zone: fc.nat(2),
    proxy: fc.nat(4),
    isGone: fc.boolean(),
    waitMs: fc.constantFrom(0, 1, 2_000, 400_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 40 }), async (changes) => {
      const { clock, store, connect } = openGlobal();
      const zones = [await connect('east'), await connect('west'), await connect('north')];
      for (const [n, { zone, proxy, isGone, waitMs }] of changes.entries()) {
        const key = { type: 'DataplaneInsight', mesh: 'default', name: `web-${String(proxy)}` };
        const rows = zones[zone]?.rows;
        if (isGone) await rows?.write({ op: 'delete', key });
        else await rows?.write({ op: 'put', key, labels: { n: String(n) }, spec: {} });
        await clock.advance(waitMs);
      }
      await clock.advance(HOUR_MS);
      expect(counts(store)).toEqual(zones.flatMap(({ rows }) => counts(rows)).sort());
      expect(zones.flatMap(({ failures }) => failures)).toEqual([]);
      await endAll();
    }),
    { numRuns: 100 },
  );
});
