// From a Dataplane in one zone over the global to the service in the other zone's table: two real zones and a global.
import { setTimeout as delay } from 'node:timers/promises';
import { hashName } from '../src/resource/hash-name.ts';
import { QUIET_MS } from '../src/zone/services/settled-value.ts';
import { startZone } from './control-plane.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { nowMs, percentile } from './measure.ts';
import { MESH } from './policies.ts';
import type { Postgres } from './postgres.ts';
import { RowWatch } from './row-watch.ts';

export type ReachFindings = { readonly stateP50Ms: number; readonly ingressP50Ms: number };

const [WRITER, READER] = ['bench-east', 'bench-west'];
const SERVICE = 'cart';
const WARM_UP = 20;
const CHANGES = 100;
/** Each waits until the ingress has settled, so that it counts at once. */
const MOVES = 10;
const MESH_SQL = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;
const SPEC_SQL = `select exists (select from resources where type = 'MeshService' and name = $1 and spec like '%' || $2 || '%') as yes`;

export async function measureReach(postgres: Postgres): Promise<ReachFindings> {
  const global = await startSeededGlobal(postgres, 0);
  const databases = [await postgres.createEmptyDatabase(), await postgres.createEmptyDatabase()] as const;
  const zones = await Promise.all([
    startZone(WRITER, global.kdsAddress, databases[0]),
    startZone(READER, global.kdsAddress, databases[1]),
  ]);
  const [writer, reader] = await Promise.all([RowWatch.open(databases[0]), RowWatch.open(databases[1])]);
  const api = new HttpClient(zones[0].apiPort);
  try {
    for (const watch of [writer, reader]) await watch.until(MESH_SQL, [MESH]);
    const copy = hashName({ mesh: MESH, name: SERVICE, zone: WRITER });
    /** Milliseconds from before the PUT until the row in the other zone holds the text. */
    const reaches = async (name: string, networking: unknown, text: string): Promise<number> => {
      const began = nowMs();
      const [at] = await Promise.all([reader.until(SPEC_SQL, [copy, text]), putDataplane(api, name, networking)]);
      return at - began;
    };
    const states: number[] = [];
    for (let count = 0; count < WARM_UP + CHANGES; count += 1) {
      const isReady = count % 2 === 0;
      const inbound = { port: 80, ...(!isReady && { state: 'NotReady' }) };
      const took = await reaches(
        'cart-1',
        { address: '10.1.0.1', inbound: [inbound] },
        isReady ? '"Available"' : '"Unavailable"',
      );
      if (count >= WARM_UP) states.push(took);
    }
    const moves: number[] = [];
    for (let count = 0; count < MOVES; count += 1) {
      const advertisedAddress = `192.0.2.${String(count + 1)}`;
      const zoneIngress = { address: '10.1.0.2', port: 10001, advertisedAddress, advertisedPort: 10001 };
      moves.push(await reaches('zone-proxy', { zoneIngress }, `"${advertisedAddress}"`));
      await delay(2 * QUIET_MS);
    }
    return { stateP50Ms: percentile(states, 0.5), ingressP50Ms: percentile(moves, 0.5) };
  } finally {
    api.close();
    await Promise.all([writer.close(), reader.close()]);
    await Promise.all(zones.map((zone) => zone.stop()));
    await global.stop();
    for (const database of databases) await postgres.dropDatabase(database);
  }
}

async function putDataplane(api: HttpClient, name: string, networking: unknown): Promise<void> {
  const labels = name === 'cart-1' ? { 'kuma.io/workload': SERVICE } : {};
  await api.put(
    `/meshes/${MESH}/dataplanes/${name}`,
    JSON.stringify({ type: 'Dataplane', mesh: MESH, name, labels, networking }),
  );
}
