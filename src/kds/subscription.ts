// What one peer has of one type: subscribed, acknowledged, pending (engine 3). Pure: no stream, no timer, no clock.
// Invariants: at most one response is pending; a slot's held bit is set from the moment its name is sent until the peer
// has acknowledged its removal; only an acknowledgement advances `acknowledged`.
import { HeldSet } from './held-set.ts';
import type { Encoding, Entry, Form, Withheld } from './entry.ts';
import type { Slot, TypeLog } from './type-log.ts';

/** What decides, for one peer, what it sees and how. */
export type PeerView = {
  readonly canSee: (entry: Entry) => boolean;
  readonly form: Form;
  /** Bytes of the largest resource that the peer can be sent: a larger one must not keep back the others of its type. */
  readonly largestBytes: number;
};

export type SubscriptionOptions = {
  /** Versions the peer says it has, by wire name; null where it did not say and gets the full state (decisions D29). */
  readonly known: ReadonlyMap<string, string> | null;
  /** Bytes of resources after which a response ends; what is left follows after the acknowledgement. */
  readonly chunkBytes: number;
};

/** A response to be sent: encoded resources and the names that are gone. */
export type Draft = {
  readonly entries: readonly Uint8Array[];
  readonly removed: readonly string[];
  readonly bytes: number;
  /** More of the full state follows: what is not named yet is not gone. */
  readonly isPartial: boolean;
};

/** A response that waits for its answer: what it brought, and what it took away. */
type Pending = { readonly added: readonly Slot[]; readonly gone: readonly Slot[]; readonly upTo: number };

/** A response in the making. */
class Building {
  readonly entries: Uint8Array[] = [];
  readonly removed = new Set<string>();
  readonly added: Slot[] = [];
  readonly gone: Slot[] = [];
  bytes = 0;

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.removed.size === 0;
  }

  add(slot: Slot, bytes: Uint8Array): void {
    this.entries.push(bytes);
    this.bytes += bytes.length;
    this.added.push(slot);
  }

  finish(isPartial: boolean): Draft {
    return { entries: this.entries, removed: [...this.removed], bytes: this.bytes, isPartial };
  }
}

export class Subscription {
  readonly log: TypeLog;
  readonly #view: PeerView;
  readonly #chunkBytes: number;
  readonly #full: boolean;
  readonly #held = new HeldSet();
  /** What the peer told at subscription and has not yet been met in the log. Null after the first walk. */
  #known: Map<string, string> | null;
  #sent = 0;
  #acknowledged = 0;
  #pending: Pending | null = null;
  #answered = false;
  #firstWalk = true;
  readonly #refused = new Set<Slot>();
  readonly #withheld = new Map<Slot, string>();

  constructor(log: TypeLog, view: PeerView, { known, chunkBytes }: SubscriptionOptions) {
    this.log = log;
    this.#view = view;
    this.#chunkBytes = chunkBytes;
    this.#full = known === null;
    this.#known = known === null ? null : new Map(known);
  }

  /** Position up to which the peer has confirmed everything. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** True while a response waits for its acknowledgement. */
  get isPending(): boolean {
    return this.#pending !== null;
  }

  /** True once the first state has been sent whole and settled. */
  get isSettled(): boolean {
    return !this.#firstWalk && this.#pending === null;
  }

  /** True while the peer has not all it should have. */
  get isBehind(): boolean {
    return this.#acknowledged < this.log.position || this.#refused.size > 0;
  }

  /** Resources that the peer has refused and not accepted since. */
  get refused(): number {
    return this.#refused.size;
  }

