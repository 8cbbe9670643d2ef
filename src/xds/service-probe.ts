// The health of a proxy and of the applications behind it: the probes for its Envoy, and the states of its inbounds after a report
// (xds 1, HDS). Pure.
import { parseGoDuration } from '../base/duration.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { applicationAddress } from './application-address.ts';
import { duration, socketAddress } from './proto-json.ts';
import { inboundAddressProblem } from './socket-address.ts';

/** Whether the endpoints of a probed cluster are healthy, by its name. A cluster that no report has named yet has no state. */
export type ProxyHealth = ReadonlyMap<string, boolean>;

/** The cluster of Envoy itself. */
const ADMIN = 'system_envoy_admin';
const DEFAULTS = { interval: '1s', timeout: '2s', unhealthyThreshold: 1, healthyThreshold: 1 } as const;
/** Milliseconds: a probe must not keep its Envoy busy, nor its reports the control plane. */
const MIN_PROBE_MS = 100;
const MIN_REPORT_MS = 1_000;

/**
 * An envoy.service.health.v3.HealthCheckSpecifier as proto3 JSON. Envoy reports as often as its most frequent probe runs.
 * @param spec of a Dataplane
 * @param adminSocket of its Envoy; null: Envoy itself is not probed
 * @param reportMs milliseconds between two reports at most
 */
export function healthCheckSpecifier(spec: JsonObject, adminSocket: string | null, reportMs: number): JsonObject {
  const checks = new Map<string, JsonObject>();
  if (adminSocket !== null)
    checks.set(ADMIN, clusterCheck(ADMIN, {}, { httpHealthCheck: { path: '/ready' } }, { pipe: { path: adminSocket } }));
  let interval = reportMs;
  const networking = objectOf(spec['networking']);
  for (const inbound of objectsOf(networking['inbound'])) {
    const name = probedCluster(networking, inbound);
    if (name === null || checks.has(name)) continue;
    const probe = objectOf(inbound['serviceProbe']);
    const { address, port } = applicationAddress(networking, inbound);
    checks.set(name, clusterCheck(name, probe, { tcpHealthCheck: {} }, socketAddress(address, port)));
    interval = Math.min(interval, Math.max(MIN_REPORT_MS, parseGoDuration(intervalOf(probe)) ?? reportMs));
  }
  return { clusterHealthChecks: [...checks.values()], interval: duration(`${String(interval)}ms`, '5s') };
}

/**
 * Milliseconds after which each probe of a specifier has answered once and was reported. Before that Envoy reports as unhealthy what it
 * has not probed yet.
 */
export function firstAnswerMs(specifier: JsonObject): number {
  const checks = objectsOf(specifier['clusterHealthChecks']).flatMap(({ healthChecks }) => objectsOf(healthChecks));
  const timeouts = checks.map(({ timeout }) => millisecondsOf(timeout));
  return timeouts.reduce((a, b) => Math.max(a, b), 0) + reportIntervalMs(specifier);
}

/** Milliseconds between two reports to a specifier. */
export function reportIntervalMs({ interval }: JsonObject): number {
  return millisecondsOf(interval);
}

/**
 * The spec of a Dataplane whose inbounds are ready or not as the report says; the same object where nothing differs. An inbound that
 * somebody set to NotReady stays so, and `Ignored` is not touched: an inbound that this function made not ready has `health` beside its
 * state, and it alone is made ready again.
 */
export function withHealth(spec: JsonObject, health: ProxyHealth): JsonObject {
  const networking = objectOf(spec['networking']);
  return withInbounds(spec, (inbound) => {
    const probed = probedCluster(networking, inbound);
    const states = [health.get(ADMIN), ...(probed === null ? [] : [health.get(probed)])];
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

/** Name of the cluster with the application of an inbound; null where it is not probed. */
function probedCluster(networking: JsonObject, inbound: JsonObject): string | null {
  if (!isObject(inbound['serviceProbe'])) return null;
  const { address, port } = applicationAddress(networking, inbound);
  if (inboundAddressProblem(address, port) !== null) return null;
  return `${address === '127.0.0.1' ? 'localhost' : address}:${String(port)}`;
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
        ...check,
      },
    ],
    localityEndpoints: [{ endpoints: [{ address }] }],
  };
}

function intervalOf(probe: JsonObject): string {
  return textOr(probe['interval'], DEFAULTS.interval);
}

function millisecondsOf(given: Json | undefined): number {
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

function isMadeUnready({ state, health }: JsonObject): boolean {
  return state === 'NotReady' && health !== undefined && objectOf(health)['ready'] !== true;
}

function madeReady({ state: _state, health: _health, ...inbound }: JsonObject): JsonObject {
  return inbound;
}

/** Names an inbound independently of its health. */
function textOfInbound(inbound: JsonObject): string {
  const { address, port, name } = inbound;
  return JSON.stringify([address, port, name]);
}
