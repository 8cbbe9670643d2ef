// The mesh that `bench:policy` works with: services and proxies of two zones in namespaces, and policies of every kind of author.
import type { JsonObject, Labels, Resource } from '../src/resource/types.ts';
import { kriOf } from '../src/resource/kri.ts';

export const MESH = 'bench';
export const SERVICES = 1_000;
export const POLICIES = 2_000;
export const PROXIES = 1_000;
const NAMESPACES = 20;
const ZONES = ['east', 'west'] as const;

/** Kinds of policies in turn: of 20, 3 routes, 3 timeouts of producers, and so on. */
const KINDS: readonly ((index: number) => Resource)[] = [
  ...repeat(3, routeOfProducer),
  ...repeat(3, (index: number) => producer('MeshTimeout', index, timeout(index))),
  ...repeat(3, (index: number) => producer('MeshRetry', index, { http: { numRetries: 1 + (index % 5), retryOn: ['5xx'] } })),
  ...repeat(2, (index: number) => onRoute('MeshTimeout', index, timeout(index))),
  ...repeat(2, (index: number) => consumer('MeshTimeout', index, timeout(index))),
  (index) => producer('MeshLoadBalancingStrategy', index, ringHash(index)),
  (index) => onRoute('MeshLoadBalancingStrategy', index, { hashPolicies: ringHash(index)['hashPolicies'] ?? null }),
  (index) => system('MeshCircuitBreaker', index, { connectionLimits: { maxConnections: index } }),
  (index) => system('MeshAccessLog', index, { backends: [{ type: 'File', file: { path: `/log/${String(index)}` } }] }),
  (index) => inbound('MeshRateLimit', index, { local: { http: { requestRate: { num: 1 + index, interval: '1s' } } } }),
  (index) => inbound('MeshTrafficPermission', index, { allow: [{ spiffeID: { type: 'Prefix', value: 'spiffe://bench' } }] }),
  (index) => system('MeshTimeout', index, timeout(index)),
];

export function meshRows(): Resource[] {
  const all = (count: number, make: (index: number) => Resource): Resource[] =>
    Array.from({ length: count }, (_, index) => make(index));
  return [
    { ...row('Mesh', MESH, {}, { skipCreatingInitialPolicies: ['*'] }), mesh: '' },
    ...all(SERVICES, service),
    ...all(PROXIES, proxy),
    ...all(POLICIES, (index) => policy(index)),
  ];
}

/** @param revision makes a difference, so that a change is one */
export function policy(index: number, revision = 0): Resource {
  const make = KINDS[index % KINDS.length] ?? routeOfProducer;
  const made = make(index);
  return revision === 0 ? made : { ...made, labels: { ...made.labels, revision: String(revision) }, version: revision };
}

/** A policy that every proxy has, and that every key builds on. */
export function defaultTimeout(revision: number): Resource {
  const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: `${String(5 + revision)}s` } }] };
  return row('MeshTimeout', 'timeout-of-all', {}, spec);
}

export function proxyName(index: number): string {
  return `${appOf(index)}-0.${namespaceOf(index)}`;
}

/** KRI of a service's port. */
export function outboundKri(index: number): string {
  return kriOf(service(index), 'http') ?? '';
}

/** A route of a producer, by its place among the routes, and the index of the service that it is on. */
export function routeAt(place: number): { readonly kri: string; readonly service: number } {
  const index = routeIndex(place);
  return { kri: kriOf(routeOfProducer(index)) ?? '', service: index % SERVICES };
}

function service(index: number): Resource {
  const selector = { dataplaneLabels: { matchLabels: { app: appOf(index) } } };
  return row('MeshService', appOf(index), labelsOf(index), {
    selector,
    ports: [{ port: 80, name: 'http', appProtocol: 'http' }],
  });
}

function proxy(index: number): Resource {
  const labels = { ...labelsOf(index), app: appOf(index), team: `team-${String(index % 31)}` };
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  return row('Dataplane', `${appOf(index)}-0`, labels, { networking: { address: '10.0.0.1', inbound } });
}

