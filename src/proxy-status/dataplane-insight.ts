// The streams of a proxy as a DataplaneInsight (xds 1, kds-wire 4). Events are folded into the state of this process, and
// that state is merged into the current row, which another replica may have written. Pure but for the counts of responses, which change
// in place.
import type { ProxyEvent, ProxyTlsFacts } from '../ads/proxy-events.ts';
import type { XdsType } from '../ads/session-messages.ts';
import { describedSubscription, subscriptionsOf } from '../resource/online-status.ts';
import { label } from '../resource/labels.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { storablePart } from '../resource/storable-text.ts';
import { namesOf } from '../resource/stored-name.ts';
import type { Json, JsonObject, Labels } from '../resource/types.ts';
import { mergeSubscriptions } from '../subscriptions/merge-subscriptions.ts';
import type { RunningCounts } from '../subscriptions/response-counts.ts';
import { foldTroubles, NO_TROUBLES, renderTroubles, type Troubles } from './proxy-troubles.ts';
import { isLive, openSubscription, ownSubscription, type ProxySubscription } from './proxy-subscription.ts';

/**
 * The hold of a Dataplane that a proxy brought: `held` by a stream or by a control plane that stopped, `released` by a stream
 * that ended, `leaving` by a proxy that drains. The status names the bootstrap of that proxy as its run.
 */
const HOLDS = ['held', 'released', 'leaving'] as const;
export type Hold = (typeof HOLDS)[number];

/** The largest number of characters of a text of the metadata, and of features that are kept. */
const MAX_TEXT = 1_000;
const MAX_FEATURES = 100;

/** The state of one proxy in this process. Begins as `unknownProxy`. */
export type ProxyState = {
  /** The subscriptions in the order of their opening; closed ones stay until they are stored. */
  readonly subscriptions: readonly ProxySubscription[];
  /** The namespace of the Dataplane; `''` for none, and until a stream was opened in this process. */
  readonly namespace: string;
  /** It is null for a Dataplane that is there without its proxy. */
  readonly hold: Hold | null;
  /** It names the bootstrap of the proxy of the newest stream. */
  readonly run: string;
  /** The streams ended with this process: the proxy goes on, and opens one elsewhere. */
  readonly isLost: boolean;
  /** It is null until a stream was opened in this process: the row's are another's. */
  readonly troubles: Troubles | null;
  /** The features of the proxy of the newest stream, from its node. */
  readonly metadata: JsonObject;
  /** The parts of TLS that the proxy of the newest stream has accepted. */
  readonly tls: ProxyTlsFacts | null;
  readonly isZoneProxy: boolean;
  /** The places where the zone proxy of the newest stream listens; null until it has said so. */
  readonly listens: readonly string[] | null;
};

const nothing = {
  namespace: '',
  hold: null,
  run: '',
  isLost: false,
  troubles: null,
  metadata: {},
  tls: null,
  isZoneProxy: false,
  listens: null,
};
export const unknownProxy: ProxyState = { subscriptions: [], ...nothing };

/** Applies one event. Returns the same object if the event changes nothing. */
export function foldProxy(state: ProxyState, event: ProxyEvent, instanceId: string, now: Date): ProxyState {
  const folded = foldStream(state, event, instanceId, now);
  if (event.kind === 'closed') return forgetTroubles(folded);
  const troubles = foldTroubles(folded.troubles, event, now);
  return troubles === folded.troubles ? folded : { ...folded, troubles };
}

function foldStream(state: ProxyState, event: ProxyEvent, instanceId: string, now: Date): ProxyState {
  const { streamId } = event;
  switch (event.kind) {
    case 'opened':
      if (state.subscriptions.some(({ id }) => id === streamId)) return state;
      return {
        ...state,
        subscriptions: [...state.subscriptions, openSubscription(streamId, instanceId, event.version, now)],
        namespace: event.namespace,
        run: event.run,
        isLost: false,
        metadata: renderMetadata(event.metadata),
        tls: null,
        isZoneProxy: event.isZoneProxy,
        listens: null,
      };
    case 'closed':
      return change(
        state,
        ({ id }) => id === streamId,
        (one) => ({ ...one, disconnectTime: now }),
      );
    case 'problems':
    case 'moved':
    case 'demands TLS':
      return state;
    case 'tls':
      return { ...state, tls: event.tls };
    case 'listens':
      return { ...state, listens: event.places };
    case 'sent':
    case 'accepted':
    case 'refused':
      return countResponse(state, event.kind, event.type, streamId, now) ? { ...state } : state;
  }
}

