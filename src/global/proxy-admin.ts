// The access of global to a proxy: over the admin stream of its zone, on this replica or another (kds-wire 2.7, rest-api 4).
import type { ProxyAdmin, ProxyAdminKind } from '../api/proxy-admin-routes.ts';
import { MeridianError } from '../base/errors.ts';
import type { AdminStreams } from '../kds/protocol/admin-streams.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { zoneOf } from '../resource/ownership.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { textOf } from '../resource/read-json.ts';
import { describedSubscription, isOnline, subscriptionsOf } from '../resource/online-status.ts';

export function createProxyAdmin(store: ResourceStore, streams: AdminStreams): ProxyAdmin {
  return async (dataplane, kind, { json, usedOnly, includeEds }) => {
    const zone = zoneOf(dataplane);
    const insight = await store.get({ type: 'ZoneInsight', mesh: '', name: zone });
    if (insight === undefined || !isOnline(insight.spec))
      throw new MeridianError('unavailable', `zone ${JSON.stringify(zone)} is offline`);
    if (!streams.has(zone, kind)) throw elsewhere(zone, kind, insight.spec);
    return await streams.ask(zone, kind, {
      resourceName: nameInZone(dataplane, insight.spec),
      resourceMesh: dataplane.mesh,
      option: Number(kind === 'configDump' ? includeEds : json),
      usedOnly: kind === 'stats' && usedOnly,
    });
  };
}

/** Replicas do not call each other: the error names the replica to ask (engine 26). */
function elsewhere(zone: string, kind: ProxyAdminKind, insight: JsonObject): MeridianError {
  const streams = insight['kdsStreams'] as Readonly<Record<string, JsonObject>> | undefined;
  const owner = streams?.[kind]?.['globalInstanceId'];
  const hint = typeof owner === 'string' ? `; global instance ${owner} holds it: ask there` : '';
  return new MeridianError('unavailable', `the ${kind} stream of zone ${JSON.stringify(zone)} is not open here${hint}`);
}

/** A zone on Kubernetes identifies its resources by name and namespace. */
function nameInZone(dataplane: Resource, insight: JsonObject): string {
  const name = displayNameOf(dataplane);
  const namespace = dataplane.labels[label.namespace];
  return namespace !== undefined && storeTypeOf(insight) === 'kubernetes' ? `${name}.${namespace}` : name;
}

function storeTypeOf(insight: JsonObject): string | undefined {
  try {
    const config = JSON.parse(textOf(describedSubscription(subscriptionsOf(insight))?.['config'])) as {
      store?: { type?: string };
    };
    return config.store?.type;
  } catch {
    return undefined;
  }
}
