// The last changes that this process sends to its peers, and the times at which each peer was sent and acknowledged each of them.
// A peer acknowledges positions of a log; this turns them into times of changes. Pure: the caller passes the time.
// Invariants: at most MAX_CHANGES changes and MAX_BYTES of times are kept, and of older ones a bit for each peer; an
// acknowledgement costs what it acknowledges; a change that a later one of the same resource replaced before it was sent counts
// as acknowledged with the later one; a peer has not acknowledged what it could not see when the response was made.
import type { LoggedChange, LoggedMove } from '../kds/log/changelog.ts';
import type { StreamKind, SyncEvent } from '../kds/protocol/sync-events.ts';
import type { DeliveryOfChange, DeliveryState } from '../kds/sender/delivery.ts';
import { isVisibleTo, reasonHidden, type ProfileOf, type Viewer } from '../kds/protocol/rules.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';
import { historiesBetween, newestOf, overtakenBetween, upTo } from './change-lists.ts';
import type { Change, History } from './kept-change.ts';
import { KnownPeers, type Peer } from './known-peers.ts';
import { encodeDelay, decodeDelay, NONE } from './delay-codec.ts';
import {
  addTo,
  answerOf,
  answersFor,
  answersOf,
  hasAnswered,
  HIDDEN,
  isUnanswered,
  mark,
  marksFor,
  noTally,
  REFUSED,
  unmark,
  type Tally,
} from './peer-marks.ts';
import { PeerPositions, roomFor } from './peer-positions.ts';

export const MAX_CHANGES = 1_000;
/**
 * The limit of the times, in bytes: all changes of 2,000 zones, or about 190 of 10,000. The changes themselves take less than
 * another megabyte.
 */
const MAX_BYTES = 4_000_000;
/** The number of peers for which each change has room at first. */
const FEW_PEERS = 16;

/** A resource as it is now in the log. */
export type Logged = Pick<LoggedChange, 'type' | 'wireName' | 'position' | 'visibility'>;

/** @property again the wire names from before the part of the log that the response begins with */
type Response = {
  readonly peer: string;
  readonly type: string;
  readonly position: number;
  readonly again?: readonly string[];
};
type RowOfChange = Pick<LoggedChange, 'type' | 'mesh' | 'name'>;

export class RecentChanges {
  /** The streams on which this side sends. */
  readonly #stream: StreamKind;
  readonly #peers = new KnownPeers();
  /** The last positions that each peer was sent, and has acknowledged, on its newest stream. */
  readonly #reached = new PeerPositions();
  readonly #changes: Change[] = [];
  readonly #byType = new Map<string, Change[]>();
  /** The changes by type and wire name. */
  readonly #histories = new Map<string, History>();
  #lastId = 0;
  #room = FEW_PEERS;
  /** The number of oldest changes that have no times. */
  #withoutTimes = 0;
  /** It is called with each new change, and with each change that a peer was sent or has answered. */
  onProgress: ((change: Change) => void) | null = null;
  /** The profiles of the peers, from their Zones. */
  profileOf: ProfileOf = () => ANY_ZONE;

  constructor(stream: StreamKind) {
    this.#stream = stream;
  }

  /** The kept changes, the newest first. */
  newest(): Change[] {
    return this.#changes.toReversed();
  }

  find(id: number): Change | undefined {
    return this.#changes.find((change) => change.id === id);
  }

