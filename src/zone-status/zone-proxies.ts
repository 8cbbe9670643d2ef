// The counts of the proxies of a zone, in the status of its ZoneInsight (decision 84). Pure.
// Invariant: of two receivers the one with the newer epoch counts, in whatever order they are stored.
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { ProxyGroup } from '../resource/proxy-facts.ts';
import { isObject, numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** The last report of a receiver. @property groups null if it stores the insights of the zone */
export type ZoneProxies = { readonly epoch: number; readonly groups: readonly ProxyGroup[] | null };

const STATUSES = ['online', 'offline', 'partiallyDegraded'] as const;

/** Applies an event. */
export function foldProxies(known: ZoneProxies | null, event: SyncEvent): ZoneProxies | null {
  if (event.kind !== 'counted' || (known !== null && known.epoch > event.epoch)) return known;
  return { epoch: event.epoch, groups: event.groups };
}

/**
 * The field of the status to store; none while every receiver has stored the insights.
 * @param stored the status of the row
 */
export function renderProxies(stored: JsonObject, ours: ZoneProxies | null): JsonObject {
  const { proxies } = stored;
  const isNewer = ours !== null && (!isObject(proxies) || ours.epoch >= numberOf(proxies['epoch']));
  if (!isNewer || (ours.groups === null && proxies === undefined)) return proxies === undefined ? {} : { proxies };
  const { epoch, groups } = ours;
  return {
    proxies: {
      epoch,
      ...(groups !== null && { groups: groups.map((one) => ({ ...one, supportedBackends: [...one.supportedBackends] })) }),
    },
  };
}

/**
 * The proxies of a zone in groups of equal facts; null if their insights are stored.
 * @param status the status of a ZoneInsight
 */
export function countedProxies(status: JsonObject): readonly ProxyGroup[] | null {
  const { groups } = objectOf(status['proxies']);
  return Array.isArray(groups) ? objectsOf(groups).map(groupOf) : null;
}

function groupOf(group: JsonObject): ProxyGroup {
  const { supportedBackends } = group;
  return {
    mesh: textOf(group['mesh']),
    isGateway: group['isGateway'] === true,
    status: STATUSES.find((one) => one === group['status']) ?? 'unknown',
    kumaDp: textOf(group['kumaDp']) || null,
    envoy: textOf(group['envoy']) || null,
    issuedBackend: textOf(group['issuedBackend']) || null,
    supportedBackends: Array.isArray(supportedBackends) ? supportedBackends.map(textOf) : [],
    proxies: numberOf(group['proxies']),
  };
}
