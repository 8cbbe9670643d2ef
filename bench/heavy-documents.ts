// What heavy callers and the fleets of proxies write: a route of thousands of rules, a policy for a whole mesh, YAML that takes its reader long.
import type { JsonObject } from '../src/resource/types.ts';

/** Heavy caller → what it does. */
export const heavyCallers = {
  previews: 'four previews at once beside a route of 4,500 rules and 100 Dataplanes',
  route: 'a route of 4,500 rules that changes all the time',
  dataplane: 'one of 2,000 Dataplanes that changes all the time',
  yaml: '12 connections with 150 kB of YAML anchors',
  forged: '16 connections with a forged token',
} as const;

export type HeavyCaller = keyof typeof heavyCallers;

export const RULES = 4_500;
/** The route of each mesh that changes, and the service that it is on. */
export const ROUTE = 'changing';
export const SERVICE = 'service-0';
/** The Dataplane that changes. */
export const MOVING = 'proxy-1';
/** Not of this machine, so that the caller has no rights of the machine. */
export const REMOTE = '192.0.2.9';

const YAML_BYTES = 150_000;

/**
 * The count of a heavy caller's next document. Counts below are those of the bench: its changes are never what a heavy caller has stored,
 * because nothing is sent to a proxy then.
 */
export const FIRST_HEAVY = 1_000_000;
/** Of the service, and of the inbound that is its endpoint. */
const PORT = 8080;

/** @param count makes a difference in one of the rules @param rules how many it has @param name of the service that it is on */
export function longRoute(mesh: string, count: number, rules = RULES, name = SERVICE): JsonObject {
  const value = (at: number): string => (at === 0 ? `/v${String(count)}` : `/p${String(at)}`);
  const items = Array.from({ length: rules }, (_, at) => ({
    matches: [{ path: { type: 'PathPrefix', value: value(at) } }],
    default: { backendRefs: [{ kind: 'MeshService', name, port: 80, weight: 1 }] },
  }));
  const to = [{ targetRef: { kind: 'MeshService', name }, rules: items }];
  return { type: 'MeshHTTPRoute', mesh, name: ROUTE, spec: { to } };
}

export function timeoutForAll(mesh: string): JsonObject {
  const to = [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '77s', http: { requestTimeout: '7s' } } }];
  return { type: 'MeshTimeout', mesh, name: 'previewed', spec: { to } };
}

export function service(mesh: string, name: string): JsonObject {
  return {
    ...{ type: 'MeshService', mesh, name },
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: name } } },
      ports: [{ name: 'http', port: 80, targetPort: PORT, appProtocol: 'http' }],
    },
  };
}

/** @param count makes a difference: a label of the endpoint @param own its service @param called those that it calls */
export function dataplane(
  mesh: string,
  name: string,
  index: number,
  count = 0,
  own = SERVICE,
  called: readonly string[] = [SERVICE],
): JsonObject {
  const address = `10.${String(1 + (index >> 16))}.${String((index >> 8) & 255)}.${String(index & 255)}`;
  const tags = { 'kuma.io/service': own };
  const inbound = [{ name: 'http', port: PORT, servicePort: PORT, protocol: 'http', tags }];
  const outbound = called.map((to, at) => ({ port: 10_000 + at, backendRef: { kind: 'MeshService', name: to, port: 80 } }));
  const labels = { app: own, revision: `r${String(count)}` };
  return { type: 'Dataplane', mesh, name, labels, networking: { address, inbound, outbound } };
}

export function worstYaml(): string {
  return Array.from({ length: YAML_BYTES / 10 }, (_, at) => `a${String(at)}: &b${String(at)} 1`)
    .join('\n')
    .slice(0, YAML_BYTES);
}