/**
 * The labels of the row. With the namespace of its Dataplane it has the name of that on global (kds-wire 5.4.4).
 * @param name the stored name of the Dataplane
 */
export function insightLabels(stored: Labels, name: string, { namespace }: Pick<ProxyState, 'namespace'>): Labels {
  if (namespace === '') return stored;
  const { displayName } = namesOf(name, namespace);
  return { ...stored, [label.namespace]: namespace, [label.displayName]: displayName };
}

/** Raises the generation of open subscriptions: a constant generation means a dead control plane (rest-api 7.2). */
export function raiseGeneration(state: ProxyState): ProxyState {
  return change(
    state,
    () => true,
    (one) => ({ ...one, generation: one.generation + 1 }),
  );
}

/** The state in a process that ends: its subscriptions are closed, and what proxies brought is held for them. */
export function closeProxy(state: ProxyState, now: Date): ProxyState {
  if (!isConnected(state)) return state;
  const closed = change(
    state,
    () => true,
    (one) => ({ ...one, disconnectTime: now }),
  );
  return forgetTroubles({ ...closed, isLost: true });
}

/** Drops the subscriptions that are closed in `stored`, a state that is in the row: they do not change any more. */
export function dropStored(state: ProxyState, stored: ProxyState): ProxyState {
  const done = new Set(stored.subscriptions.filter((one) => !isLive(one)).map((one) => one.id));
  if (done.size === 0) return state;
  return { ...state, subscriptions: state.subscriptions.filter((one) => !done.has(one.id)) };
}

/** Refusals of a proxy that is gone concern no configuration in force. */
function forgetTroubles(state: ProxyState): ProxyState {
  return state.troubles === null || isConnected(state) ? state : { ...state, troubles: NO_TROUBLES };
}

export function isConnected({ subscriptions }: ProxyState): boolean {
  return subscriptions.some(isLive);
}

/**
 * The row to store: the stored one with this process's state in it. The status is for this zone alone: the message has no field
 * for what is in it.
 * @param limit the number of subscriptions that are kept, the newest
 */
export function mergeProxy(
  stored: { readonly spec: JsonObject; readonly status: JsonObject },
  state: ProxyState,
  limit: number,
  now: Date,
): { readonly spec: JsonObject; readonly status: JsonObject } {
  const subscriptions = mergeSubscriptions(subscriptionsOf(stored.spec), state.subscriptions.map(ownSubscription), limit, now);
  const spec = { ...stored.spec, subscriptions };
  // If another replica has the described stream, only the subscriptions change.
  const described = describedSubscription(subscriptions, subscriptionsOf(stored.spec))?.['id'];
  const isOurs = state.subscriptions.some(({ id }) => id === described);
  if (!isOurs) return { spec, status: stored.status };
  const before = holdOf(stored.status);
  // The launcher may have reported it to another replica. Only another run takes it back.
  const hold = before === 'leaving' && state.hold !== null ? before : (state.hold ?? before);
  const run = textOf(stored.status['run']);
  const { metadata, tls } = state;
  const { mTLS: _before, ...rest } = spec as JsonObject;
  return {
    spec: {
      ...rest,
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(tls?.isReady === true && { mTLS: renderCertificate(tls) }),
    },
    status: {
      ...(hold === null ? renderStay(stored.status, state) : { hold, ...(run !== '' && { run }) }),
      ...(state.troubles !== null && renderTroubles(state.troubles)),
      ...(tls !== null && { tls: renderTls(tls) }),
      ...renderListens(stored.status, state),
    },
  };
}

/**
 * The places where a zone proxy listens. An Envoy that comes back has its listeners; another run has none. Without the field
 * nothing is known: an older version wrote the row.
 */
function renderListens({ run: before, listens: known }: JsonObject, { run, isZoneProxy, listens }: ProxyState): JsonObject {
  const places = listens === null ? listensFirst(known, { isSame: textOf(before) === run, run, isZoneProxy }) : [...listens];
  return places === undefined ? {} : { listens: places };
}

