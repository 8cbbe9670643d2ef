// The streams of a zone as the proto3 JSON of ZoneInsight (kds-wire 4, rest-api 3). Events are folded into the state of this process, and
// that state is merged into the current row, which another process may have written. Pure but for the counts of responses, which change in
// place.
import type { Lag } from '../kds/sender/open-senders.ts';
import type { StreamKind, SyncEvent } from '../kds/protocol/sync-events.ts';
import { renderSubscription, type Subscription, type SubscriptionKeeper } from './kds-subscription.ts';
import { foldProblems, renderProblems, type SyncProblems } from './sync-problem.ts';
import { countCall, mergeCalls, type RecentCalls } from './recent-calls.ts';
import { foldProxies, renderProxies, type ZoneProxies } from './zone-proxies.ts';
import type { JsonObject } from '../resource/types.ts';
import { describedSubscription, subscriptionsOf } from '../resource/online-status.ts';
import { objectOf } from '../resource/read-json.ts';
import { mergeSubscriptions, timeOf } from '../subscriptions/merge-subscriptions.ts';
import { RunningCounts } from '../subscriptions/response-counts.ts';

type StreamRecord = { readonly globalInstanceId: string; readonly connectTime: string };

/** The state of one zone in this process. It starts as `emptyInsight`. */
export type InsightState = {
  /** The subscriptions in the order of their opening; closed ones stay until they are stored. */
  readonly subscriptions: readonly Subscription[];
  /** The newest stream of each kind; only global records them (kds-wire 2.6). */
  readonly streams: Readonly<Partial<Record<StreamKind, StreamRecord>>>;
  readonly healthCheck: Date | null;
  /**
   * It is null until a stream of the zone opens in this process: until then the problems in the row are those of another process.
   */
  readonly problems: SyncProblems | null;
  /** The expiry of the token of the newest stream; null without one. */
  readonly tokenExpiresAt: Date | null;
  /** The streams of the zone that this process refused; null without any. */
  readonly refusedStreams: RecentCalls | null;
  /** The full states of the zone that this process delayed; null without any. */
  readonly delayedFullStates: RecentCalls | null;
  /** The last report of a receiver of this process about the proxies of the zone; null without one. */
  readonly proxies: ZoneProxies | null;
};

export const emptyInsight: InsightState = {
  subscriptions: [],
  streams: {},
  healthCheck: null,
  problems: null,
  tokenExpiresAt: null,
  refusedStreams: null,
  delayedFullStates: null,
  proxies: null,
};

/** A response to the zone, or the answer of the zone. These come too often for a new state each. */
type ResponseEvent = SyncEvent & { readonly kind: 'sent' | 'acknowledged' | 'rejected' };

export function isResponseEvent(event: SyncEvent): event is ResponseEvent {
  return event.kind === 'sent' || event.kind === 'acknowledged' || event.kind === 'rejected';
}

/** Counts the event in place. @returns false if its stream is none of the live ones */
export function countResponse(state: InsightState, { streamId, type, kind }: ResponseEvent, now: Date): boolean {
  const live = liveSubscription(state, streamId);
  live?.counts.add(type, kind, now);
  return live !== undefined;
}

/** Folds one event into the state. Returns the same object if the event does not change an insight, or is one for `countResponse`. */
export function foldInsight(state: InsightState, event: SyncEvent, keeper: SubscriptionKeeper, now: Date): InsightState {
  const folded = foldEvent(state, event, keeper, now);
  const problems = foldProblems(folded.problems, event, keeper.mode, now);
  return problems === folded.problems ? folded : { ...folded, problems };
}

