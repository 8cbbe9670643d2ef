import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { JsonObject } from '../resource/types.ts';
import { lagToStore, zoneSync } from './zone-sync.ts';

const now = new Date('2026-01-02T00:00:00.000Z');
const ago = (ms: number): string => new Date(now.getTime() - ms).toISOString();
const open: JsonObject = { connectTime: ago(60_000) };
const closed: JsonObject = { connectTime: ago(90_000), disconnectTime: ago(30_000) };
const east = { name: 'east', isEnabled: true };
const refusedStreams = { count: 3, since: ago(20_000), last: ago(1_000), reason: 'the token has expired' };
const lag = (ms: number): { since: Date; types: string[] } => ({ since: new Date(ago(ms)), types: ['MeshTimeout'] });

describe('the state of a zone', () => {
  it.each([
    ['online', { subscriptions: [closed, open] }, {}, null, ago(60_000)],
    // The date was set back before the second stream opened.
    ['online', { subscriptions: [{ ...open, connectTime: ago(95_000) }, closed] }, {}, null, ago(95_000)],
    ['online', { subscriptions: [open] }, {}, lag(999), ago(60_000)],
    ['lagging', { subscriptions: [open] }, {}, lag(1_000), ago(1_000)],
    ['lagging', { subscriptions: [open] }, { lag: { since: ago(8_000), types: ['Mesh'] } }, undefined, ago(8_000)],
    ['online', { subscriptions: [open] }, { lag: { since: ago(8_000), types: ['Mesh'] } }, null, ago(60_000)],
    ['offline', { subscriptions: [closed] }, {}, undefined, ago(30_000)],
    ['offline', {}, {}, undefined, null],
    ['refused', { subscriptions: [closed] }, { refusedStreams }, undefined, ago(20_000)],
    ['refused', {}, { refusedStreams }, undefined, ago(20_000)],
    [
      'offline',
      { subscriptions: [closed] },
      { refusedStreams: { ...refusedStreams, last: ago(600_000) }, delayedFullStates: refusedStreams },
      undefined,
      ago(30_000),
    ],
    ['online', { subscriptions: [open] }, { refusedStreams }, null, ago(60_000)],
  ])('is %s with %j, %j and the lag %j', (state, spec: JsonObject, status: JsonObject, live, since) => {
    expect(zoneSync(east, { spec, status }, live, now)).toMatchObject({ state, connection: state, since });
  });

  it('is refused since the last disconnect of a zone that was connected after an earlier refusal', () => {
    const status = { refusedStreams: { ...refusedStreams, since: ago(120_000) } };
    const sync = zoneSync(east, { spec: { subscriptions: [closed] }, status }, undefined, now);
    expect(sync).toMatchObject({ state: 'refused', since: ago(30_000) });
  });

  it('is never online for a zone that is disabled, without a stream, or silent for a second', () => {
    const cases = fc.record({
      isEnabled: fc.boolean(),
      subscriptions: fc.subarray([open, closed]),
      status: fc.constantFrom({}, { refusedStreams }),
      lagMs: fc.option(fc.nat(3_000)),
    });
    fc.assert(
      fc.property(cases, ({ isEnabled, subscriptions, status, lagMs }) => {
        const live = lagMs === null ? null : lag(lagMs);
        const { state, reason } = zoneSync({ name: 'east', isEnabled }, { spec: { subscriptions }, status }, live, now);
        const isHealthy = isEnabled && subscriptions.includes(open) && (lagMs ?? 0) < 1_000;
        expect([state === 'online', reason === '']).toEqual([isHealthy, isHealthy]);
      }),
    );
  });

  it('tells other replicas of a lag from a second on', () => {
    expect([lagToStore(null, now), lagToStore(undefined, now), lagToStore(lag(999), now)]).toEqual([null, null, null]);
    expect(lagToStore(lag(1_000), now)).toEqual(lag(1_000));
  });
});
