// `GET …/{name}/_sync`: why a zone has or lacks a resource.
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import { about, component } from '../api/route-config.ts';
import type { SyncStates } from '../kds/open-senders.ts';
import type { SendRules } from '../kds/rules.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { explainInZone, explainOnGlobal, type KnownZone } from './explain-sync.ts';
import { zonesNow } from './zones-now.ts';

const explained = about('Inspect', 'The zones that get the resource, and the rule that decides', {
  answer: component('SyncExplanation'),
});

/** @param syncs what peers of this process have confirmed */
export function addSyncRoutes(
  app: FastifyInstance,
  { options, store, service, callers, clock }: ApiContext,
  rules: SendRules,
  syncs: SyncStates,
): void {
  const peersOf = async (row: Resource): Promise<KnownZone[]> => {
    const zones = await zonesNow(store, (zone) => syncs.lagOf(zone), clock);
    return await Promise.all(
      zones.map(async (zone) => ({
        ...zone,
        insight: zone.insight.status,
        live: { sync: zone.sync, delivery: await syncs.deliveryOf(zone.name, row), at: instanceOf(zone.insight.spec) },
      })),
    );
  };
  for (const info of resourceTypes) {
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      app.get<{ Params: { mesh?: string; name: string } }>(`${prefix}/${path}/:name/_sync`, explained, async (request) => {
        const { mesh = '', name } = request.params;
        callers.requireMay(info, request);
        const row = await service.get(info, mesh, name);
        const peers = await peersOf(row);
        if (options.zone === null) return explainOnGlobal(rules, row, peers);
        return explainInZone(
          rules,
          row,
          options.zone,
          options.federated ? peers.find(({ name: zone }) => zone === options.zone)?.live : undefined,
        );
      });
    }
  }
}

/** The replica of global with the newest stream to the zone; `''` if nothing tells. */
function instanceOf({ kdsStreams }: JsonObject): string {
  return textOf(objectOf(objectOf(kdsStreams)['globalToZone'])['globalInstanceId']);
}