  /** Wire name → why the peer should have it and cannot take it (decisions D26). */
  get withheld(): ReadonlyMap<string, string> {
    return new Map([...this.#withheld].filter(([slot]) => slot.entry !== null).map(([slot, reason]) => [slot.wireName, reason]));
  }

  /**
   * The next response, or null when there is nothing to say. The first is due even when it is empty (kds-wire 2.3).
   * @param retryRefused send what the peer refused once more
   */
  next(retryRefused = false): Draft | null {
    if (this.#pending !== null) return null;
    const draft = new Building();
    if (retryRefused) {
      const again = [...this.#refused].filter((slot) => slot.position <= this.#sent);
      this.#refused.clear();
      for (const slot of again) this.#take(slot, draft);
    }
    const { upTo, complete } = this.#walk(draft);
    if (complete) for (const name of this.#known?.keys() ?? []) draft.removed.add(name);
    this.#sent = upTo;
    const isFullState = this.#full && this.#firstWalk;
    if (complete) {
      this.#firstWalk = false;
      this.#known = null;
    }
    if (draft.isEmpty && this.#answered && !isFullState) {
      this.#acknowledged = upTo;
      return null;
    }
    for (const slot of draft.added) this.#hold(slot);
    this.#answered = true;
    this.#pending = { added: draft.added, gone: draft.gone, upTo };
    return draft.finish(isFullState && !complete);
  }

  /** Takes what is newer than the last response, until the response is full or the log ends. */
  #walk(draft: Building): { upTo: number; complete: boolean } {
    // Kuma takes the full state in one message, and prunes after it (engine 1); other peers are told that more follows.
    const isWhole = this.#full && this.#firstWalk && this.#view.form !== 'native';
    const limit = isWhole ? Infinity : this.#chunkBytes;
    let upTo = this.#sent;
    for (const slot of this.log.since(this.#sent)) {
      if (draft.bytes >= limit) return { upTo, complete: false };
      // A name that goes and comes again needs two responses: in one it would be an update (engine 7).
      if (slot.entry !== null && draft.removed.has(this.#nameOf(slot))) return { upTo, complete: false };
      this.#refused.delete(slot);
      this.#take(slot, draft);
      upTo = slot.position;
    }
    return { upTo: this.log.position, complete: true };
  }

  #take(slot: Slot, draft: Building): void {
    const name = this.#nameOf(slot);
    const sendable = this.#encodingOf(slot);
    if (sendable === null) {
      if (!this.#held.has(slot.index)) return;
      draft.removed.add(name);
      draft.gone.push(slot);
      return;
    }
    const isKnown = this.#known?.get(name) === sendable.version;
    this.#known?.delete(name);
    if (isKnown) this.#hold(slot);
    else draft.add(slot, sendable.bytes);
  }

  /** Null where the peer must not or cannot have it. */
  #encodingOf(slot: Slot): Encoding | null {
    const { entry } = slot;
    const encoding = entry !== null && this.#view.canSee(entry) ? this.#limited(entry.in(this.#view.form)) : null;
    if (encoding !== null && 'withheld' in encoding) {
      this.#withheld.set(slot, encoding.withheld);
      return null;
    }
    this.#withheld.delete(slot);
    return encoding;
  }

  #limited(encoding: Encoding | Withheld): Encoding | Withheld {
    const { largestBytes } = this.#view;
    if ('withheld' in encoding || encoding.bytes.length <= largestBytes) return encoding;
    return { withheld: `it has ${String(encoding.bytes.length)} bytes; a message to this peer takes ${String(largestBytes)}` };
  }

  #nameOf(slot: Slot): string {
    return this.#view.form === 'legacy' ? slot.plainName : slot.wireName;
  }

  /** The peer stored the pending response. */
  acknowledge(): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.gone) this.#release(slot);
  }

  /**
   * The peer refused the pending response, or part of it. The rest counts as stored; what was refused is tried again
   * when it changes, or by `next(true)` (engine 15).
   * @param names wire names that it refused; empty where it did not say, which means any of them
   * @returns the wire names concerned
   */
  reject(names: readonly string[]): string[] {
    const pending = this.#pending;
    if (pending === null) return [];
    const said = new Set(names);
    const isRefused = (slot: Slot): boolean => said.size === 0 || said.has(slot.wireName) || said.has(slot.plainName);
    const refused = [...pending.added, ...pending.gone].filter(isRefused);
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.gone) if (!isRefused(slot)) this.#release(slot);
    for (const slot of refused) this.#refused.add(slot);
    return refused.map((slot) => slot.wireName);
  }

  /** Lets go of every slot; the stream is gone. */
  close(): void {
    this.#pending = null;
    for (const slot of [...this.log.since(0)]) if (this.#held.has(slot.index)) this.#release(slot);
  }

  #hold(slot: Slot): void {
    if (this.#held.add(slot.index)) this.log.hold(slot);
  }

  #release(slot: Slot): void {
    if (!this.#held.has(slot.index)) return;
    this.#held.delete(slot.index);
    this.#refused.delete(slot);
    this.log.release(slot);
  }
}
