// Whether a zone or a proxy is online, from its insight and its Dataplane (rest-api 3): for summaries, reconcilers and tables. Pure.
import { objectOf, objectsOf, textOf } from './read-json.ts';
import type { JsonObject } from './types.ts';

export type ProxyStatus = 'online' | 'offline' | 'partiallyDegraded';

/** The subscriptions of an insight's spec; anything that is none is left out. */
export function subscriptionsOf(insight: JsonObject): JsonObject[] {
  return objectsOf(insight['subscriptions']);
}

export function isOpen(subscription: JsonObject): boolean {
  return textOf(subscription['connectTime']) !== '' && textOf(subscription['disconnectTime']) === '';
}

/** True while a subscription of the insight is open. */
export function isOnline(insight: JsonObject): boolean {
  return subscriptionsOf(insight).some(isOpen);
}

/**
 * The status of a proxy. A connected gateway is online. Another proxy is offline too if no inbound is ready, and partially degraded
 * if some are not.
 * @param insight spec of its DataplaneInsight; empty without one
 */
export function proxyStatus(dataplane: JsonObject, insight: JsonObject): ProxyStatus {
  if (!isOnline(insight)) return 'offline';
  const { gateway, inbound, listeners } = objectOf(dataplane['networking']);
  if (gateway !== undefined) return 'online';
  const states = [...objectsOf(inbound), ...objectsOf(listeners)].map(({ state = 'Ready' }) => state);
  const counted = states.filter((state) => state !== 'Ignored');
  const ready = counted.filter((state) => state === 'Ready');
  if (counted.length > 0 && ready.length === 0) return 'offline';
  return ready.length < counted.length ? 'partiallyDegraded' : 'online';
}
