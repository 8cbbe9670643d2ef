// From one zone's REST API over the global into the other zone's table: two real zones, each on a PostgreSQL database.
import type { Context } from './context.ts';
import { startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { nowMs, percentile } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import { hashName } from '../src/resource/hash-name.ts';
import { MESH } from './policies.ts';
import { RowWatch } from './row-watch.ts';

const WRITER = 'bench-east';
const READER = 'bench-west';
const MESH_SQL = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;
const ROW_SQL = `select exists (select from resources where type = 'MeshService' and mesh = $1 and name = $2) as yes`;
const COUNT_SQL = `select count(*) = $1::int as yes from resources where type = 'MeshService' and name like 'many-%'`;

export async function measureTables({ settings, postgres, say }: Context): Promise<Metric[]> {
  say('two real zones join');
  const global = await startSeededGlobal(postgres, 0);
  const databases = [await postgres.createEmptyDatabase(), await postgres.createEmptyDatabase()] as const;
  const zones = await Promise.all([
    startZone(WRITER, global.kdsAddress, databases[0]),
    startZone(READER, global.kdsAddress, databases[1]),
  ]);
  const watches = await Promise.all(databases.map((database) => RowWatch.open(database)));
  const api = new HttpClient(zones[0].apiPort);
  try {
    for (const watch of watches) await watch.until(MESH_SQL, [MESH]);
    const reader = watches[1] as RowWatch;
    const one = async (name: string): Promise<number> => {
      const began = nowMs();
      const [at] = await Promise.all([
        reader.until(ROW_SQL, [MESH, hashName({ mesh: MESH, name, zone: WRITER })]),
        put(api, name),
      ]);
      return at - began;
    };
    say(`${String(settings.warmUp)} MeshServices to warm up, ${String(settings.changes)} one after the other`);
    for (let index = 0; index < settings.warmUp; index += 1) await one(`warm-up-${String(index)}`);
    const latencies: number[] = [];
    for (let index = 0; index < settings.changes; index += 1) latencies.push(await one(`one-${String(index)}`));
    say(`${String(settings.services)} MeshServices at once`);
    const began = nowMs();
    const [last] = await Promise.all([
      reader.until(COUNT_SQL, [settings.services]),
      ...Array.from({ length: settings.services }, (_, index) => put(api, `many-${String(index)}`)),
    ]);
    return metricsOf(latencies, settings.services, (last - began) / 1000);
  } finally {
    api.close();
    await Promise.all(watches.map((watch) => watch.close()));
    await Promise.all(zones.map((zone) => zone.stop()));
    await global.stop();
    for (const database of databases) await postgres.dropDatabase(database);
  }
}

async function put(api: HttpClient, name: string): Promise<void> {
  const spec = {
    selector: { dataplaneTags: { 'kuma.io/service': name } },
    ports: [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'http' }],
  };
  const labels = { 'kuma.io/origin': 'zone' };
  const body = JSON.stringify({ type: 'MeshService', mesh: MESH, name, labels, spec });
  await api.put(`/meshes/${MESH}/meshservices/${name}`, body);
}

function metricsOf(latencies: readonly number[], services: number, seconds: number): Metric[] {
  const section = 'tables';
  const name = 'PUT in a zone to the row in another';
  return [
    { section, name: `${name}, p50`, unit: 'ms', meridian: percentile(latencies, 0.5), budget: budgets.tableP50Ms },
    { section, name: `${name}, p99`, unit: 'ms', meridian: percentile(latencies, 0.99) },
    {
      ...{ section, name: `${String(services)} MeshServices the same way`, unit: 's' },
      ...{ meridian: seconds, budget: budgets.tableBurstSeconds },
    },
  ];
}
