// Two real zones at a global, each on a PostgreSQL database: what is written in the one is looked for in the tables of the other.
import { hashName } from '../src/resource/hash-name.ts';
import { startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { nowMs } from './measure.ts';
import { MESH } from './policies.ts';
import type { Postgres } from './postgres.ts';
import { RowWatch } from './row-watch.ts';

const WRITER = 'bench-east';
const READER = 'bench-west';
const MESH_SQL = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;

export type TwoZones = {
  /** REST of the zone that is written to. */
  readonly api: HttpClient;
  /** @returns milliseconds from before the writes until `query` answers `yes` as true in the other zone */
  readonly reaches: (query: string, values: readonly unknown[], write: () => Promise<unknown>) => Promise<number>;
};

/** Starts them, waits until both have joined, and ends them after `use`. */
export async function withTwoZones<T>(postgres: Postgres, use: (zones: TwoZones) => Promise<T>): Promise<T> {
  const global = await startSeededGlobal(postgres, 0);
  const databases = [await postgres.createEmptyDatabase(), await postgres.createEmptyDatabase()] as const;
  const zones = await Promise.all([
    startZone(WRITER, global.kdsAddress, databases[0]),
    startZone(READER, global.kdsAddress, databases[1]),
  ]);
  const [writer, reader] = await Promise.all([RowWatch.open(databases[0]), RowWatch.open(databases[1])]);
  const api = new HttpClient(zones[0].apiPort);
  const reaches: TwoZones['reaches'] = async (query, values, write) => {
    const began = nowMs();
    const [at] = await Promise.all([reader.until(query, values), write()]);
    return at - began;
  };
  try {
    for (const watch of [writer, reader]) await watch.until(MESH_SQL, [MESH]);
    return await use({ api, reaches });
  } finally {
    api.close();
    await Promise.all([writer.close(), reader.close()]);
    await Promise.all(zones.map((zone) => zone.stop()));
    await global.stop();
    for (const database of databases) await postgres.dropDatabase(database);
  }
}

/** Stored name, in the other zone, of what the first zone calls `name`. */
export function nameOfCopy(name: string): string {
  return hashName({ mesh: MESH, name, zone: WRITER });
}
