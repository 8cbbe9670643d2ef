// The state of one peer for one type: subscribed, acknowledged, pending (engine 3). Pure: no stream, no timer, no clock.
// Invariants: at most one response is pending; a slot's held bit is set from the moment its name is sent until the peer
// has acknowledged its removal; only an acknowledgement advances `acknowledged`.
import type { Delivery, StateNow } from './delivery.ts';
import { SparseMap } from '../../base/sparse-map.ts';
import { DraftBuilder, isStray, type Draft, type Item } from './response-draft.ts';
import { encodingFor, type Encoding, type PeerView } from '../log/entry.ts';
import { Bitset } from './bitset.ts';
import { NackedResources } from './nacked-resources.ts';
import type { Slot, TypeLog } from '../log/type-log.ts';

export type SubscriptionOptions = {
  /** The versions that the peer reported, by wire name; null if it reported none and gets the full state (D29). */
  readonly known: ReadonlyMap<string, string> | null;
  /** The bytes of resources and names after which a response ends. The rest follows after the acknowledgement. */
  readonly chunkBytes: () => number;
};

/** A response that waits for its answer: the resources that it sent and removed. */
type Pending = {
  readonly added: readonly Slot[];
  readonly gone: readonly Item[];
  readonly upTo: number;
  readonly again: readonly string[];
  /** It is true for the full state in one message. */
  readonly isWhole: boolean;
};

export class Subscription {
  readonly log: TypeLog;
  readonly #view: PeerView;
  readonly #chunkBytes: () => number;
  readonly #full: boolean;
  readonly #held = new Bitset();
  /** Versions that the peer sent at subscription and that the walk of the log has not reached yet. Null after the first walk. */
  #known: Map<string, string> | null;
  #sent = 0;
  #acknowledged = 0;
  #pending: Pending | null = null;
  #answered = false;
  #firstWalk = true;
  /** The last response had changes of the log. So a retry of refused resources may precede the next changes. */
  #sentChanges = false;
  readonly #nacked = new NackedResources();
  readonly #withheld = new SparseMap<Slot, string>();
  /** Slots whose visibility to this peer may have changed without a change of the log. */
  readonly #reviewed = new SparseMap<Slot, true>();

  constructor(log: TypeLog, view: PeerView, { known, chunkBytes }: SubscriptionOptions) {
    this.log = log;
    this.#view = view;
    this.#chunkBytes = chunkBytes;
    this.#full = known === null;
    this.#known = known === null || known.size === 0 ? null : new Map(known);
  }

  /** The position up to which the peer has confirmed everything. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Wire names of the response that waits for its answer, from the part of the log that the peer has answered already. */
  get again(): readonly string[] {
    return this.#pending?.again ?? [];
  }

  /** It is true after the first state was sent completely and answered. */
  get isSettled(): boolean {
    return !this.#firstWalk && this.#pending === null && this.#reviewed.size === 0;
  }

  /** It is false if the next response would be null and would change nothing. */
  get hasMore(): boolean {
    return this.#firstWalk || this.#sent < this.log.position || this.#reviewed.size > 0 || this.#nacked.hasDue;
  }

  /** It is true while the peer's state is incomplete. */
  get isBehind(): boolean {
    return this.#acknowledged < this.log.position || this.#nacked.size > 0 || this.#reviewed.size > 0;
  }