/** The places before the proxy has named them. @param isSame whether the run is that of the row */
function listensFirst(
  known: Json | undefined,
  { isSame, run, isZoneProxy }: { readonly isSame: boolean; readonly run: string; readonly isZoneProxy: boolean },
): Json | undefined {
  if (isSame && (known !== undefined || run !== '')) return known;
  return isZoneProxy ? [] : undefined;
}

/** The proxy of a Dataplane that stays. The state of another run does not count. */
function renderStay({ isLeaving, run: before }: JsonObject, { run, isLost }: ProxyState): JsonObject {
  return {
    ...(run !== '' && { run }),
    ...(isLeaving === true && run !== '' && run === before && { isLeaving }),
    ...(isLost && { isLost }),
  };
}

function renderTls({ isReady, bundle, plaintextTo, withdrawal }: ProxyTlsFacts): JsonObject {
  return { isReady, bundle, plaintextTo: [...plaintextTo], ...(withdrawal !== '' && { withdrawal }) };
}

function renderCertificate({ identity, issuedAt, expiresAt }: ProxyTlsFacts): JsonObject {
  return {
    certificateExpirationTime: expiresAt.toISOString(),
    lastCertificateRegeneration: issuedAt.toISOString(),
    issuedBackend: identity,
  };
}

/** Texts, switches, lists of texts and objects of texts; a proxy may say anything. */
function renderMetadata(metadata: JsonObject): JsonObject {
  const bound = (value: unknown): string => storablePart(textOf(value), MAX_TEXT);
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]): [string, Json] => {
      if (Array.isArray(value)) return [key, value.slice(0, MAX_FEATURES).map(bound)];
      if (typeof value === 'boolean') return [key, value];
      if (!isObject(value)) return [key, bound(value)];
      return [key, Object.fromEntries(['socketPath'].map((inner) => [inner, bound(value[inner])]))];
    }),
  );
}

/** Whether the run that brought the Dataplane has said that it drains. */
export function isLeavingRun(status: JsonObject, run: string): boolean {
  return run !== '' && holdOf(status) === 'leaving' && textOf(status['run']) === run;
}

/** The status without the state of another run, before a proxy of this run is merged into it. */
export function beginRun(
  { run: last, hold, isLeaving, listens, ...others }: JsonObject,
  { run, isZoneProxy }: Pick<ProxyState, 'run' | 'isZoneProxy'>,
): JsonObject {
  const open = listensFirst(listens, { isSame: textOf(last) === run, run, isZoneProxy });
  const isStillLeaving = isLeaving === true && last === run;
  const status = { ...others, ...(isStillLeaving && { isLeaving }), ...(open !== undefined && { listens: open }) };
  if (isLeavingRun({ hold: hold ?? '', run: last ?? '' }, run)) return { ...status, hold: 'leaving', run };
  return { ...status, ...(hold !== undefined && hold !== 'leaving' && { hold }), ...(run !== '' && { run }) };
}

/** Returns null for a Dataplane that no proxy brought. */
export function holdOf(status: JsonObject): Hold | null {
  return HOLDS.find((hold) => hold === textOf(status['hold'])) ?? null;
}

/** The count that each kind of event raises. */
export const COUNTS = { sent: 'sent', accepted: 'acknowledged', refused: 'rejected' } as const;

/**
 * Counts a response, or the answer of the proxy, in the state itself.
 * @returns whether the stream is open
 */
function countResponse(state: ProxyState, kind: keyof typeof COUNTS, type: XdsType, streamId: string, now: Date): boolean {
  const counts = liveCounts(state, streamId);
  counts?.add(type, COUNTS[kind], now);
  return counts !== null;
}

/** The counts of an open stream; null for another one. */
export function liveCounts({ subscriptions }: ProxyState, streamId: string): RunningCounts | null {
  return subscriptions.find((one) => one.id === streamId && isLive(one))?.counts ?? null;
}

/** Changes live subscriptions. */
function change(
  state: ProxyState,
  isMeant: (one: ProxySubscription) => boolean,
  edit: (one: ProxySubscription) => ProxySubscription,
): ProxyState {
  if (!state.subscriptions.some((one) => isLive(one) && isMeant(one))) return state;
  return { ...state, subscriptions: state.subscriptions.map((one) => (isLive(one) && isMeant(one) ? edit(one) : one)) };
}
