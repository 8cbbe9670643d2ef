// From a Dataplane in one zone over the global to the service in the other zone's table.
import { setTimeout as delay } from 'node:timers/promises';
import { QUIET_MS } from '../src/reconcile/services/debounced-value.ts';
import type { Context, Sections } from './context.ts';
import { percentile } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import { MESH } from './policies.ts';
import { nameOfCopy, withTwoZones } from './two-zones.ts';

const SERVICE = 'cart';
const WARM_UP = 20;
const CHANGES = 100;
/** Each waits until the ingress has settled, so that it counts at once. */
const MOVES = 10;
const SPEC_SQL = `select exists (select from resources where type = 'MeshService' and name = $1 and spec like '%' || $2 || '%') as yes`;

export const reach: Sections<object> = {
  names: { reach: 'from a Dataplane in one real zone to the service in another' },
  measure: measureReach,
};

async function measureReach({ postgres, say }: Context<object>): Promise<Metric[]> {
  const server = await postgres();
  say('a global and two zones: from a Dataplane in one to the service in the other');
  return await withTwoZones(server, async ({ api, reaches }) => {
    /** Milliseconds from before the PUT until the row in the other zone holds the text. */
    const change = async (name: string, networking: unknown, text: string): Promise<number> => {
      const labels = name === 'cart-1' ? { 'kuma.io/workload': SERVICE } : {};
      const body = JSON.stringify({ type: 'Dataplane', mesh: MESH, name, labels, networking });
      return await reaches(SPEC_SQL, [nameOfCopy(SERVICE), text], () => api.put(`/meshes/${MESH}/dataplanes/${name}`, body));
    };
    const states: number[] = [];
    for (let count = 0; count < WARM_UP + CHANGES; count += 1) {
      const isReady = count % 2 === 0;
      const inbound = { port: 80, ...(!isReady && { state: 'NotReady' }) };
      const networking = { address: '10.1.0.1', inbound: [inbound] };
      const took = await change('cart-1', networking, isReady ? '"Available"' : '"Unavailable"');
      if (count >= WARM_UP) states.push(took);
    }
    const moves: number[] = [];
    for (let count = 0; count < MOVES; count += 1) {
      const advertisedAddress = `192.0.2.${String(count + 1)}`;
      const zoneIngress = { address: '10.1.0.2', port: 10001, advertisedAddress, advertisedPort: 10001 };
      moves.push(await change('zone-proxy', { zoneIngress }, `"${advertisedAddress}"`));
      await delay(2 * QUIET_MS);
    }
    return metricsOf(percentile(states, 0.5), percentile(moves, 0.5));
  });
}

function metricsOf(stateP50Ms: number, ingressP50Ms: number): Metric[] {
  const common = { section: 'reach', unit: 'ms', budget: budgets.tableP50Ms };
  return [
    { ...common, name: 'a Dataplane changes until the service in another zone does, p50', meridian: stateP50Ms },
    { ...common, name: 'an ingress moves until another zone has it, p50', meridian: ingressP50Ms },
  ];
}
