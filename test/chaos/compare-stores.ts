// Waits until the stores of a fleet hold what store-differences.ts expects of them.
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { WAIT, type ControlPlane } from '../support/control-plane.ts';
import { differences as storeDifferences } from './store-differences.ts';

type Stores = { readonly global: ControlPlane; readonly zones: readonly ControlPlane[] };

/** The policy that most tests write. */
const POLICY = 'MeshTimeout';
/** A comparison reads and hashes every row. */
const WAIT_FOR_ALL = { ...WAIT, interval: 200 };
/** Stores that change all the time are compared at every so many looks. */
const LOOKS = 25;
const MAX_SHOWN = 10;

/** Waits until all stores are in step, then for one more policy, after which they must be in step again. */
export async function expectEqualStores(stores: Stores, about = ''): Promise<void> {
  await inStep(stores, about);
  await stores.global.psql.query(
    `insert into resources (name, mesh, type, version, spec) values ($1, 'default', $2, 0, '{"last":true}')`,
    [`last-${randomUUID()}`, POLICY],
  );
  await inStep(stores, about);
}

/** Compares when nothing has changed since the last look: while rows arrive a comparison would take the CPU that they need. */
async function inStep(stores: Stores, about: string): Promise<void> {
  let before = '';
  let looks = 0;
  const equal = async (): Promise<void> => {
    const now = await marksOf(stores);
    const isMoving = now !== before && ++looks % LOOKS !== 0;
    before = now;
    if (isMoving) throw new Error(`rows still change ${about}`);
    expect((await differences(stores)).slice(0, MAX_SHOWN), about).toEqual([]);
  };
  await vi.waitFor(equal, WAIT_FOR_ALL);
}

/** Differs after each change of a row. */
async function marksOf({ global, zones }: Stores): Promise<string> {
  const marks = [global, ...zones].map(async ({ psql }) => {
    const { rows } = await psql.query<{ mark: string }>(
      `select concat_ws(' ', count(*), sum(version), max(modification_time), max(xmin::text::bigint)) as mark from resources`,
    );
    return rows[0]?.mark ?? '';
  });
  return (await Promise.all(marks)).join();
}

/** One line for each wrong row; none when every store holds exactly the expected rows. */
export async function differences({ global, zones }: Stores): Promise<string[]> {
  return await storeDifferences({
    global: global.psql,
    zones: zones.map((zone) => ({ zone: zoneName(zone), store: zone.psql })),
  });
}

/** `version` and `modification_time` of the rows that came by KDS: a rewritten row differs here. */
export async function writesOf(store: ControlPlane): Promise<Map<string, string>> {
  const { rows } = await store.psql.query<{ key: string; written: string }>(
    `select type || '/' || mesh || '/' || name as key, version || ' at ' || modification_time::text as written
     from resources where sync_version is not null`,
  );
  return new Map(rows.map(({ key, written }) => [key, written]));
}

export function zoneName({ env }: ControlPlane): string {
  return env['MERIDIAN_MULTIZONE_ZONE_NAME'] ?? '';
}
