// `GET …/{name}/_sync`: why a zone has or lacks a resource. `GET …/_sync`: the same for a page of the resources of a mesh.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../api/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../api/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { whileConnected } from '../api/await-zones.ts';
import { about, component, pageOf, PAGE } from '../api/route-config.ts';
import { meshType } from '../api/route-types.ts';
import type { Delivery, SyncStates } from '../kds/open-senders.ts';
import type { SendRules } from '../kds/rules.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import { explainInZone, explainOnGlobal, type KnownZone, type LivePeer } from './explain-sync.ts';
import { zonesNow, type ZoneNow } from './zones-now.ts';

const explained = about('Inspect', 'The zones that get the resource, and the rule that decides', {
  answer: component('SyncExplanation'),
});

const explainedPage = about('Inspect', 'The same for a page of resources; with many zones a page has fewer', {
  query: PAGE,
  answer: pageOf('SyncExplanation'),
});

/** Zones of all resources of a page. */
const MAX_TARGETS = 10_000;

/** For a row: zone → the last version that it has confirmed to this process; undefined where that is unknown. */
export type ConfirmedOf = (row: ResourceKey) => (zone: string) => { readonly version: number; readonly at: Date } | undefined;

/** What zones without a stream to this process have of a row, by zone, as far as other replicas answer. */
export type DeliveriesElsewhere = (
  row: ResourceKey,
  zones: ReadonlySet<string>,
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, Delivery>>;

const NONE_ELSEWHERE: DeliveriesElsewhere = async () => new Map();

/**
 * @param syncs what peers of this process have confirmed
 * @param confirmedOf versions of rows that they have confirmed
 * @param elsewhere asks other replicas; a page of resources is answered without it
 */
export function addSyncRoutes(
  app: FastifyInstance,
  { options, store, service, callers, clock, closing }: ApiContext,
  rules: SendRules,
  syncs: SyncStates,
  confirmedOf: ConfirmedOf = () => () => undefined,
  elsewhere: DeliveriesElsewhere = NONE_ELSEWHERE,
): void {
  /** Includes every write that is committed now. */
  const zonesCaughtUp = async (): Promise<ZoneNow[]> => {
    await syncs.caughtUp();
    return await zonesNow(store, (zone) => syncs.lagOf(zone), clock);
  };
  /** Connected zones whose stream is not in this process. */
  const strangers = (row: Resource, zones: readonly ZoneNow[]): Set<string> => {
    const isAsked = ({ name, sync }: ZoneNow): boolean =>
      ['online', 'lagging'].includes(sync.connection) && (options.zone === null || (options.federated && name === options.zone));
    const asked = zones.filter((zone) => isAsked(zone) && syncs.deliveryNow(zone.name, row) === undefined);
    return new Set(asked.map(({ name }) => name));
  };
  const explain = (
    row: Resource,
    zones: readonly ZoneNow[],
    others?: ReadonlyMap<string, Delivery>,
  ): Answer<'SyncExplanation'> => {
    const confirmed = confirmedOf(row);
    const peers = zones.map((zone): KnownZone & { readonly live: LivePeer } => {
      const delivery = syncs.deliveryNow(zone.name, row) ?? others?.get(zone.name);
      const at = instanceOf(zone.insight.spec);
      const live = { sync: zone.sync, delivery, at, confirmed: confirmed(zone.name) };
      return { name: zone.name, isEnabled: zone.isEnabled, insight: zone.insight.status, live };
    });
    if (options.zone === null) return explainOnGlobal(rules, row, peers);
    const own = options.federated ? peers.find(({ name }) => name === options.zone)?.live : undefined;
    return explainInZone(rules, row, options.zone, own);
  };
  for (const info of resourceTypes) {
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      app.get<{ Params: { mesh?: string; name: string } }>(`${prefix}/${path}/:name/_sync`, explained, async (request, reply) => {
        const { mesh = '', name } = request.params;
        callers.requireMay(info, request);
        const row = await service.get(info, mesh, name);
        const zones = await zonesCaughtUp();
        const others = await elsewhere(row, strangers(row, zones), whileConnected(reply, closing));
        return explain(row, zones, others);
      });
      if (info.scope !== 'Mesh') continue;
      app.get<{ Params: { mesh: string } }>(`${prefix}/${path}/_sync`, explainedPage, async (request) => {
        const { mesh } = request.params;
        callers.requireMay(info, request);
        const query = queryOf(request);
        const asked = parsePage(query);
        const filter = rowFilterOf(info, mesh, query, routePathOf(request));
        await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
        const most = Math.max(1, Math.floor(MAX_TARGETS / Math.max(1, await store.count({ type: 'Zone' }))));
        const page = { ...asked, size: Math.min(asked.size, most) };
        // The rows before the log: what a zone has confirmed is then not older than the row.
        const { rows, total } = await listRows(store, filter, page);
        const zones = await zonesCaughtUp();
        return { total, items: rows.map((row) => explain(row, zones)), next: nextPage(request, page, total) };
      });
    }
  }
}

/** The replica of global with the newest stream to the zone; `''` if nothing tells. */
function instanceOf({ kdsStreams }: JsonObject): string {
  return textOf(objectOf(objectOf(kdsStreams)['globalToZone'])['globalInstanceId']);
}
