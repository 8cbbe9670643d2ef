// The health of a proxy and of the applications behind it: the probes for its Envoy, and the states of its inbounds after a report
// (xds 1, HDS). Pure. Invariant: a Dataplane names no probe that a person did not write.
import { parseGoDuration } from '../base/duration.ts';
import { isObject, numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { applicationAddress } from './application-address.ts';
import { defaultProbe, type ApplicationProbe } from './default-probe.ts';
import { duration, socketAddress } from '../envoy/proto-json.ts';
import { inboundAddressProblem } from './socket-address.ts';
import { fromOwnSource } from './transparent-proxying.ts';
import { transparentProxying } from '../policy/transparent-proxying.ts';

/** Whether the endpoints of a probed cluster are healthy, by its name. A cluster that no report has named yet has no state. */
export type ProxyHealth = ReadonlyMap<string, boolean>;

/** The cluster of Envoy itself. */
const ADMIN = 'system_envoy_admin';
const DEFAULTS = { interval: '1s', timeout: '2s', unhealthyThreshold: 1, healthyThreshold: 1 } as const;
/** Milliseconds: a probe must not keep its Envoy busy, nor its reports the control plane. */
const MIN_PROBE_MS = 100;
const MIN_REPORT_MS = 1_000;

/** A Dataplane, and how the applications of inbounds without a `serviceProbe` are probed; null: they are not. */
export type Probed = Pick<Resource, 'labels' | 'spec'> & { readonly applications: ApplicationProbe | null };

/**
 * An envoy.service.health.v3.HealthCheckSpecifier as proto3 JSON. Envoy reports as often as its most frequent probe runs.
 * @param adminSocket of its Envoy; null: Envoy itself is not probed
 * @param reportMs milliseconds between two reports at most
 */
export function healthCheckSpecifier(dataplane: Probed, adminSocket: string | null, reportMs: number): JsonObject {
  const checks = new Map<string, JsonObject>();
  if (adminSocket !== null)
    checks.set(ADMIN, clusterCheck(ADMIN, {}, { httpHealthCheck: { path: '/ready' } }, { pipe: { path: adminSocket } }));
  let interval = reportMs;
  const networking = objectOf(dataplane.spec['networking']);
  const isRedirected = (transparentProxying(dataplane)?.inboundPort ?? null) !== null;
  for (const inbound of objectsOf(networking['inbound'])) {
    const found = probeOf(dataplane, inbound);
    if (found === null || checks.has(found.cluster)) continue;
    const { address, port } = applicationAddress(networking, inbound);
    const check = clusterCheck(found.cluster, found.probe, { tcpHealthCheck: {} }, socketAddress(address, port));
    checks.set(found.cluster, { ...check, ...(isRedirected && fromOwnSource(address)) });
    interval = Math.min(interval, Math.max(MIN_REPORT_MS, parseGoDuration(intervalOf(found.probe)) ?? reportMs));
  }
  return { clusterHealthChecks: [...checks.values()], interval: duration(`${String(interval)}ms`, '5s') };
}

/**
 * Milliseconds after which each probe of a specifier has answered as often as it takes to be believed, and was reported. Before that Envoy
 * reports as unhealthy what it has not probed yet.
 */
export function firstAnswerMs(specifier: JsonObject): number {
  const checks = objectsOf(specifier['clusterHealthChecks']).flatMap(({ healthChecks }) => objectsOf(healthChecks));
  const longest = checks.map(({ timeout, interval, unhealthyEdgeInterval = interval, unhealthyThreshold }) => {
    const failures = Math.max(1, numberOf(unhealthyThreshold));
    return failures * decodeDelay(timeout) + (failures - 1) * decodeDelay(unhealthyEdgeInterval);
  });
  return longest.reduce((a, b) => Math.max(a, b), 0) + reportIntervalMs(specifier);
}

/** Milliseconds between two reports to a specifier. */
export function reportIntervalMs({ interval }: JsonObject): number {
  return decodeDelay(interval);
}

/**
 * The spec of the Dataplane, whose inbounds are ready or not as the report says; the same object where nothing differs. An inbound that
 * somebody set to NotReady stays so, and `Ignored` is not touched: an inbound that this function made not ready has `health` beside its
 * state, and it alone is made ready again.
 */
export function withHealth(dataplane: Probed, health: ProxyHealth): JsonObject {
  return withInbounds(dataplane.spec, (inbound) => {
    const found = probeOf(dataplane, inbound);
    const states = [health.get(ADMIN), ...(found === null ? [] : [health.get(found.cluster)])];
    if (states.includes(false)) return inbound['state'] === 'NotReady' ? inbound : madeUnready(inbound);
    return isMadeUnready(inbound) && states.every((state) => state === true) ? madeReady(inbound) : inbound;
  });
}

/** The spec that a proxy brings, with the inbounds not ready that a report made so: the next report says when they are ready. */
export function keepHealth(given: JsonObject, stored: JsonObject): JsonObject {
  const unready = new Set(
    objectsOf(objectOf(stored['networking'])['inbound']).filter(isMadeUnready).map(madeReady).map(textOfInbound),
  );
  if (unready.size === 0) return given;
  return withInbounds(given, (inbound) => (unready.has(textOfInbound(inbound)) ? madeUnready(inbound) : inbound));
}

/** Whether a report made an inbound not ready, and not a person. */
export function isMadeUnready({ state, health }: JsonObject): boolean {
  return state === 'NotReady' && health !== undefined && objectOf(health)['ready'] !== true;
}

/** The probe of an inbound, written or by default, with the name of the cluster that has its application; null where it is not probed. */
function probeOf(dataplane: Probed, inbound: JsonObject): { cluster: string; probe: JsonObject } | null {
  const written = inbound['serviceProbe'];
  const probe = isObject(written) ? written : defaultProbe(dataplane, inbound, dataplane.applications);
  if (probe === null) return null;
  const { address, port } = applicationAddress(objectOf(dataplane.spec['networking']), inbound);
  if (inboundAddressProblem(address, port) !== null) return null;
  return { cluster: `${address === '127.0.0.1' ? 'localhost' : address}:${String(port)}`, probe };
}

function clusterCheck(clusterName: string, probe: JsonObject, check: JsonObject, address: JsonObject): JsonObject {
  const interval = atLeast(intervalOf(probe));
  return {
    clusterName,
    healthChecks: [
      {
        timeout: atLeast(textOr(probe['timeout'], DEFAULTS.timeout)),
        interval,
        // Envoy waits 60 s between two probes of a cluster without traffic, and such a cluster has none.
        noTrafficInterval: interval,
        unhealthyThreshold: probe['unhealthyThreshold'] ?? DEFAULTS.unhealthyThreshold,
        healthyThreshold: probe['healthyThreshold'] ?? DEFAULTS.healthyThreshold,
        ...intervalsOfDoubt(probe),
        ...check,
      },
    ],
    localityEndpoints: [{ endpoints: [{ address }] }],
  };
}

/** A default probe asks again soon while it doubts, and while the application is away. */
function intervalsOfDoubt({ unhealthyEdgeInterval, unhealthyInterval }: JsonObject): JsonObject {
  return {
    ...(unhealthyEdgeInterval !== undefined && { unhealthyEdgeInterval: atLeast(textOf(unhealthyEdgeInterval)) }),
    ...(unhealthyInterval !== undefined && { unhealthyInterval: atLeast(textOf(unhealthyInterval)) }),
  };
}

function intervalOf(probe: JsonObject): string {
  return textOr(probe['interval'], DEFAULTS.interval);
}

function decodeDelay(given: Json | undefined): number {
  return typeof given === 'string' ? (parseGoDuration(given) ?? 0) : 0;
}

function textOr(given: Json | undefined, fallback: string): string {
  return typeof given === 'string' && parseGoDuration(given) !== null ? given : fallback;
}

function atLeast(text: string): string {
  return duration(`${String(Math.max(MIN_PROBE_MS, parseGoDuration(text) ?? 0))}ms`, '1s');
}

function withInbounds(spec: JsonObject, edit: (inbound: JsonObject) => JsonObject): JsonObject {
  const networking = objectOf(spec['networking']);
  const before = objectsOf(networking['inbound']);
  const inbound = before.map((one) => (one['state'] === 'Ignored' ? one : edit(one)));
  if (inbound.every((one, at) => one === before[at])) return spec;
  return { ...spec, networking: { ...networking, inbound } };
}

function madeUnready(inbound: JsonObject): JsonObject {
  return { ...inbound, state: 'NotReady', health: { ready: false } };
}

function madeReady({ state: _state, health: _health, ...inbound }: JsonObject): JsonObject {
  return inbound;
}

/** Names an inbound independently of its health. */
function textOfInbound(inbound: JsonObject): string {
  const { address, port, name } = inbound;
  return JSON.stringify([address, port, name]);
}
