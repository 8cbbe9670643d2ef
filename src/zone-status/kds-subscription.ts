// One KDSSubscription: the record of one stream on which this side is the xDS server (kds-wire 4), and its proto3 JSON, which omits
// zero values and writes uint64 as strings. Pure.
import { feature } from '../kds/features.ts';
import type { PeerNode } from '../kds/sync-events.ts';
import type { JsonObject } from '../resource/types.ts';
import { isOpen } from '../resource/online-status.ts';

/** The side that keeps the record: global keeps one for every zone, a zone keeps one for its own stream to global. */
export type SubscriptionKeeper = {
  readonly mode: 'global' | 'zone';
  readonly instanceId: string;
};

export type ResponseCounts = { readonly sent: number; readonly acknowledged: number; readonly rejected: number };

export type Subscription = {
  /** The id of the stream. */
  readonly id: string;
  readonly keeper: SubscriptionKeeper;
  readonly connectTime: Date;
  readonly disconnectTime: Date | null;
  readonly authTokenProvided: boolean;
  /** Null until the first request of the peer. */
  readonly peer: PeerNode | null;
  readonly lastUpdateTime: Date | null;
  readonly counts: Readonly<Record<string, ResponseCounts>>;
  readonly generation: number;
};

const NOTHING: ResponseCounts = { sent: 0, acknowledged: 0, rejected: 0 };

/** Counts one response of `type`, or the peer's answer to one. */
export function countResponse(one: Subscription, type: string, what: keyof ResponseCounts, now: Date): Subscription {
  const before = one.counts[type] ?? NOTHING;
  return { ...one, lastUpdateTime: now, counts: { ...one.counts, [type]: { ...before, [what]: before[what] + 1 } } };
}

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

/** The row, closed at `now` if it is open. */
export function closedAt(row: JsonObject, now: Date): JsonObject {
  return isOpen(row) ? { ...row, disconnectTime: now.toISOString() } : row;
}

function renderStatus(one: Subscription): JsonObject {
  const all = Object.values(one.counts);
  const total = {
    sent: sum(all.map((counts) => counts.sent)),
    acknowledged: sum(all.map((counts) => counts.acknowledged)),
    rejected: sum(all.map((counts) => counts.rejected)),
  };
  const stat: JsonObject = {};
  for (const [type, counts] of Object.entries(one.counts)) stat[type] = renderCounts(counts);
  return {
    ...(one.lastUpdateTime !== null && { lastUpdateTime: one.lastUpdateTime.toISOString() }),
    total: renderCounts(total),
    ...(all.length > 0 && { stat }),
  };
}

function renderCounts({ sent, acknowledged, rejected }: ResponseCounts): JsonObject {
  return {
    ...(sent > 0 && { responsesSent: String(sent) }),
    ...(acknowledged > 0 && { responsesAcknowledged: String(acknowledged) }),
    ...(rejected > 0 && { responsesRejected: String(rejected) }),
  };
}

function renderVersion(peer: PeerNode): JsonObject {
  const { version = '', gitTag = '', gitCommit = '', buildDate = '' } = peer.version;
  return { kumaCp: withoutZeros({ version, gitTag, gitCommit, buildDate, kumaCpGlobalCompatible: isCompatible(peer) }) };
}

function withoutZeros(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '' && value !== 0 && value !== false));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
