// Two idle fleets with every document of the corpus: no row may change for two minutes.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { missingCopies } from './copies.ts';
import { readCorpus } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type FleetPlan, type MixedFleet } from './mixed-fleet.ts';
import { readTable, rowKey } from './table.ts';
import { makeMesh, writeAll } from './written-corpus.ts';

const plans: FleetPlan[] = [
  { global: 'meridian', zones: { 'kuma-1': 'kuma', 'meridian-1': 'meridian' } },
  { global: 'kuma', zones: { 'kuma-1': 'kuma', 'meridian-1': 'meridian' } },
];
const QUIET_MS = 120_000;
/** Rows with counters and times of streams and processes, which change by themselves. */
const COUNTERS = new Set(['ZoneInsight', 'MeshInsight', 'Config']);

let fleets: MixedFleet[] = [];

beforeAll(async () => {
  for (const plan of plans) fleets = [...fleets, await startMixedFleet(inject('postgresUrl'), plan)];
  for (const fleet of fleets) {
    await makeMesh(fleet);
    const { written } = await writeAll(readCorpus(), fleet.members);
    await vi.waitFor(async () => expect(await missingCopies(fleet, written)).toEqual([]), LONG_WAIT);
  }
});

afterAll(() => Promise.all(fleets.map(({ stop }) => stop())));

it('an idle fleet writes no row for two minutes', async () => {
  // The reconcilers still compute fields of the last writes: states, addresses, hostnames, services.
  let before = new Map<string, number>();
  await vi.waitFor(
    async () => {
      const now = await versions();
      const changes = changesBetween(before, now);
      before = now;
      expect(changes).toEqual([]);
    },
    { timeout: LONG_WAIT.timeout, interval: 12_000 },
  );
  await delay(QUIET_MS);
  expect(changesBetween(before, await versions())).toEqual([]);
}, 400_000);

/** `fleet member row` → version. */
async function versions(): Promise<Map<string, number>> {
  const tables = fleets.flatMap(({ members }, index) =>
    members.map(async ({ name, plane }) => {
      const rows = (await readTable(plane)).filter(({ type }) => !COUNTERS.has(type));
      return rows.map((row) => [`${plans[index]?.global ?? ''} fleet, ${name}: ${rowKey(row)}`, row.version] as const);
    }),
  );
  return new Map((await Promise.all(tables)).flat());
}

function changesBetween(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string[] {
  const keys = [...new Set([...before.keys(), ...now.keys()])];
  return keys
    .filter((key) => before.get(key) !== now.get(key))
    .map((key) => `${key}: ${String(before.get(key))} → ${String(now.get(key))}`);
}
