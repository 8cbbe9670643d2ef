// What one peer has of one type: subscribed, acknowledged, pending (engine 3). Pure: no stream, no timer, no clock.
// Invariants: at most one response is pending; a slot's held bit is set from the moment its name is sent until the peer
// has acknowledged its removal; only an acknowledgement advances `acknowledged`.
import { HeldSet } from './held-set.ts';
import type { Entry, Slot, TypeLog } from './type-log.ts';

/** What decides, for one peer, what it sees and how. */
export type PeerView = {
  readonly canSee: (entry: Entry) => boolean;
  /** Send un-hashed names (decisions D28). */
  readonly plainNames: boolean;
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
};

type Pending = { readonly added: Slot[]; readonly removed: Slot[]; readonly upTo: number };

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

  get hasRefused(): boolean {
    return this.#refused.size > 0;
  }

  /**
   * The next response, or null when there is nothing to say. The first is due even when it is empty (kds-wire 2.3).
   * @param retryRefused send what the peer refused once more
   */
  next(retryRefused = false): Draft | null {
    if (this.#pending !== null) return null;
    const pending: Pending & { upTo: number } = { added: [], removed: [], upTo: this.#sent };
    const entries: Uint8Array[] = [];
    const removed: string[] = [];
    // The full state goes in one message: a Kuma peer prunes after the first (engine 1).
    const limit = this.#full && this.#firstWalk ? Infinity : this.#chunkBytes;
    let bytes = 0;
    let complete = true;

    const take = (slot: Slot): void => {
      if (slot.entry !== null && this.#view.canSee(slot.entry)) {
        const {
          wireName,
          version,
          bytes: encoded,
        } = this.#view.plainNames ? slot.entry.plain() : { ...slot.entry, wireName: slot.wireName };
        const has = this.#known?.get(wireName);
        this.#known?.delete(wireName);
        if (has === version) {
          this.#hold(slot);
          return;
        }
        entries.push(encoded);
        bytes += encoded.length;
        pending.added.push(slot);
      } else if (this.#held.has(slot.index)) {
        removed.push(this.#view.plainNames ? slot.plainName : slot.wireName);
        pending.removed.push(slot);
      }
    };

    if (retryRefused) {
      for (const slot of this.#refused) if (slot.position <= this.#sent) take(slot);
      this.#refused.clear();
    }
    for (const slot of this.log.since(this.#sent)) {
      if (bytes >= limit) {
        complete = false;
        break;
      }
      this.#refused.delete(slot);
      take(slot);
      pending.upTo = slot.position;
    }
    if (complete) {
      pending.upTo = this.log.position;
      if (this.#known !== null) removed.push(...this.#known.keys());
    }
    if (entries.length === 0 && removed.length === 0 && this.#answered) {
      this.#sent = pending.upTo;
      if (complete) this.#endFirstWalk();
      this.#acknowledged = this.#sent;
      return null;
    }
    for (const slot of pending.added) this.#hold(slot);
    if (complete) this.#endFirstWalk();
    this.#sent = pending.upTo;
    this.#answered = true;
    this.#pending = pending;
    return { entries, removed, bytes };
  }

  /** The peer stored the pending response. */
  acknowledge(): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.removed) this.#release(slot);
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
    const refused = [...pending.added, ...pending.removed].filter(isRefused);
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.removed) if (!isRefused(slot)) this.#release(slot);
    for (const slot of refused) this.#refused.add(slot);
    return refused.map((slot) => slot.wireName);
  }

  /** Lets go of every slot; the stream is gone. */
  close(): void {
    this.#pending = null;
    for (const slot of [...this.log.since(0)]) if (this.#held.has(slot.index)) this.#release(slot);
  }

  #endFirstWalk(): void {
    this.#firstWalk = false;
    this.#known = null;
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
