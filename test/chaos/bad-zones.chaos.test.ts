// Zones that never answer and zones that refuse everything: the overview shows them, and other zones are not affected.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores } from './compare-stores.ts';
import { GuestZone, type Manner } from './guest-zone.ts';
import { hasMesh, putService } from './steady-writes.ts';

const TYPE = 'MeshTimeout';
/** More than are sent their first state at a time. */
const SILENT = 12;
const REFUSING = 3;
const CHANGES = sized({ push: 50, full: 150 });
/** Retries of what was refused come on top of what each change brings. */
const MAX_RETRIES = 20;

describe('zones that do not keep to the protocol', () => {
  const guests: GuestZone[] = [];
  let fleet: Fleet;

  const problemsOf = async (zone: string): Promise<{ kind: string; type: string }[]> => {
    const response = await fetch(`http://127.0.0.1:${String(fleet.global.api)}/zones/${zone}/_overview`);
    return ((await response.json()) as { syncProblems?: { kind: string; type: string }[] }).syncProblems ?? [];
  };
  /** Types of which the zone has not accepted a response, from the metric of the lag. */
  const lagOf = async (zone: string): Promise<string[]> => {
    const port = fleet.global.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? '';
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const lines = metrics
      .split('\n')
      .filter((line) => line.startsWith('meridian_sync_lag_seconds') && line.includes(`"${zone}"`));
    return lines.filter((line) => !line.endsWith(' 0')).map((line) => /resource_type="([^"]*)"/.exec(line)?.[1] ?? '');
  };

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { isQuiet: true });
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  afterAll(async () => {
    for (const guest of guests) guest.leave();
    await fleet.stop();
  });

  it('are reported, get only the responses that they acknowledge, and do not delay changes to other zones', async () => {
    const { global, zones } = fleet;
    await global.psql.query(
      `insert into resources (name, mesh, type, version, spec) values ('counter', 'default', '${TYPE}', 0, '{"n":0}')`,
    );
    const join = (name: string, manner: Manner): void => void guests.push(GuestZone.join(name, manner, fleet.kds));
    for (let n = 1; n <= SILENT; n += 1) join(`silent-${String(n)}`, 'says nothing');
    for (let n = 1; n <= REFUSING; n += 1) join(`refusing-${String(n)}`, 'refuses everything');
    for (const guest of guests) await expect.poll(() => guest.hasFirstStates, WAIT).toBe(true);
    const name = hashName({ mesh: 'default', name: 'counter' });
    const counterIn = async (zone: ControlPlane): Promise<unknown> =>
      (await zone.psql.query('select spec::json ->> $2 as n, version from resources where name = $1', [name, 'n'])).rows[0];
    for (const zone of zones) await expect.poll(() => counterIn(zone), WAIT).toEqual({ n: '0', version: 0 });
    for (let n = 1; n <= CHANGES; n += 1) {
      await global.psql.query(`update resources set spec = $1 where name = 'counter'`, [JSON.stringify({ n })]);
      // The version says that every change was stored by itself: none waited for another.
      for (const zone of zones) await expect.poll(() => counterIn(zone), WAIT).toEqual({ n: String(n), version: n });
    }
    for (const guest of guests) {
      const [isSilent, sent] = [guest.name.startsWith('silent'), guest.responses(TYPE)];
      if (isSilent) expect(sent, guest.name).toBe(1);
      else expect(sent, guest.name).toBeLessThan(CHANGES + MAX_RETRIES);
      await expect.poll(() => lagOf(guest.name), WAIT).toContain(TYPE);
      const refusal = expect.arrayContaining([expect.objectContaining({ kind: 'refused', type: TYPE })]) as unknown;
      if (!isSilent) await expect.poll(() => problemsOf(guest.name), WAIT).toEqual(refusal);
    }
    for (const zone of ['east', 'west']) {
      expect(await problemsOf(zone)).toEqual([]);
      await expect.poll(() => lagOf(zone), WAIT).toEqual([]);
    }
    expect(await putService(zones[0] as ControlPlane, 'beside-bad-zones', 80)).toBe(201);
    await expectEqualStores(fleet);
  });
});