function routeOfProducer(index: number): Resource {
  const [name, value] = [appOf(index % SERVICES), `/slow-${String(index)}`];
  const backendRefs = [{ kind: 'MeshService', name, port: 80 }];
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value } }], default: { backendRefs } }];
  const to = [{ targetRef: { kind: 'MeshService', name }, rules }];
  return row('MeshHTTPRoute', `route-${String(index)}`, { ...labelsOf(index), ...role('producer') }, { to });
}

function producer(type: string, index: number, conf: JsonObject): Resource {
  return toOne(type, 'producer', index, { kind: 'MeshService', name: appOf(index % SERVICES) }, conf);
}

function onRoute(type: string, index: number, conf: JsonObject): Resource {
  const target = routeIndex(index);
  return toOne(
    type,
    'producer',
    target,
    { kind: 'MeshHTTPRoute', name: `route-${String(target)}` },
    conf,
    `route-producer-${String(index)}`,
  );
}

function consumer(type: string, index: number, conf: JsonObject): Resource {
  const labels = { 'kuma.io/display-name': appOf((index * 7) % SERVICES) };
  return toOne(type, 'consumer', index, { kind: 'MeshService', labels }, conf);
}

/** @param author role of the policy @param index whose labels it has */
function toOne(
  type: string,
  author: string,
  index: number,
  targetRef: JsonObject,
  conf: JsonObject,
  name = `${author}-${String(index)}`,
): Resource {
  return row(type, name, { ...labelsOf(index), ...role(author) }, { to: [{ targetRef, default: conf }] });
}

function system(type: string, index: number, conf: JsonObject): Resource {
  const targetRef = { kind: 'Dataplane', labels: { team: `team-${String(index % 31)}` } };
  return row(type, `system-${String(index)}`, {}, { targetRef, to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
}

function inbound(type: string, index: number, conf: JsonObject): Resource {
  const targetRef = { kind: 'Dataplane', labels: { app: appOf(index % SERVICES) } };
  return row(type, `inbound-${String(index)}`, {}, { targetRef, rules: [{ default: conf }] });
}

function timeout(index: number): JsonObject {
  return { http: { requestTimeout: `${String(1 + index)}s`, streamIdleTimeout: '1h' } };
}

function ringHash(index: number): JsonObject {
  return {
    hashPolicies: [{ type: 'Header', header: { name: `x-${String(index)}` } }],
    loadBalancer: { type: 'RingHash', ringHash: {} },
  };
}

/** The place of a policy among all that is a route. */
function routeIndex(place: number): number {
  return (place % (POLICIES / KINDS.length)) * KINDS.length + (place % 3);
}

function appOf(index: number): string {
  return `app-${String(index % SERVICES).padStart(4, '0')}`;
}

function namespaceOf(index: number): string {
  return `ns-${String((index % SERVICES) % NAMESPACES)}`;
}

function labelsOf(index: number): Labels {
  const zone = ZONES[Math.floor(((index % SERVICES) * ZONES.length) / SERVICES)] ?? 'east';
  return { 'kuma.io/origin': 'zone', 'kuma.io/zone': zone, 'k8s.kuma.io/namespace': namespaceOf(index) };
}

function role(name: string): Labels {
  return { 'kuma.io/policy-role': name };
}

/** As the store of global holds it, but for hashed names. */
function row(type: string, name: string, labels: Labels, spec: JsonObject): Resource {
  const namespace = labels['k8s.kuma.io/namespace'];
  const time = new Date(0);
  return {
    ...{ type, mesh: MESH, name: namespace === undefined ? name : `${name}.${namespace}` },
    labels: { 'kuma.io/origin': 'global', ...labels, 'kuma.io/display-name': name, 'kuma.io/mesh': MESH },
    ...{ spec, status: {}, version: 0, owner: null, syncVersion: null, creationTime: time, modificationTime: time },
  };
}

function repeat<T>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => item);
}
