// Global sets the interval of a zone's health checks, within limits.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';
import { playGlobal } from './played-global.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let stop: AbortController;
let running: Promise<unknown>[];

beforeEach(() => {
  stop = new AbortController();
  running = [];
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

/** A global that answers health checks with a period, and a zone that is connected to it. Counts what it is asked. */
async function askedBy(intervalMs: number): Promise<{ checks: () => number; streams: () => number }> {
  let checks = 0;
  let streams = 0;
  const healthCheck = (): number => {
    checks += 1;
    return intervalMs;
  };
  const port = await playGlobal({ healthCheck, onStream: () => void (streams += 1) }, stop.signal);
  running.push(connectZone(new TinyStore(), port, stop.signal));
  await vi.waitFor(() => expect(streams).toBe(5));
  return { checks: () => checks, streams: () => streams };
}

it('a zone checks its health at the interval of global', async () => {
  const { checks } = await askedBy(10);
  await vi.waitFor(() => expect(checks()).toBeGreaterThan(3));
});

it('a zone does not check continuously when the interval is longer than a timer', async () => {
  const busy = await askedBy(30 * DAY);
  const other = await askedBy(10);
  await vi.waitFor(() => expect(other.checks()).toBeGreaterThan(20));
  expect(busy.checks()).toBe(1);
});
