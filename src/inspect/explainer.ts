// Explains the sync of resources by the rules and by the confirmations of peers: for one resource, a page, or a matrix.
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import type { DeliveryNow } from '../kds/sender/delivery.ts';
import type { SyncStates } from '../kds/sender/open-senders.ts';
import type { SendRules } from '../kds/protocol/rules.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import { explainInZone, explainOnGlobal, type KnownZone, type LivePeer } from './explain-sync.ts';
import { zonesNow, type ZoneNow } from './zones-now.ts';

/** Finds the last version of a row that a zone has confirmed to this process; undefined where that is unknown. */
export type ConfirmedOf = (row: ResourceKey) => (zone: string) => { readonly version: number; readonly at: Date } | undefined;

/** Asks other replicas what zones without a stream to this process have of the rows, by zone, for each name in their order. */
export type DeliveriesElsewhere = (
  rows: { readonly type: string; readonly mesh: string; readonly names: readonly string[]; readonly isBrief: boolean },
  zones: ReadonlySet<string>,
  signal: AbortSignal,
) => Promise<readonly ReadonlyMap<string, DeliveryNow>[]>;

export type Explainer = {
  /** Settles when every write that is committed now is in the log. Rejects with `unavailable` when the store does not answer. */
  readonly caughtUp: () => Promise<void>;
  /** All zones, when every write that is committed now is in the log. Rejects with `unavailable` when the store does not answer. */
  readonly zonesCaughtUp: () => Promise<ZoneNow[]>;
  /**
   * Asks other replicas, all at once, what connected zones whose stream is not in this process have of these rows of one type and
   * mesh, in their order.
   * @param isBrief leaves out the times
   */
  readonly elsewhere: (
    rows: readonly Resource[],
    zones: readonly ZoneNow[],
    signal: AbortSignal,
    isBrief?: boolean,
  ) => Promise<readonly ReadonlyMap<string, DeliveryNow>[]>;
  /** @param others what zones of other replicas have of the row */
  readonly explain: (
    row: Resource,
    zones: readonly ZoneNow[],
    others?: ReadonlyMap<string, DeliveryNow>,
  ) => Answer<'SyncExplanation'>;
};

export function explainer(
  { options, store, clock }: Pick<ApiContext, 'options' | 'store' | 'clock'>,
  rules: SendRules,
  syncs: SyncStates,
  confirmedOf: ConfirmedOf,
  askOthers: DeliveriesElsewhere,
): Explainer {
  /** Connected zones whose stream is not in this process. */
  const strangers = (row: Resource, zones: readonly ZoneNow[]): Set<string> => {
    const isAsked = ({ name, sync }: ZoneNow): boolean =>
      ['online', 'lagging'].includes(sync.connection) && (options.zone === null || (options.federated && name === options.zone));
    const asked = zones.filter((zone) => isAsked(zone) && syncs.deliveryNow(zone.name, row) === undefined);
    return new Set(asked.map(({ name }) => name));
  };
  return {
    caughtUp: () => syncs.caughtUp(),
    zonesCaughtUp: async () => {
      await syncs.caughtUp();
      return await zonesNow(store, (zone) => syncs.lagOf(zone), clock);
    },
    elsewhere: async (rows, zones, signal, isBrief = false) => {
      const [first] = rows;
      if (first === undefined) return [];
      const others = strangers(first, zones);
      const { type, mesh } = first;
      if (others.size === 0) return [];
      return await askOthers({ type, mesh, names: rows.map(({ name }) => name), isBrief }, others, signal);
    },
    explain: (row, zones, others) => {
      const confirmed = confirmedOf(row);
      const peers = zones.map((zone): KnownZone & { readonly live: LivePeer } => {
        const delivery = syncs.deliveryNow(zone.name, row) ?? others?.get(zone.name);
        const at = instanceOf(zone.insight.spec);
        const live = { sync: zone.sync, delivery, at, confirmed: confirmed(zone.name) };
        return { name: zone.name, profile: zone.profile, insight: zone.insight.status, live };
      });
      if (options.zone === null) return explainOnGlobal(rules, row, peers);
      const { zone: name, federated: hasGlobal } = options;
      const live = hasGlobal ? peers.find((peer) => peer.name === name)?.live : undefined;
      return explainInZone(rules, row, { name, hasGlobal, live });
    },
  };
}

/** The replica of global with the newest stream to the zone; `''` if nothing tells. */
function instanceOf({ kdsStreams }: JsonObject): string {
  return textOf(objectOf(objectOf(kdsStreams)['globalToZone'])['globalInstanceId']);
}