  /**
   * The number of resources that the peer has not confirmed: those that it may see, and removals of those that it has. At most
   * `limit`.
   */
  behindBy(limit: number): number {
    let count = 0;
    for (const { entry, index } of this.log.newerThan(this.#acknowledged)) {
      if (count >= limit) break;
      if ((entry !== null && this.#view.canSee(entry)) || this.#held.has(index)) count += 1;
    }
    for (const slot of this.#reviewed.entries.keys()) {
      if (count >= limit) break;
      if (slot.position <= this.#acknowledged && this.#isDue(slot)) count += 1;
    }
    return count;
  }

  /** The state of the resource of a slot at the peer. */
  holding(slot: Slot): Delivery<StateNow> {
    const { entry } = slot;
    if (entry === null || !this.#view.canSee(entry)) return { state: 'hidden', reason: null };
    const refused = this.#nacked.refused.get(slot) ?? this.#nacked.suspects.get(slot);
    if (refused !== undefined) return { state: 'refused', reason: refused };
    const withheld = this.#withheld.get(slot);
    if (withheld !== undefined) return { state: 'withheld', reason: withheld };
    const isConfirmed = slot.position <= this.#acknowledged && this.#held.has(slot.index);
    return { state: isConfirmed ? 'acknowledged' : 'pending', reason: null };
  }

  /** The resources that the peer refuses now. */
  get nacked(): Pick<NackedResources, 'size' | 'revision' | 'refused' | 'suspects' | 'takeReport' | 'retryNames'> {
    return this.#nacked;
  }

  /** The number of resources that the peer should have and cannot read. */
  get withheldCount(): number {
    return this.#withheld.size;
  }

  /** The reasons why the peer cannot read resources that it should have, by wire name (D26). */
  get withheld(): ReadonlyMap<string, string> {
    return new Map([...this.#withheld.entries].map(([slot, reason]) => [slot.wireName, reason]));
  }

  /** Makes refused resources due: they are sent again when no response is pending. */
  retry(): void {
    this.#nacked.retry();
  }

  /**
   * Compares what the peer may see of these slots with what it has, at the next response. Call it when the peer's own Zone has
   * changed.
   * @returns true if some of them are due
   */
  review(slots: Iterable<Slot>): boolean {
    // A slot that the response in flight removes is held until its answer.
    for (const slot of slots) if (this.#pending !== null || this.#isDue(slot)) this.#reviewed.set(slot, true);
    return this.#reviewed.size > 0;
  }

  /** The next response, or null when none is due. The first is due even when it is empty (kds-wire 2.3). */
  next(): Draft | null {
    if (this.#pending !== null) return null;
    for (const slot of this.#withheld.entries.keys()) if (slot.entry === null) this.#withheld.delete(slot);
    // Changes and retries of refused resources alternate: neither delays the other.
    return (this.#sentChanges ? this.#sendNacked() : null) ?? this.#sendChanges() ?? this.#sendNacked();
  }

  /** The new entries of the log. Null if none is visible to this peer; its position is then the end of the log. */
  #sendChanges(): Draft | null {
    const isFullState = this.#full && this.#firstWalk;
    // Kuma expects the full state in one message, and prunes after it (engine 1). A Meridian peer learns from the message that more
    // follows.
    const isWhole = isFullState && this.#view.form !== 'native';
    const draft = isWhole ? new DraftBuilder(Infinity, Infinity) : new DraftBuilder(this.#chunkBytes(), this.#view.largestBytes);
    const complete = this.#walk(draft) && this.#takeUnmet(draft);
    if (complete) {
      this.#firstWalk = false;
      this.#takeReviewed(draft);
    }
    if (draft.isEmpty && this.#answered && !isFullState) {
      this.#acknowledged = this.#sent;
      return null;
    }
    this.#answered = true;
    this.#sentChanges = true;
    return this.#send(draft, { isWhole, isPartial: isFullState && !complete });
  }

  /** A retry of refused resources; null when none is due. */
  #sendNacked(): Draft | null {
    if (this.#firstWalk) return null;
    this.#sentChanges = false;
    for (;;) {
      const due = this.#nacked.takeDue();
      if (due === null) return null;
      const draft = new DraftBuilder(this.#chunkBytes(), this.#view.largestBytes);
      const filled = this.#filledNames(due);
      for (const [index, item] of due.entries()) {
        if (this.#takeAgain(item, draft, filled)) continue;
        this.#nacked.putBack(due.slice(index));
        break;
      }
      if (!draft.isEmpty) return this.#send(draft, { isWhole: false, isPartial: false });
    }
  }

  #send(draft: DraftBuilder, { isWhole, isPartial }: { isWhole: boolean; isPartial: boolean }): Draft {
    for (const slot of draft.added) this.#hold(slot);
    const { added, gone } = draft;
    this.#pending = { added, gone, upTo: this.#sent, again: draft.namesUpTo(this.#acknowledged), isWhole };
    return draft.finish(this.#sent, isPartial);
  }

  /** @returns false if the response is full */
  #takeAgain(item: Item, draft: DraftBuilder, filled: ReadonlySet<string>): boolean {
    // A later change is sent from the log.
    if (!isStray(item) && item.position > this.#sent) return true;
    if (isStray(item) || item.entry === null) {
      const name = this.#nameOf(item);
      // Another slot has the name now: a removal would remove that resource.
      if (!filled.has(name)) return draft.remove(name, item);
      this.#release(item);
      return true;
    }
    const before = draft.added.length + draft.gone.length;
    if (!this.#take(item, draft)) return false;
    // The peer may no longer see it, and does not have it.
    if (draft.added.length + draft.gone.length === before) this.#nacked.delete(item);
    return true;
  }

  /** The names of the existing resources that the peer holds. Empty unless `due` contains a removal. */
  #filledNames(due: readonly Item[]): Set<string> {
    const names = new Set<string>();
    if (!due.some((item) => isStray(item) || item.entry === null)) return names;
    for (const slot of this.#heldSlots()) if (slot.entry !== null) names.add(this.#nameOf(slot));
    return names;
  }

  /** The entries that are newer than the last response. */
  #walk(draft: DraftBuilder): boolean {
    for (const slot of this.log.since(this.#sent)) {
      if (!this.#take(slot, draft)) return false;
      this.#nacked.delete(slot);
      this.#sent = slot.position;
    }
    this.#sent = this.log.position;
    return true;
  }

  /** The slots that the walk has passed, and that the peer should now get or lose. What does not fit waits for another response. */
  #takeReviewed(draft: DraftBuilder): void {
    for (const slot of this.#reviewed.entries.keys()) {
      if (this.#isDue(slot)) {
        if (!this.#take(slot, draft)) return;
        this.#nacked.delete(slot);
      }
      this.#reviewed.delete(slot);
    }
  }

  /** A slot that is no longer in the log has an index that another slot may use. */
  #isDue(slot: Slot): boolean {
    if (this.log.find(slot.key) !== slot || slot.position > this.#sent) return false;
    const isSeen = slot.entry !== null && this.#view.canSee(slot.entry);
    // A resource that the peer may not have is no longer withheld from it.
    if (isSeen !== this.#held.has(slot.index) || (!isSeen && this.#withheld.has(slot))) return true;
    // It refused to lose what it may have again: its content may be older.
    return isSeen && (this.#nacked.refused.has(slot) || this.#nacked.suspects.has(slot));
  }

  /** Removes the names that the peer has and the log does not. */
  #takeUnmet(draft: DraftBuilder): boolean {
    for (const name of this.#known?.keys() ?? []) {
      if (!draft.remove(name, { wireName: name, plainName: name, isStray: true })) return false;
      this.#known?.delete(name);
    }
    this.#known = null;
    return true;
  }

  /** Adds the present state of a slot. @returns false if it has to wait for another response */
  #take(slot: Slot, draft: DraftBuilder): boolean {
    const name = this.#nameOf(slot);
    // A removed and recreated name needs two responses: in one it would be an update (engine 7).
    if (draft.removed.size > 0 && slot.entry !== null && draft.removed.has(name)) return false;
    const sendable = this.#encodingOf(slot);
    if (sendable === null) {
      // The peer has a resource that it may not see now.
      if (slot.entry !== null && this.#known?.delete(name) === true) this.#hold(slot);
      // A Mesh that exists and cannot be sent stays as the peer has it: its removal takes the resources in it.
      if (this.log.type === 'Mesh' && this.#withheld.has(slot)) return true;
      return !this.#held.has(slot.index) || this.#handOver(slot, name) || draft.remove(name, slot, this.#isWithdrawal(slot));
    }
    if (this.#known?.get(name) === sendable.version) this.#hold(slot);
    else if (!draft.add(slot, sendable.bytes)) return false;
    this.#known?.delete(name);
    return true;
  }

  /**
   * Hands a wire name over to another row that has it now: the peer gets that row as an update.
   * @returns false if the peer loses the name
   */
  #handOver(slot: Slot, name: string): boolean {
    const heir = this.log.find(slot.key);
    if (heir === undefined || heir === slot || this.#nameOf(heir) !== name) return false;
    this.#hold(heir);
    this.#release(slot);
    return true;
  }

  /**
   * Whether a Mesh exists and goes from this peer alone, which keeps what it wrote there. A Mesh that was deleted takes all of
   * that with it.
   */
  #isWithdrawal({ entry }: Slot): boolean {
    return entry !== null && this.log.type === 'Mesh' && this.#view.form === 'native';
  }

  /** Returns null if the peer must not see or cannot read it. */
  #encodingOf(slot: Slot): Encoding | null {
    const encoding = encodingFor(this.#view, slot.entry);
    if (encoding !== null && 'withheld' in encoding) {
      this.#withheld.set(slot, encoding.withheld);
      return null;
    }
    this.#withheld.delete(slot);
    return encoding;
  }

  #nameOf({ plainName, wireName }: Item): string {
    return this.#view.form === 'legacy' ? plainName : wireName;
  }

  /** Notes that the peer stored the pending response. @returns what it removed */
  acknowledge(): readonly Item[] {
    const pending = this.#pending;
    if (pending === null) return [];
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.added) this.#nacked.delete(slot);
    for (const item of pending.gone) this.#release(item);
    return pending.gone;
  }

  /**
   * Notes that the peer refused the pending response, or part of it. The rest counts as stored. A refused resource is sent again
   * when it changes, or after `retry` (engine 15).
   * @param reasons wire name → why the peer refused it; empty where the peer gives no names. Then all resources of the response
   * become suspects, and for a Meridian peer its removals too: a Kuma peer never refuses a removal (kds-wire 6.2)
   * @param message the peer's message about the response
   * @returns what the peer removed
   */
  reject(reasons: ReadonlyMap<string, string>, message: string): readonly Item[] {
    const pending = this.#pending;
    if (pending === null) return [];
    const reasonOf = ({ wireName, plainName }: Item): string | undefined => reasons.get(wireName) ?? reasons.get(plainName);
    const { added, gone } = pending;
    const named = [...added, ...gone].filter((item) => reasonOf(item) !== undefined);
    const suspects = named.length > 0 ? [] : this.#view.form === 'native' ? [...added, ...gone] : added;
    const refused = new Set<Item>([...named, ...suspects]);
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const item of added) if (!refused.has(item)) this.#nacked.delete(item);
    const lost = gone.filter((item) => !refused.has(item));
    for (const item of lost) this.#release(item);
    for (const item of named) this.#nacked.refuse([item], reasonOf(item) ?? message);
    if (suspects.length > 0) this.#nacked.suspect(suspects, message);
    return lost;
  }

  /**
   * Takes back the pending response, which was a complete full state and could not be sent. The peer has no part of it, and the
   * next response is the current full state. Any other response stays pending.
   */
  withdraw(): void {
    if (this.#pending?.isWhole !== true) return;
    this.close();
    this.#sent = 0;
    this.#firstWalk = true;
  }

  /** Releases every slot; the stream has ended. */
  close(): void {
    this.#pending = null;
    for (const slot of this.#heldSlots()) this.#release(slot);
  }

  /** The slots that the peer may have: a zone of few meshes has a small part of the log. */
  *#heldSlots(): Generator<Slot> {
    for (const index of this.#held.indexes()) {
      const slot = this.log.at(index);
      if (slot !== null) yield slot;
    }
  }

  #hold(slot: Slot): void {
    if (this.#held.add(slot.index)) this.log.hold(slot);
  }

  #release(item: Item): void {
    this.#nacked.delete(item);
    if (isStray(item) || !this.#held.has(item.index)) return;
    this.#held.delete(item.index);
    this.log.release(item);
  }
}
