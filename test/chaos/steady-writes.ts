// Continues to write during a failure, and records the acknowledged writes (answer 2xx).
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';

/** Time between two writes, in milliseconds. Each comparison of the stores reads all that was written before it. */
const PACE_MS = sized({ push: 25, full: 5 });

export type SteadyWrites = {
  /** The number of 2xx answers. */
  readonly accepted: () => number;
  /** Ends the writes. Returns the names with a 2xx answer, and all answers; 0 is none. */
  readonly stop: () => Promise<{ accepted: string[]; answers: ReadonlySet<number> }>;
};

/** Puts one new resource after the other until it is stopped. */
export function writeSteadily(prefix: string, put: (name: string, n: number) => Promise<number>): SteadyWrites {
  const accepted: string[] = [];
  const answers = new Set<number>();
  let isStopped = false;
  const run = async (): Promise<void> => {
    for (let n = 1; !isStopped; n += 1) {
      const name = `${prefix}-${String(n)}`;
      const status = await put(name, n).catch(() => 0);
      answers.add(status);
      if (status >= 200 && status < 300) accepted.push(name);
      await delay(PACE_MS);
    }
  };
  const running = run();
  return {
    accepted: () => accepted.length,
    async stop() {
      isStopped = true;
      await running;
      return { accepted, answers };
    },
  };
}

/** Puts a policy, on global. */
export async function putTimeout(global: ControlPlane, name: string, seconds: number): Promise<number> {
  const to = [{ targetRef: { kind: 'Mesh' }, default: { http: { requestTimeout: `${String(seconds)}s` } } }];
  const spec = { targetRef: { kind: 'Mesh' }, to };
  return global.put(`/meshes/default/meshtimeouts/${name}`, { type: 'MeshTimeout', mesh: 'default', name, spec });
}

/** Puts a service, in a zone. */
export async function putService(zone: ControlPlane, name: string, port: number): Promise<number> {
  const labels = { 'kuma.io/origin': 'zone' };
  const spec = { ports: [{ port, appProtocol: 'http' }] };
  return zone.put(`/meshes/default/meshservices/${name}`, { type: 'MeshService', mesh: 'default', name, labels, spec });
}

/** Resolves when the zone accepts services, because it has the mesh of global. */
export async function hasMesh(zone: ControlPlane): Promise<boolean> {
  return (await zone.rows('Mesh')).has('default');
}