  /** The newest change of a row, or the oldest of its present life with at least this version. Undefined if none is kept. */
  ofRow({ type, mesh, name }: Pick<LoggedChange, 'type' | 'mesh' | 'name'>, version: number | null = null): Change | undefined {
    const own = (this.#byType.get(type) ?? []).filter((change) => change.name === name && change.mesh === mesh);
    if (version === null) return own.at(-1);
    // A row that is created again starts at version 0, also where the log did not see that it was gone.
    const life = own.findLastIndex((one, at) => one.version === null || one.version <= (own[at - 1]?.version ?? -1));
    const found = own.find((one, at) => at >= life && one.version !== null && one.version >= version);
    // A write without a change of the resource has a version and no change.
    const last = own.at(-1);
    return found ?? (last?.isRemoval === true ? last : undefined);
  }

  get peers(): ReadonlyMap<string, Peer> {
    return this.#peers.all;
  }

  /** Adds a change. @param now milliseconds since 1970 */
  append(logged: LoggedChange, now: number): Change {
    const committed = logged.committedAt?.getTime() ?? now;
    const key = historyKey(logged.type, logged.wireName);
    const history = this.#histories.get(key) ?? { changes: [] };
    this.#histories.set(key, history);
    // The clock of the writer may be another one: a change cannot be sent before its commit.
    const at = Math.min(committed, now);
    const marks = { times: marksFor(this.#room), answers: null, tally: noTally() };
    const change: Change = { ...logged, id: ++this.#lastId, at, history, ...marks };
    history.changes.push(change);
    this.#changes.push(change);
    const ofType = this.#byType.get(logged.type) ?? [];
    ofType.push(change);
    this.#byType.set(logged.type, ofType);
    if (this.#changes.length > MAX_CHANGES) this.#dropOldest();
    this.#forgetTimes();
    this.onProgress?.(change);
    return change;
  }

  /** Notes that the log has moved a resource to its end, unchanged: other peers may see it from now on. */
  move({ type, wireName, position }: LoggedMove): void {
    const change = this.#histories.get(historyKey(type, wireName))?.changes.at(-1);
    const ofType = this.#byType.get(type);
    if (change === undefined || ofType === undefined) return;
    change.position = position;
    ofType.splice(ofType.indexOf(change), 1);
    ofType.push(change);
  }

  /** Takes an event of a stream. @param now milliseconds since 1970. @returns false if the event concerns no change */
  observe(event: SyncEvent, now: number): boolean {
    switch (event.kind) {
      case 'opened':
        if (event.stream !== this.#stream) return false;
        this.#open(event.peer, event.streamId);
        return true;
      case 'resubscribed':
        return this.#subscribedAgain(event.peer, event.type);
      case 'closed':
        return this.#peers.close(event.peer, event.streamId);
      case 'node':
        this.#peers.meet(event.peer, event.node.features);
        return true;
      case 'sent':
        return this.#covers(event, now);
      case 'passed':
        return this.#covers(event, null) && this.#answered(event, now);
      case 'acknowledged':
      case 'rejected':
        return this.#answered(event, now);
      case 'refused':
        return this.#refused(event);
      case 'withheld':
        this.#peers.withhold(event.peer, event.type, { names: event.resources, all: event.all });
        return true;
      default:
        return false;
    }
  }

  /** Drops a peer that was deleted. One with an open stream stays. */
  forget(name: string): void {
    const peer = this.#peers.forget(name);
    if (peer === undefined) return;
    this.#reached.clear(peer.index);
    for (const change of this.#changes) if (unmark(change, peer.index)) this.onProgress?.(change);
  }

  /** The state of a change at a peer; without a kept change, the present state of the resource. */
  delivery(change: Change | Logged, name: string): DeliveryOfChange {
    const peer = this.#peers.get(name);
    const { type, wireName, visibility } = change;
    // The capabilities of a peer that has never connected are unknown.
    const viewer = { zone: name, features: peer?.features ?? null, profileOf: this.profileOf };
    if (!isVisibleTo(visibility, viewer))
      return delivery('hidden', visibility.to === 'none' ? null : reasonHidden(visibility, viewer));
    if (peer === undefined) return delivery('away');
    const times = 'times' in change ? change.times : null;
    const sentMs = decodeDelay(times?.sent[peer.index] ?? NONE);
    const byte = times?.acknowledged[peer.index] ?? NONE;
    const acknowledgedMs = decodeDelay(byte);
    if (acknowledgedMs !== null) return { ...delivery('acknowledged'), sentMs, acknowledgedMs };
    if ('answers' in change && hasAnswered(change, peer.index)) return delivery('acknowledged');
    const refused = peer.refused.get(type)?.get(wireName);
    // A refusal on an earlier stream waits for the answer of this one.
    const isRefused = byte === REFUSED && this.#reached.of('acknowledged', type, peer.index) >= change.position;
    if (isRefused || (refused !== undefined && times === null)) return { ...delivery('refused', refused ?? null), sentMs };
    const withheld = peer.withheld.get(type);
    const reason = withheld?.names.get(wireName) ?? withheld?.all ?? null;
    if (reason !== null) return delivery('withheld', reason);
    if (peer.streams.size === 0) return delivery('away');
    const position = 'history' in change ? newestOf(change.history).position : change.position;
    if (times === null && this.#reached.of('acknowledged', type, peer.index) >= position) return delivery('acknowledged');
    return { ...delivery(sentMs === null ? 'pending' : 'sent'), sentMs };
  }

  /** The tally of a change over these peers alone. It has zeros for a change whose times are no longer kept. */
  tallyOf(change: Change, counts: (name: string, peer: Peer) => boolean): Tally {
    const tally = noTally();
    for (const [name, peer] of this.peers) {
      if (counts(name, peer) && this.#isCounted(change, name, peer)) addTo(tally, change.times, peer.index);
    }
    return tally;
  }

  /** Finds the newest kept change of a row that a peer has acknowledged. A removal has no version. */
  lastConfirmed({ type, mesh, name }: RowOfChange): (peer: string) => { version: number | null; at: Date } | null {
    const own = (this.#byType.get(type) ?? []).filter((change) => change.name === name && change.mesh === mesh).reverse();
    return (peerName) => {
      const peer = this.#peers.get(peerName);
      if (peer === undefined) return null;
      for (const { times, version, at } of own) {
        const ms = decodeDelay(times?.acknowledged[peer.index] ?? NONE);
        if (ms !== null) return { version, at: new Date(at + ms) };
      }
      return null;
    };
  }

  #open(name: string, streamId: string): void {
    const { index } = this.#peers.open(name, streamId);
    this.#sendAgain(index, this.#changes);
    // The first response on a stream repeats what an earlier one may have confirmed.
    this.#reached.clear(index);
    if (index >= this.#room) this.#makeRoom(roomFor(index, this.#room));
  }

  #subscribedAgain(name: string, type: string): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) return false;
    this.#peers.subscribeAgain(peer, type);
    this.#sendAgain(peer.index, this.#byType.get(type) ?? []);
    this.#reached.clear(peer.index, type);
    return true;
  }

  /** Marks what is sent once more: it was sent and not answered, or a newer state takes its place. */
  #sendAgain(index: number, changes: readonly Change[]): void {
    for (const change of changes) if (isUnanswered(change, index) && mark(change, 'sent', index, NONE)) this.onProgress?.(change);
  }

  /**
   * Notes that a response covers the log up to a position, or that nothing of it was for the peer. What the peer may not see now
   * is not in it, and the peer no longer has it when it has answered.
   * @param now null where nothing was sent
   */
  #covers({ peer: name, type, position, again = [] }: Response, now: number | null): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) return false;
    const before = this.#reached.raise('sent', type, peer.index, position);
    const viewer = this.#viewerOf(name, peer);
    for (const history of this.#covered(type, before, position, again))
      for (const change of upTo(history, position)) {
        const known = change.times?.sent[peer.index] ?? NONE;
        const isSeen = isVisibleTo(change.visibility, viewer);
        if (isSeen ? known !== NONE && known !== HIDDEN : known === HIDDEN) break;
        if (!isSeen) this.#mark(change, 'acknowledged', peer, NONE);
        this.#mark(change, 'sent', peer, isSeen ? (now === null ? NONE : encodeDelay(now - change.at)) : HIDDEN);
      }
    return true;
  }

  /**
   * Marks what a response had, from the newest change of each resource back to the first that has an answer. The newest was sent once more if
   * it was refused: it is decided again.
   */
  #answered({ peer: name, type, position, again = [] }: Response, now: number): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) return false;
    const before = this.#reached.raise('acknowledged', type, peer.index, position);
    const viewer = this.#viewerOf(name, peer);
    const refused = peer.refused.get(type);
    const withheld = peer.withheld.get(type);
    for (const history of this.#covered(type, before, position, again)) {
      const { wireName } = newestOf(history);
      if (withheld !== undefined && (withheld.all !== null || withheld.names.has(wireName))) continue;
      const isRefused = refused?.has(wireName) === true;
      let isNewest = true;
      for (const change of upTo(history, position)) {
        const known = answerOf(change, peer.index);
        if (known !== NONE && (known !== REFUSED || !isNewest)) break;
        isNewest = false;
        const sent = change.times?.sent[peer.index] ?? NONE;
        if (sent === HIDDEN || (sent === NONE && !isVisibleTo(change.visibility, viewer))) continue;
        this.#mark(change, 'acknowledged', peer, isRefused ? REFUSED : encodeDelay(now - change.at));
      }
    }
    for (const change of overtakenBetween(this.#byType.get(type) ?? [], before, position))
      if (isUnanswered(change, peer.index))
        this.#mark(change, 'acknowledged', peer, refused?.has(change.wireName) === true ? REFUSED : encodeDelay(now - change.at));
    return true;
  }

  #viewerOf(zone: string, { features }: Peer): Viewer {
    return { zone, features, profileOf: this.profileOf };
  }

  #refused({ peer: name, type, changed, solved }: SyncEvent & { kind: 'refused' }): boolean {
    const peer = this.#peers.get(name);
    // A change that is no longer refused was accepted, or a newer state is on its way: the answer says which.
    if (peer !== undefined) this.#peers.refuse(peer, type, { changed, solved });
    return peer !== undefined;
  }

  /** The resources of a response that covers the log from one position to another, and has these beside that. */
  *#covered(type: string, from: number, to: number, again: readonly string[]): Generator<History> {
    yield* historiesBetween(this.#byType.get(type) ?? [], from, to);
    for (const wireName of again) {
      const history = this.#histories.get(historyKey(type, wireName));
      if (history !== undefined) yield history;
    }
  }

  #mark(change: Change, field: 'sent' | 'acknowledged', { index }: Peer, byte: number): void {
    if (mark(change, field, index, byte)) this.onProgress?.(change);
  }

  /** Whether a peer counts for a change. The count of answers ignores whether the origin is enabled. */
  #isCounted({ visibility }: Change, zone: string, { features }: Peer): boolean {
    const own = this.profileOf(zone);
    const viewer: Viewer = { zone, features, profileOf: (name) => (name === zone ? own : ANY_ZONE) };
    return isVisibleTo(visibility, viewer);
  }

  #makeRoom(room: number): void {
    this.#room = room;
    for (const change of this.#changes) {
      if (change.times !== null) change.times = marksFor(room, change.times);
      if (change.answers !== null) change.answers = answersFor(room, change.answers);
    }
    this.#forgetTimes();
  }

  /** Drops the times of the oldest changes when all of them have too many bytes. */
  #forgetTimes(): void {
    const most = Math.max(1, Math.floor(MAX_BYTES / (2 * this.#room)));
    for (; this.#changes.length - this.#withoutTimes > most; this.#withoutTimes += 1) {
      const change = this.#changes[this.#withoutTimes];
      if (change === undefined || change.times === null) continue;
      change.answers = answersOf(change.times);
      change.times = null;
    }
  }

  #dropOldest(): void {
    const oldest = this.#changes.shift();
    if (oldest === undefined) return;
    this.#withoutTimes = Math.max(0, this.#withoutTimes - 1);
    const ofType = this.#byType.get(oldest.type) ?? [];
    ofType.splice(ofType.indexOf(oldest), 1);
    oldest.history.changes.shift();
    if (oldest.history.changes.length === 0) this.#histories.delete(historyKey(oldest.type, oldest.wireName));
  }
}

function delivery(state: DeliveryState, reason: string | null = null): DeliveryOfChange {
  return { state, sentMs: null, acknowledgedMs: null, reason };
}

function historyKey(type: string, wireName: string): string {
  return `${type}/${wireName}`;
}
