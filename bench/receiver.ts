// A real zone joins for the first time: how long until the whole state of the global is committed in its PostgreSQL.
import type { Context, Sections } from './context.ts';
import { startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import { TYPE } from './policies.ts';
import { withDatabase } from './postgres.ts';
import { RowWatch } from './row-watch.ts';
import type { Settings } from './settings.ts';

const CHANNEL = 'bench_connected';
/** The first thing that a zone writes for a connection is its fence: that tells the moment. */
const TELL_CONNECTED = [
  `create function bench_connected() returns trigger language plpgsql as $$ begin perform pg_notify('${CHANNEL}', ''); return null; end $$`,
  `create trigger bench_connected after insert or update on kds_sessions for each statement execute function bench_connected()`,
];

export const receiver: Sections<Settings> = {
  names: { receiver: 'the first state of a real zone into its PostgreSQL' },
  measure: measureReceiver,
};

async function measureReceiver({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const { resources } = settings;
  const server = await postgres();
  say(`a real zone takes its first state, ${String(resources)} rows`);
  const global = await startSeededGlobal(server, resources);
  const database = await server.createEmptyDatabase();
  await withDatabase(database, async (client) => {
    for (const statement of TELL_CONNECTED) await client.query(statement);
  });
  const watch = await RowWatch.open(database, [CHANNEL]);
  const zone = await startZone('bench-north', global.kdsAddress, database);
  try {
    const at = await watch.until('select count(*) = $1::int as yes from resources where type = $2', [resources, TYPE]);
    const connected = watch.lastHeard(CHANNEL);
    if (connected === undefined) throw new Error('the zone wrote rows without having connected');
    const name = `first ${String(resources)} rows committed in a zone`;
    return [metricsOf('receiver')(name, 's', (at - connected) / 1000, { budget: budgets.receiverSeconds })];
  } finally {
    await watch.close();
    await zone.stop();
    await global.stop();
    await server.dropDatabase(database);
  }
}
