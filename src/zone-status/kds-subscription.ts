// One KDSSubscription: the record of one stream on which this side is the xDS server (kds-wire 4), and its proto3 JSON, which omits
// zero values and writes uint64 as strings. Pure.
import { feature } from '../kds/protocol/features.ts';
import type { PeerNode } from '../kds/protocol/sync-events.ts';
import type { JsonObject } from '../resource/types.ts';
import { renderCounts, totalOf, withoutZeros, type RunningCounts } from '../subscriptions/response-counts.ts';

/** The side that keeps the record: global keeps one for every zone, a zone keeps one for its own stream to global. */
export type SubscriptionKeeper = {
  readonly mode: 'global' | 'zone';
  readonly instanceId: string;
};

export type Subscription = {
  /** The id of the stream. */
  readonly id: string;
  readonly keeper: SubscriptionKeeper;
  readonly connectTime: Date;
  readonly disconnectTime: Date | null;
  readonly authTokenProvided: boolean;
  /** It is null until the first request of the peer. */
  readonly peer: PeerNode | null;
  /** The counts change in place. */
  readonly counts: RunningCounts;
  readonly generation: number;
};

/** The subscription as proto3 JSON. */
export function renderSubscription(one: Subscription): JsonObject {
  const { keeper, peer } = one;
  const [globalInstanceId, zoneInstanceId] =
    keeper.mode === 'global' ? [keeper.instanceId, peer?.instanceId ?? ''] : [peer?.instanceId ?? '', keeper.instanceId];
  return withoutZeros({
    id: one.id,
    globalInstanceId,
    zoneInstanceId,
    connectTime: one.connectTime.toISOString(),
    disconnectTime: one.disconnectTime?.toISOString() ?? '',
    status: renderStatus(one),
    ...(peer !== null && { version: renderVersion(peer) }),
    generation: one.generation,
    config: peer?.config ?? '',
    authTokenProvided: one.authTokenProvided,
  });
}

/** Whether a peer is compatible with this control plane: its capabilities decide, not its version. */
export function isCompatible({ features }: Pick<PeerNode, 'features'>): boolean {
  return features.includes(feature.hashSuffix);
}

function renderStatus({ counts: { all, lastAt } }: Subscription): JsonObject {
  const stat: JsonObject = {};
  for (const [type, counts] of Object.entries(all)) stat[type] = renderCounts(counts);
  return {
    ...(lastAt !== null && { lastUpdateTime: lastAt.toISOString() }),
    total: renderCounts(totalOf(all)),
    ...(Object.keys(stat).length > 0 && { stat }),
  };
}

function renderVersion(peer: PeerNode): JsonObject {
  const { version = '', gitTag = '', gitCommit = '', buildDate = '' } = peer.version;
  return { kumaCp: withoutZeros({ version, gitTag, gitCommit, buildDate, kumaCpGlobalCompatible: isCompatible(peer) }) };
}
