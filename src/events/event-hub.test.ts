import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../base/log.ts';
import { aborted } from '../base/supervise.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { EventHub, LINGER_MS, type EventSource, type HubEvent, type Tell, MAX_ITEMS, PACE_MS } from './event-hub.ts';
import { MAX_EVENTS } from './event-ring.ts';

const IDLE_MS = 15_000;

/** A source whose state a test sets. */
class FakeSource implements EventSource {
  readonly name = 'fake';
  readonly state = new Map<string, string>();
  readonly render = {
    zones: (key: string) => {
      const json = this.state.get(key);
      return json === undefined ? null : { json, type: null };
    },
  };
  runs = 0;
  isSlow = false;
  tell: Tell | null = null;
  fail = (): void => undefined;

  async run(tell: Tell, signal: AbortSignal): Promise<void> {
    this.runs += 1;
    this.tell = tell;
    if (!this.isSlow) tell.loaded();
    const failed = new AbortController();
    this.fail = () => failed.abort(new Error('failed'));
    await aborted(AbortSignal.any([signal, failed.signal]));
    this.tell = null;
    failed.signal.throwIfAborted();
  }

  set(key: string, json: string): void {
    this.state.set(key, json);
    this.tell?.touch('zones', key);
  }
}

let clock: ManualClock;
let source: FakeSource;
let hub: EventHub;
let stop: AbortController;
beforeEach(() => {
  clock = new ManualClock();
  source = new FakeSource();
  hub = new EventHub([source], { clock, log: createLogger('silent') });
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** A stream that is read at once. */
async function read(lastId: string | null = null, signal = stop.signal) {
  const got: HubEvent[] = [];
  const done = (async () => {
    for await (const event of hub.follow(lastId, IDLE_MS, signal)) got.push(event);
  })();
  await clock.advance(0);
  return {
    got,
    done,
    texts: () => got.map((one) => (one.kind === 'event' ? one.event.items.map(({ json }) => json).join() : one.kind)),
    lastId: () => got.findLast((one) => one.kind !== 'idle')?.id ?? '',
  };
}

describe('the hub of events', () => {
  it('begins a stream with resync, then sends the newest state of what changed', async () => {
    const stream = await read();
    expect(stream.got).toMatchObject([{ kind: 'resync', reason: 'started' }]);
    source.set('east', '1');
    source.set('east', '2');
    source.set('west', '3');
    await clock.advance(PACE_MS);
    expect(stream.texts()).toEqual(['resync', '2,3']);
  });

  it('sends at most four events of a topic a second, each key once', async () => {
    const stream = await read();
    for (let ms = 0; ms < 1_000; ms += 10) {
      source.set('east', String(ms));
      await clock.advance(10);
    }
    await clock.advance(PACE_MS);
    const events = stream.texts().slice(1);
    expect(events.length).toBeLessThanOrEqual(5);
    expect(events.at(-1)).toBe('990');
  });

  it('divides a burst of changes into events of a bounded size', async () => {
    const stream = await read();
    for (let count = 0; count < MAX_ITEMS + 50; count += 1) source.set(`zone-${String(count)}`, 'x');
    await clock.advance(2 * PACE_MS);
    expect(stream.got.map((one) => (one.kind === 'event' ? one.event.items.length : 0))).toEqual([0, MAX_ITEMS, 50]);
  });

  it('waits with resync until the sources know the present state', async () => {
    source.isSlow = true;
    const stream = await read();
    await clock.advance(IDLE_MS);
    expect(stream.texts()).toEqual(['idle']);
    source.tell?.loaded();
    await clock.advance(0);
    expect(stream.texts()).toEqual(['idle', 'resync']);
  });

  it('resumes after the event that a stream names', async () => {
    const first = await read();
    source.set('east', '1');
    await clock.advance(PACE_MS);
    stop.abort();
    await first.done;
    source.set('east', '2');
    await clock.advance(PACE_MS);
    stop = new AbortController();
    const second = await read(first.lastId());
    source.set('east', '3');
    await clock.advance(PACE_MS);
    expect(second.texts()).toEqual(['2', '3']);
  });

  it('answers resync to a stream whose events are no longer kept, and to one of another process', async () => {
    const first = await read();
    const lastId = first.lastId();
    for (let count = 0; count < MAX_EVENTS + 1; count += 1) {
      source.set('east', String(count));
      await clock.advance(PACE_MS);
    }
    expect((await read(lastId)).got).toMatchObject([{ kind: 'resync', reason: 'expired', id: first.lastId() }]);
    expect((await read('0000aaaa.1')).got).toMatchObject([{ kind: 'resync', reason: 'unknown' }]);
    expect((await read('nothing')).got).toMatchObject([{ kind: 'resync', reason: 'unknown' }]);
  });

  it('sends resync when a source failed and began again', async () => {
    const stream = await read();
    source.set('east', '1');
    await clock.advance(PACE_MS);
    source.fail();
    await clock.advance(1_000);
    expect(source.runs).toBe(2);
    source.set('east', '2');
    await clock.advance(PACE_MS);
    expect(stream.texts()).toEqual(['resync', '1', 'resync', '2']);
  });

  it('follows nothing without a stream, and keeps events a minute for the next', async () => {
    expect([source.runs, hub.isFollowing, clock.sleepers]).toEqual([0, false, 0]);
    const first = await read();
    const second = await read();
    expect(source.runs).toBe(1);
    stop.abort();
    await Promise.all([first.done, second.done]);
    await clock.advance(LINGER_MS - 1);
    expect(hub.isFollowing).toBe(true);
    await clock.advance(1);
    expect([hub.isFollowing, source.tell, clock.sleepers]).toEqual([false, null, 0]);
    stop = new AbortController();
    expect((await read(first.lastId())).got).toMatchObject([{ kind: 'resync', reason: 'unknown' }]);
    expect(source.runs).toBe(2);
  });

  it('says that a stream without news is alive', async () => {
    const stream = await read();
    await clock.advance(2 * IDLE_MS);
    expect(stream.texts()).toEqual(['resync', 'idle', 'idle']);
  });
});
