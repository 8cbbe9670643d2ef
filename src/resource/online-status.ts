// Whether a zone or a proxy is online, from its insight and its Dataplane (rest-api 3): summaries, reconcilers and tables use it.
// Pure.
import { objectOf, objectsOf, textOf } from './read-json.ts';
import type { JsonObject } from './types.ts';

export type ProxyStatus = 'online' | 'offline' | 'partiallyDegraded';

/** The subscriptions of an insight's spec; anything that is none is left out. */
export function subscriptionsOf(insight: JsonObject): readonly JsonObject[] {
  return objectsOf(insight['subscriptions']);
}

export function isOpen(subscription: JsonObject): boolean {
  return textOf(subscription['connectTime']) !== '' && textOf(subscription['disconnectTime']) === '';
}

/** Whether a subscription of the insight is open. */
export function isOnline(insight: JsonObject): boolean {
  return subscriptionsOf(insight).some(isOpen);
}

/**
 * The subscription that an insight describes: its open one, or the one that was open in the row before. Times of connection alone do not
 * say which is the newest: the date may have been set back, and clocks of replicas differ.
 * @param subscriptions by time of connection, as `mergeSubscriptions` stores them (kds-wire 4)
 * @param before those of the row before, for a writer
 * @returns undefined without a subscription
 */
export function describedSubscription(
  subscriptions: readonly JsonObject[],
  before: readonly JsonObject[] = [],
): JsonObject | undefined {
  return subscriptions.findLast(isOpen) ?? before.findLast(isOpen) ?? subscriptions.at(-1);
}

/**
 * The state of the inbounds and zone listeners of a Dataplane: `gateway` for a proxy whose inbounds do not count, else the part
 * of them that is ready. Ignored ones do not count; `all` also without any.
 */
export type Readiness = 'gateway' | 'all' | 'some' | 'none';

/** @param dataplane the spec of the Dataplane */
export function readinessOf(dataplane: JsonObject): Readiness {
  const { gateway, inbound, listeners } = objectOf(dataplane['networking']);
  if (gateway !== undefined) return 'gateway';
  const states = [...objectsOf(inbound), ...objectsOf(listeners)].map(({ state = 'Ready' }) => state);
  const counted = states.filter((state) => state !== 'Ignored');
  const ready = counted.filter((state) => state === 'Ready');
  if (ready.length === counted.length) return 'all';
  return ready.length === 0 ? 'none' : 'some';
}

/**
 * The status of a proxy. A connected gateway is online. Another proxy is offline too if no inbound is ready, and partially degraded
 * if some are not.
 */
export function statusOf(isConnected: boolean, readiness: Readiness): ProxyStatus {
  if (!isConnected || readiness === 'none') return 'offline';
  return readiness === 'some' ? 'partiallyDegraded' : 'online';
}

/**
 * The status of a proxy from the specs, as `statusOf` gives it.
 * @param insight the spec of its DataplaneInsight; empty without one
 */
export function proxyStatus(dataplane: JsonObject, insight: JsonObject): ProxyStatus {
  return statusOf(isOnline(insight), readinessOf(dataplane));
}
