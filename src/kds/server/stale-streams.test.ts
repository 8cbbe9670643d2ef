// Streams that end because their zone is silent, or because a newer stream replaces them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { feature } from '../protocol/features.ts';
import { StreamsByZone } from './streams-by-zone.ts';
import { StaleStreams, type HealthPolicy, type WatchedStream } from './stale-streams.ts';

const POLL = 1_000;
const TIMEOUT = 5_000;

describe('streams', () => {
  let clock: ManualClock;
  let open: StreamsByZone<WatchedStream>;
  let ended: string[];
  let stale: StaleStreams;

  beforeEach(() => {
    clock = new ManualClock();
    open = new StreamsByZone();
    ended = [];
  });

  afterEach(() => {
    stale.close();
    expect(clock.sleepers).toBe(0);
  });

  function start(policy: Partial<HealthPolicy>): void {
    const whole = { pollInterval: 0, timeout: 0, closeStaleConn: false, ...policy };
    stale = new StaleStreams(whole, open, clock);
  }

  function add(zone: string, kind: WatchedStream['kind'], features: string[] = [feature.zonePingHealth]): void {
    const stream: WatchedStream = {
      ...{ zone, kind, features },
      end: ({ message }) => {
        open.delete(stream);
        ended.push(`${zone} ${kind}: ${message}`);
      },
    };
    open.add(stream);
    stale.opened(stream);
  }

  it('of a zone that stops its health checks end after the timeout, and those of others stay', async () => {
    start({ pollInterval: POLL, timeout: TIMEOUT });
    for (const zone of ['silent', 'checking']) add(zone, 'globalToZone');
    add('old', 'globalToZone', []);
    for (let time = 0; time < 2 * TIMEOUT; time += POLL) {
      await clock.advance(POLL);
      stale.seen('checking');
      if (time < TIMEOUT - POLL) expect(ended).toEqual([]);
    }
    expect(ended).toEqual(['silent globalToZone: stream canceled - zone hc failed']);
  });

  it('count as a health check when they open', async () => {
    start({ pollInterval: POLL, timeout: TIMEOUT });
    add('east', 'globalToZone');
    await clock.advance(TIMEOUT - POLL);
    add('east', 'stats');
    await clock.advance(TIMEOUT - POLL);
    expect(ended).toEqual([]);
  });

  it.each<Partial<HealthPolicy>>([{ pollInterval: POLL }, { timeout: TIMEOUT }, {}])('never end with %j', async (policy) => {
    start(policy);
    add('east', 'globalToZone');
    add('east', 'globalToZone');
    await clock.advance(100 * TIMEOUT);
    expect(ended).toEqual([]);
  });

  it('that wait to open do not count as silent', async () => {
    await clock.advance(TIMEOUT);
    start({ pollInterval: POLL, timeout: TIMEOUT });
    const end = ({ message }: Error): void => void ended.push(message);
    open.add({ zone: 'east', kind: 'stats', features: [feature.zonePingHealth], end });
    await clock.advance(2 * TIMEOUT);
    expect(ended).toEqual([]);
  });

  it('that wait to open do not count as silent when their zone had a stream long ago', async () => {
    start({ pollInterval: POLL, timeout: TIMEOUT });
    add('east', 'globalToZone');
    for (const stream of open.of('east')) open.delete(stream);
    await clock.advance(2 * TIMEOUT);
    const end = ({ message }: Error): void => void ended.push(message);
    open.add({ zone: 'east', kind: 'stats', features: [feature.zonePingHealth], end });
    await clock.advance(POLL);
    expect(ended).toEqual([]);
  });

  it('that are older and wait to open do not replace a newer one that waits too', () => {
    start({ closeStaleConn: true });
    const ends: string[] = [];
    const [older, newer] = ['older', 'newer'].map((name): WatchedStream => ({
      zone: 'east',
      kind: 'globalToZone',
      features: [],
      end: () => void ends.push(name),
    }));
    if (older === undefined || newer === undefined) throw new Error('no streams');
    for (const stream of [older, newer]) open.add(stream);
    stale.opened(older);
    expect(ends).toEqual([]);
    stale.opened(newer);
    expect(ends).toEqual(['older']);
  });

  it('are replaced by newer ones of their zone and kind when closeStaleConn is set', () => {
    start({ closeStaleConn: true });
    add('east', 'globalToZone');
    add('east', 'stats');
    add('west', 'globalToZone');
    expect(ended).toEqual([]);
    add('east', 'globalToZone');
    expect(ended).toEqual(['east globalToZone: stream canceled - stream stopped']);
  });
});
