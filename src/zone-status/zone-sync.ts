// The present state of the sync of a zone, for people: online, lagging, refused, offline or disabled. Pure.
import { isBehind, type Lag, type LiveLag } from '../kds/sender/open-senders.ts';
import { describedSubscription, isOnline, subscriptionsOf } from '../resource/online-status.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { calledLately } from './recent-calls.ts';

/** A zone without an answer to a change for this many milliseconds is behind. An answer usually takes a few. */
const LAGGING_MS = 1_000;

/**
 * A zone is `online` if it is connected, and at most for a moment behind; `lagging` if it is connected, and changes wait for its
 * answer; `refused` if it is not connected, because its calls are refused; `offline` if it is not connected; `disabled` if a
 * person has disabled it.
 */
type ZoneState = Connection | 'disabled';
type Connection = 'online' | 'lagging' | 'refused' | 'offline';

export type ZoneSync = {
  readonly state: ZoneState;
  /** The state without `disabled`: a disabled zone connects and gets resources. */
  readonly connection: Connection;
  /** The time since which it is in this state, in ISO 8601; null if the zone has never connected, or if nothing tells. */
  readonly since: string | null;
  /** The types with changes that the zone has not confirmed. */
  readonly pending: readonly string[];
  /** The milliseconds since the oldest of these changes; 0 without one. */
  readonly lagMs: number;
  /** The reason for people; `''` for a zone that is online with its global. */
  readonly reason: string;
};

export type LagOf = (zone: string) => LiveLag;

/** The lag to show to other replicas: null while it is short. */
export function lagToStore(lag: LiveLag, now: Date): Lag | null {
  return isBehind(lag) && now.getTime() - lag.since.getTime() >= LAGGING_MS ? lag : null;
}

/**
 * @param zone the Zone row: its name, and whether it is enabled
 * @param insight spec and status of its ZoneInsight; empty without one
 * @param live the lag by the stream in this process; if undefined, that of the insight counts, which is as old as the interval of
 * insights
 */
export function zoneSync(
  { name, isEnabled }: { readonly name: string; readonly isEnabled: boolean },
  { spec, status }: { readonly spec: JsonObject; readonly status: JsonObject },
  live: LiveLag,
  now: Date,
): ZoneSync {
  const connection = connectionOf(name, spec, status, live, now);
  if (isEnabled) return connection;
  const also = connection.reason === '' ? 'It is connected, and gets the resources of global' : connection.reason;
  const reason = `zone ${name} is disabled: its services are taken out of the other zones. ${also}`;
  return { ...connection, state: 'disabled', reason };
}

function connectionOf(name: string, spec: JsonObject, status: JsonObject, live: LiveLag, now: Date): ZoneSync {
  const none = { pending: [], lagMs: 0 };
  if (live === 'alone') return { ...of('online'), since: null, ...none, reason: `zone ${name} has no global` };
  if (!isOnline(spec)) {
    const since = lastDisconnect(spec);
    const refusal = calledLately('refusedStreams', status, now);
    if (refusal !== null) {
      // The zone may have been connected between the refused calls.
      const refusedSince = since !== null && since > refusal.since ? since : refusal.since;
      return { ...of('refused'), since: refusedSince, ...none, reason: `calls of zone ${name} are refused: ${refusal.reason}` };
    }
    const reason = since === null ? `zone ${name} has never connected` : `zone ${name} is not connected since ${since}`;
    return { ...of('offline'), since, ...none, reason };
  }
  const since = connectedSince(spec);
  const lag = live === undefined ? storedLag(status) : live;
  if (lag === null) return { ...of('online'), since, ...none, reason: '' };
  const behind = { pending: lag.types, lagMs: Math.max(0, now.getTime() - lag.since.getTime()) };
  if (behind.lagMs < LAGGING_MS) return { ...of('online'), since, ...behind, reason: '' };
  const at = lag.since.toISOString();
  return { ...of('lagging'), since: at, ...behind, reason: `zone ${name} has not confirmed ${lag.types.join(', ')} since ${at}` };
}

function of(connection: Connection): Pick<ZoneSync, 'state' | 'connection'> {
  return { state: connection, connection };
}

function storedLag({ lag }: JsonObject): Lag | null {
  const { since, types } = objectOf(lag);
  const at = new Date(textOf(since));
  if (Number.isNaN(at.getTime())) return null;
  return { since: at, types: Array.isArray(types) ? types.map(textOf) : [] };
}

function connectedSince(insight: JsonObject): string | null {
  return textOf(describedSubscription(subscriptionsOf(insight))?.['connectTime']) || null;
}

function lastDisconnect(insight: JsonObject): string | null {
  const times = subscriptionsOf(insight).map(({ disconnectTime }) => textOf(disconnectTime));
  return times.toSorted().at(-1) || null;
}
