// From one zone's REST API over the global into the other zone's table.
import type { Context, Sections } from './context.ts';
import type { HttpClient } from './http-client.ts';
import { percentile } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import { MESH } from './policies.ts';
import type { Settings } from './settings.ts';
import { nameOfCopy, withTwoZones } from './two-zones.ts';

const ROW_SQL = `select exists (select from resources where type = 'MeshService' and mesh = $1 and name = $2) as yes`;
const COUNT_SQL = `select count(*) = $1::int as yes from resources where type = 'MeshService' and name like 'many-%'`;

export const tables: Sections<Settings> = {
  names: { tables: 'a MeshService from one real zone into the table of another' },
  measure: measureTables,
};

async function measureTables({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const { warmUp, changes, services } = settings;
  const server = await postgres();
  say('two real zones join');
  return await withTwoZones(server, async ({ api, reaches }) => {
    const one = async (name: string): Promise<number> => reaches(ROW_SQL, [MESH, nameOfCopy(name)], () => put(api, name));
    say(`${String(warmUp)} MeshServices to warm up, ${String(changes)} one after the other`);
    for (let index = 0; index < warmUp; index += 1) await one(`warm-up-${String(index)}`);
    const latencies: number[] = [];
    for (let index = 0; index < changes; index += 1) latencies.push(await one(`one-${String(index)}`));
    say(`${String(services)} MeshServices at once`);
    const many = Array.from({ length: services }, (_, index) => `many-${String(index)}`);
    const burst = await reaches(COUNT_SQL, [services], () => Promise.all(many.map((name) => put(api, name))));
    return metricsOf(latencies, services, burst / 1000);
  });
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
