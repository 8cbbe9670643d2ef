// What the stores of a soak hold at its end: compared with each other by the rules of test/chaos, and with what was acknowledged.
import pg from 'pg';
import type { PostgresConfig } from '../../src/store/database.ts';
import { differences, type Guest, type Store } from '../chaos/store-differences.ts';
import { clientConfig, withDatabase } from '../../bench/postgres.ts';
import { serviceOfZone } from './zone-service.ts';
import type { SoakFleet } from './fleet.ts';
import type { HeldByZone } from './zones-process.ts';

/** The label of a written resource that holds its revision. */
export const REVISION_LABEL = 'revision';

/** One line for each wrong row of a control plane or a fake zone. */
export async function wrongRows(fleet: SoakFleet, held: readonly HeldByZone[]): Promise<string[]> {
  const [first] = fleet.replicas;
  if (first === undefined) return [];
  return await withStores([first.database, ...fleet.zones.map(({ database }) => database)], async ([global, ...stores]) => {
    if (global === undefined) return [];
    const zones = stores.map((store, index) => ({ zone: fleet.zones[index]?.name ?? '', store }));
    return await differences({ global, zones, guests: held.map(guestOf) });
  });
}

/** Key of each written resource, as its writer names it → revision. Resources that no writer changed have none. */
export async function storedRevisions({ replicas, zones }: SoakFleet): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const { name, role, database } of [...replicas.slice(0, 1), ...zones])
    await withDatabase(database, async (client) => {
      const { rows } = await client.query<{ type: string; name: string; revision: string }>(
        `select type, name, labels ->> $1 as revision from resources where sync_version is null and labels ? $1`,
        [REVISION_LABEL],
      );
      for (const row of rows) found.set(keyOf(role === 'global' ? role : name, row.type, row.name), Number(row.revision));
    });
  return found;
}

/** Of a written resource. @param store `global`, or the name of a zone */
export function keyOf(store: string, type: string, name: string): string {
  return `${store}: ${type} ${name}`;
}

function guestOf({ zone, held, port }: HeldByZone): Guest {
  return {
    zone,
    own: port === null ? [] : [serviceOfZone(zone, port)],
    held: new Map(held.map(([type, resources]) => [type, new Map(resources)])),
  };
}

async function withStores<T>(databases: readonly PostgresConfig[], use: (stores: readonly Store[]) => Promise<T>): Promise<T> {
  const clients = databases.map((database) => new pg.Client(clientConfig(database)));
  try {
    for (const client of clients) await client.connect();
    return await use(clients);
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
}