function foldEvent(state: InsightState, event: SyncEvent, keeper: SubscriptionKeeper, now: Date): InsightState {
  switch (event.kind) {
    case 'opened':
      return { ...openStream(state, event, keeper, now), tokenExpiresAt: event.tokenExpiresAt ?? null };
    case 'healthCheck':
      return { ...state, healthCheck: now };
    case 'counted':
      return { ...state, proxies: foldProxies(state.proxies, event) };
    case 'node':
      return change(state, event.streamId, (one) => (one.peer === null ? { ...one, peer: event.node } : one));
    case 'closed':
      return change(state, event.streamId, (one) => ({ ...one, disconnectTime: now }));
    case 'overQuota':
      return overQuota(state, event, now);
    case 'turnedAway':
      return { ...state, refusedStreams: countCall(state.refusedStreams, event.reason, now) };
    case 'sent':
    case 'acknowledged':
    case 'rejected':
    case 'received':
    case 'refused':
    case 'withheld':
    case 'passed':
    case 'resubscribed':
      return state;
  }
}

function overQuota(state: InsightState, { quota, reason }: SyncEvent & { kind: 'overQuota' }, now: Date): InsightState {
  switch (quota) {
    case 'streams':
      return { ...state, refusedStreams: countCall(state.refusedStreams, reason, now) };
    case 'fullStates':
      return { ...state, delayedFullStates: countCall(state.delayedFullStates, reason, now) };
    case 'rows':
      return state;
  }
}

/** Raises the generation of open subscriptions, so that the finalizer of another process does not close them (rest-api 7.2). */
export function raiseGeneration(state: InsightState): InsightState {
  return changeLive(state, (one) => ({ ...one, generation: one.generation + 1 }));
}

/** The final state of a process: its subscriptions are closed. */
export function closeInsight(state: InsightState, now: Date): InsightState {
  return changeLive(state, (one) => ({ ...one, disconnectTime: now }));
}

/** Drops the subscriptions that are closed in `stored`, a state that is in the row: they do not change any more. */
export function dropStored(state: InsightState, stored: InsightState): InsightState {
  const done = new Set(stored.subscriptions.filter((one) => !isLive(one)).map((one) => one.id));
  if (done.size === 0) return state;
  return { ...state, subscriptions: state.subscriptions.filter((one) => !done.has(one.id)) };
}

/**
 * The spec to store: the stored one merged with the state of this process.
 * @param limit the number of subscriptions that are kept, the newest, and at least one (kds-wire 4.4)
 */
export function mergeInsight(stored: JsonObject, state: InsightState, limit: number, now: Date): JsonObject {
  const others = Object.fromEntries(Object.entries(stored).filter(([key]) => key !== 'subscriptions'));
  const ours = state.subscriptions.map((one) => ({ id: one.id, isLive: isLive(one), row: renderSubscription(one) }));
  const subscriptions = mergeSubscriptions(subscriptionsOf(stored), ours, limit, now);
  return {
    ...(subscriptions.length > 0 && { subscriptions }),
    ...others,
    ...mergeStreams(stored, state.streams),
    ...(state.healthCheck !== null && { healthCheck: newer(stored['healthCheck'], state.healthCheck) }),
  };
}

/**
 * Whether the stream that counts in the row is one of this process. Only its keeper knows the problems, the token and the lag of the zone.
 * @param spec the merged spec. Without a subscription in it the zone has no stream to another process.
 * @param stored the spec of the row before
 */
export function isKeptHere(spec: JsonObject, stored: JsonObject, { mode, instanceId }: SubscriptionKeeper): boolean {
  const newest = describedSubscription(subscriptionsOf(spec), subscriptionsOf(stored));
  return newest === undefined || newest[mode === 'global' ? 'globalInstanceId' : 'zoneInstanceId'] === instanceId;
}

/**
 * The status to store: sync problems, the expiry of the token, refused streams, delayed full states, changes that the zone leaves
 * unconfirmed, and counts of its proxies. ZoneInsight has no fields for them.
 * @param stored the status of the row. While the zone has its stream to another process (`isKept` is false), the fields of that
 * one stay.
 * @param lag the lag of a stream to this process
 */
