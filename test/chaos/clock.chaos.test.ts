// The clock of global is an hour ahead, then an hour behind. Sync does not depend on it.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { hasMesh } from './steady-writes.ts';
import { preloaded } from './preload.ts';
import { writeDuring } from './write-during.ts';

const HOUR_MS = 3_600_000;

type Overview = { zoneInsight?: { subscriptions?: { connectTime?: string; disconnectTime?: string }[] } };

describe('the clock of global', () => {
  let fleet: Fleet;

  async function openSince(zone: string): Promise<string[]> {
    const response = await fetch(`http://127.0.0.1:${String(fleet.global.api)}/zones/${zone}/_overview`);
    const { zoneInsight } = (await response.json()) as Overview;
    const open = (zoneInsight?.subscriptions ?? []).filter(({ disconnectTime }) => disconnectTime === undefined);
    return open.map(({ connectTime = '' }) => connectTime);
  }

  /** Global comes back with another clock. */
  async function shift(ms: number): Promise<void> {
    await fleet.global.end('SIGTERM');
    fleet.global.env['CLOCK_SHIFT_MS'] = String(ms);
    fleet.global.start();
    await vi.waitFor(async () => expect(await fleet.global.answers()).toBe(true), WAIT);
  }

  beforeAll(async () => {
    const envOf = (member: string): Record<string, string> =>
      member === 'global' ? { ...preloaded('clock'), CLOCK_SHIFT_MS: String(HOUR_MS) } : {};
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { envOf, isQuiet: true });
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  afterAll(() => fleet.stop());

  it('may be an hour fast, and then an hour slow', async () => {
    const [east] = fleet.zones as [ControlPlane];
    for (const [name, ms] of [['fast', HOUR_MS] as const, ['slow', -HOUR_MS] as const]) {
      await shift(ms);
      const restart = async (): Promise<void> => {
        await east.end('SIGKILL');
        east.start();
        await vi.waitFor(async () => expect(await east.answers()).toBe(true), WAIT);
      };
      await writeDuring(fleet, name, restart, { kills: true });
      // The zones are shown as online, once each, since a time of that clock.
      for (const zone of ['east', 'west']) {
        await expect.poll(async () => (await openSince(zone)).length, WAIT).toBe(1);
        const [since = ''] = await openSince(zone);
        expect(Math.abs(Date.parse(since) - Date.now() - ms), `${zone} since ${since}`).toBeLessThan(HOUR_MS / 2);
      }
    }
  });
});
