// Two real zones at a global, each on a PostgreSQL database: what is written in the one is looked for in the tables of the other.
import { setTimeout as delay } from 'node:timers/promises';
import { QUIET_MS } from '../src/reconcile/services/debounced-value.ts';
import { hashName } from '../src/resource/hash-name.ts';
import type { JsonObject } from '../src/resource/types.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { Context, Sections } from './context.ts';
import { startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { noCpu, repeat, untilSeen, type Counts } from './measure.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import { MESH } from './policies.ts';
import { withDatabase, type Postgres } from './postgres.ts';
import { HAS_MESH, RowWatch } from './row-watch.ts';
import type { Settings } from './settings.ts';

const WRITER = 'bench-east';
const ROW_SQL = `select exists (select from resources where type = 'MeshService' and mesh = $1 and name = $2) as yes`;
const COUNT_SQL = `select count(*) = $1::int as yes from resources where type = 'MeshService' and name like 'many-%'`;
const SPEC_SQL = `select exists (select from resources where type = 'MeshService' and name = $1 and spec like '%' || $2 || '%') as yes`;
const SERVICE = 'cart';
const REACH: Counts = { warmUp: 20, changes: 100 };
/** Each waits until the ingress has settled, so that it counts at once. */
const MOVES: Counts = { warmUp: 1, changes: 10 };
/** A zone publishes an ingress whose proxy is connected: this insight says so, as those of older versions did. */
const INGRESS = 'zone-proxy';
const CONNECTED = `insert into resources (type, mesh, name, version, spec, labels) values ('DataplaneInsight', $1, $2, 0, $3, '{}')`;
const INSIGHT = JSON.stringify({ subscriptions: [{ id: '1', connectTime: '2026-01-01T00:00:00Z' }] });

export const tables: Sections<Settings> = {
  names: { tables: 'a MeshService from one real zone into the table of another' },
  measure: measureTables,
};

export const reach: Sections<object> = {
  names: { reach: 'from a Dataplane in one real zone to the service in another' },
  measure: measureReach,
};

type TwoZones = {
  /** Database of the first zone. */
  readonly writer: PostgresConfig;
  /** Writes a resource of the mesh to the first zone. */
  readonly put: (path: string, document: JsonObject) => Promise<void>;
  /** @returns milliseconds from before the writes until `query` answers `yes` as true in the other zone */
  readonly reaches: (query: string, values: readonly unknown[], write: () => Promise<unknown>) => Promise<number>;
};

async function measureTables({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const { services } = settings;
  say('two real zones join');
  return await withTwoZones(await postgres(), async ({ put, reaches }) => {
    const putService = (name: string): Promise<void> => {
      const ports = [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'http' }];
      const spec = { selector: { dataplaneTags: { 'kuma.io/service': name } }, ports };
      return put('meshservices', { type: 'MeshService', name, labels: { 'kuma.io/origin': 'zone' }, spec });
    };
    say('MeshServices one after the other');
    const one = await repeat(noCpu, settings, (count) =>
      reaches(ROW_SQL, [MESH, nameOfCopy(`one-${String(count)}`)], () => putService(`one-${String(count)}`)),
    );
    say(`${String(services)} MeshServices at once`);
    const many = Array.from({ length: services }, (_, index) => `many-${String(index)}`);
    const burstMs = await reaches(COUNT_SQL, [services], () => Promise.all(many.map(putService)));
    const metric = metricsOf('tables');
    return [
      metric('PUT in a zone to the row in another, p50', 'ms', one.p50Ms, { budget: budgets.tableP50Ms }),
      metric(`${String(services)} MeshServices the same way`, 's', burstMs / 1000, { budget: budgets.tableBurstSeconds }),
    ];
  });
}

async function measureReach({ postgres, say }: Context<object>): Promise<Metric[]> {
  say('a global and two zones: from a Dataplane in one to the service in the other');
  return await withTwoZones(await postgres(), async ({ put, reaches, writer }) => {
    /** Milliseconds from before the PUT until the row in the other zone holds the text. */
    const change = async (name: string, networking: JsonObject, text: string): Promise<number> => {
      const labels = name === 'cart-1' ? { 'kuma.io/workload': SERVICE } : {};
      const document = { type: 'Dataplane', name, labels, networking };
      return await reaches(SPEC_SQL, [nameOfCopy(SERVICE), text], () => put('dataplanes', document));
    };
    const states = await repeat(noCpu, REACH, async (count) => {
      const isReady = count % 2 === 1;
      const inbound = [{ port: 80, ...(!isReady && { state: 'NotReady' }) }];
      return await change('cart-1', { address: '10.1.0.1', inbound }, isReady ? '"Available"' : '"Unavailable"');
    });
    await withDatabase(writer, (client) => client.query(CONNECTED, [MESH, INGRESS, INSIGHT]));
    const moves = await repeat(noCpu, MOVES, async (count) => {
      const advertisedAddress = `192.0.2.${String(count)}`;
      const zoneIngress = { address: '10.1.0.2', port: 10001, advertisedAddress, advertisedPort: 10001 };
      const took = await change(INGRESS, { zoneIngress }, `"${advertisedAddress}"`);
      await delay(2 * QUIET_MS);
      return took;
    });
    const [metric, more] = [metricsOf('reach'), { budget: budgets.tableP50Ms }];
    return [
      metric('a Dataplane changes until the service in another zone does, p50', 'ms', states.p50Ms, more),
      metric('an ingress moves until another zone has it, p50', 'ms', moves.p50Ms, more),
    ];
  });
}

/** Starts them, waits until both have joined, and ends them after `use`. */
async function withTwoZones<T>(postgres: Postgres, use: (zones: TwoZones) => Promise<T>): Promise<T> {
  const global = await startSeededGlobal(postgres, 0);
  const databases = [await postgres.createEmptyDatabase(), await postgres.createEmptyDatabase()] as const;
  const zones = await Promise.all([
    startZone(WRITER, global.kdsAddress, databases[0]),
    startZone('bench-west', global.kdsAddress, databases[1]),
  ]);
  const reader = await RowWatch.open(databases[1]);
  const api = new HttpClient(zones[0].apiPort);
  try {
    for (const database of databases) await RowWatch.see(database, HAS_MESH, [MESH]);
    return await use({
      writer: databases[0],
      put: (path, document) =>
        api.put(`/meshes/${MESH}/${path}/${String(document['name'])}`, JSON.stringify({ mesh: MESH, ...document })),
      reaches: (query, values, write) => untilSeen(reader.until(query, values), write),
    });
  } finally {
    api.close();
    await reader.close();
    await Promise.all(zones.map((zone) => zone.stop()));
    await global.stop();
    for (const database of databases) await postgres.dropDatabase(database);
  }
}

/** Stored name, in the other zone, of what the first zone calls `name`. */
function nameOfCopy(name: string): string {
  return hashName({ mesh: MESH, name, zone: WRITER });
}