export function renderStatus(
  stored: JsonObject,
  { problems, tokenExpiresAt, refusedStreams, delayedFullStates, proxies }: InsightState,
  { now, isKept = true, lag = null }: { readonly now: Date; readonly isKept?: boolean; readonly lag?: Lag | null },
): JsonObject {
  const shared = {
    ...mergeCalls('refusedStreams', stored, refusedStreams, now),
    ...mergeCalls('delayedFullStates', stored, delayedFullStates, now),
    ...renderProxies(stored, proxies),
  };
  if (problems === null || !isKept) return { ...stored, ...shared };
  return {
    ...renderProblems(problems),
    ...(tokenExpiresAt !== null && { tokenExpiresAt: tokenExpiresAt.toISOString() }),
    ...shared,
    ...(lag !== null && { lag: { since: lag.since.toISOString(), types: [...lag.types] } }),
  };
}

function openStream(
  state: InsightState,
  event: SyncEvent & { kind: 'opened' },
  keeper: SubscriptionKeeper,
  now: Date,
): InsightState {
  const { streamId: id, stream, alsoFor = [], authorized: authTokenProvided } = event;
  const record = { globalInstanceId: keeper.instanceId, connectTime: now.toISOString() };
  const opened = Object.fromEntries([stream, ...alsoFor].map((kind) => [kind, record]));
  const streams = keeper.mode === 'global' ? { ...state.streams, ...opened } : state.streams;
  if (stream !== (keeper.mode === 'global' ? 'globalToZone' : 'zoneToGlobal')) return { ...state, streams };
  const subscription: Subscription = {
    id,
    keeper,
    connectTime: now,
    disconnectTime: null,
    authTokenProvided,
    peer: null,
    counts: new RunningCounts(),
    generation: 0,
  };
  return { ...state, streams, subscriptions: [...state.subscriptions, subscription] };
}

const ADMIN_FIELDS: Partial<Record<string, string>> = {
  configDump: 'configDumpGlobalInstanceId',
  stats: 'statsGlobalInstanceId',
  clusters: 'clustersGlobalInstanceId',
};

/** `kdsStreams` and the older `envoyAdminStreams`. A later stream of another process stays (kds-wire 2.6). */
function mergeStreams(stored: JsonObject, streams: InsightState['streams']): JsonObject {
  const kdsStreams = { ...objectOf(stored['kdsStreams']) };
  const envoyAdminStreams = { ...objectOf(stored['envoyAdminStreams']) };
  for (const [kind, record] of Object.entries(streams)) {
    if (timeOf(objectOf(kdsStreams[kind])['connectTime']) > timeOf(record.connectTime)) continue;
    kdsStreams[kind] = record;
    const field = ADMIN_FIELDS[kind];
    if (field !== undefined) envoyAdminStreams[field] = record.globalInstanceId;
  }
  return {
    ...(Object.keys(kdsStreams).length > 0 && { kdsStreams }),
    ...(Object.keys(envoyAdminStreams).length > 0 && { envoyAdminStreams }),
  };
}

function change(state: InsightState, streamId: string, edit: (one: Subscription) => Subscription): InsightState {
  const before = liveSubscription(state, streamId);
  const after = before === undefined ? undefined : edit(before);
  if (before === undefined || after === undefined || after === before) return state;
  return { ...state, subscriptions: state.subscriptions.map((one) => (one === before ? after : one)) };
}

function liveSubscription({ subscriptions }: InsightState, streamId: string): Subscription | undefined {
  return subscriptions.find((one) => one.id === streamId && isLive(one));
}

function changeLive(state: InsightState, edit: (one: Subscription) => Subscription): InsightState {
  if (!state.subscriptions.some(isLive)) return state;
  return { ...state, subscriptions: state.subscriptions.map((one) => (isLive(one) ? edit(one) : one)) };
}

function isLive(one: Subscription): boolean {
  return one.disconnectTime === null;
}

function newer(stored: JsonObject[string] | undefined, time: Date): JsonObject {
  return timeOf(objectOf(stored)['time']) > time.getTime() ? objectOf(stored) : { time: time.toISOString() };
}
