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
  /** Bytes of resources and names that a message can hold: a larger resource must not keep back the others of its type. */
  readonly largestBytes: number;
};

export type SubscriptionOptions = {
  /** Versions the peer says it has, by wire name; null where it did not say and gets the full state (decisions D29). */
  readonly known: ReadonlyMap<string, string> | null;
  /** Bytes of resources and names after which a response ends; what is left follows after the acknowledgement. */
  readonly chunkBytes: () => number;
};

/** A response to be sent: encoded resources and the names that are gone. */
export type Draft = {
  readonly entries: readonly Uint8Array[];
  readonly removed: readonly string[];
  /** Of resources and names. */
  readonly bytes: number;
  /** More of the full state follows: what is not named yet is not gone. */
  readonly isPartial: boolean;
  /** Position of the log that the peer has reached when it has taken this. */
  readonly upTo: number;
};

/** A response that waits for its answer: what it brought, and what it took away. */
type Pending = {
  readonly added: readonly Slot[];
  readonly gone: readonly Slot[];
  readonly upTo: number;
  /** The full state in one message. */
  readonly isWhole: boolean;
};

/** Bytes of tag and length beside a removed name. */
const NAME_BYTES = 5;

/** A response in the making. What finds no room in it is not taken; the first thing always is. */
class Building {
  readonly entries: Uint8Array[] = [];
  readonly removed = new Set<string>();
  readonly added: Slot[] = [];
  readonly gone: Slot[] = [];
  bytes = 0;
  readonly #fullBytes: number;
  readonly #mostBytes: number;

  /** Ends after `fullBytes`, and never holds more than `mostBytes`. */
  constructor(fullBytes: number, mostBytes: number) {
    this.#fullBytes = fullBytes;
    this.#mostBytes = mostBytes;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.removed.size === 0;
  }

  add(slot: Slot, bytes: Uint8Array): boolean {
    if (!this.#reserve(bytes.length)) return false;
    this.entries.push(bytes);
    this.added.push(slot);
    return true;
  }

  remove(name: string, slot?: Slot): boolean {
    if (!this.removed.has(name) && !this.#reserve(Buffer.byteLength(name) + NAME_BYTES)) return false;
    this.removed.add(name);
    if (slot !== undefined) this.gone.push(slot);
    return true;
  }

  finish(upTo: number, isPartial: boolean): Draft {
    return { entries: this.entries, removed: [...this.removed], bytes: this.bytes, isPartial, upTo };
  }

  #reserve(bytes: number): boolean {
    if (!this.isEmpty && (this.bytes >= this.#fullBytes || this.bytes + bytes > this.#mostBytes)) return false;
    this.bytes += bytes;
    return true;
  }
}

export class Subscription {
  readonly log: TypeLog;
  readonly #view: PeerView;
  readonly #chunkBytes: () => number;
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
  /** Those of the refused that are due once more. */
  #retry = new Set<Slot>();
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
    return new Map([...this.#withheld].map(([slot, reason]) => [slot.wireName, reason]));
  }

  /** What the peer refused is sent once more, as soon as no response is without its answer. */
  retry(): void {
    this.#retry = new Set(this.#refused);
  }

  /** The next response, or null when there is nothing to say. The first is due even when it is empty (kds-wire 2.3). */
  next(): Draft | null {
    if (this.#pending !== null) return null;
    for (const slot of this.#withheld.keys()) if (slot.entry === null) this.#withheld.delete(slot);
    const isFullState = this.#full && this.#firstWalk;
    // Kuma takes the full state in one message, and prunes after it (engine 1); other peers are told that more follows.
    const isWhole = isFullState && this.#view.form !== 'native';
    const draft = isWhole ? new Building(Infinity, Infinity) : new Building(this.#chunkBytes(), this.#view.largestBytes);
    const complete = this.#takeRefused(draft) && this.#walk(draft) && this.#takeUnmet(draft);
    if (complete) {
      this.#firstWalk = false;
      this.#known = null;
    }
    const upTo = this.#sent;
    if (draft.isEmpty && this.#answered && !isFullState) {
      this.#acknowledged = upTo;
      return null;
    }
    for (const slot of draft.added) this.#hold(slot);
    this.#answered = true;
    this.#pending = { added: draft.added, gone: draft.gone, upTo, isWhole };
    return draft.finish(upTo, isFullState && !complete);
  }

  /** What is to be tried again. @returns false where the response is full before the end, as the two below */
  #takeRefused(draft: Building): boolean {
    if (this.#retry.size === 0) return true;
    const filled = this.#filledNames();
    for (const slot of this.#retry) {
      // What changed since is met in the log.
      const isDue = this.#refused.has(slot) && slot.position <= this.#sent;
      // Another slot has filled the name: to take it away now would take that one's.
      if (isDue && slot.entry === null && filled.has(this.#nameOf(slot))) this.#release(slot);
      else if (isDue && !this.#take(slot, draft)) return false;
      if (isDue) this.#refused.delete(slot);
      this.#retry.delete(slot);
    }
    return true;
  }

  /** The names of what the peer was sent and is still there, if one to be taken away is tried again. */
  #filledNames(): Set<string> {
    const names = new Set<string>();
    if (![...this.#retry].some(({ entry }) => entry === null)) return names;
    for (const slot of this.log.since(0)) if (slot.entry !== null && this.#held.has(slot.index)) names.add(this.#nameOf(slot));
    return names;
  }

  /** What is newer than the last response. */
  #walk(draft: Building): boolean {
    for (const slot of this.log.since(this.#sent)) {
      if (!this.#take(slot, draft)) return false;
      this.#refused.delete(slot);
      this.#sent = slot.position;
    }
    this.#sent = this.log.position;
    return true;
  }

  /** What the peer has and the log has not. */
  #takeUnmet(draft: Building): boolean {
    for (const name of this.#known?.keys() ?? []) {
      if (!draft.remove(name)) return false;
      this.#known?.delete(name);
    }
    return true;
  }

  /** @returns false where it has to wait for another response */
  #take(slot: Slot, draft: Building): boolean {
    const name = this.#nameOf(slot);
    // A name that goes and comes again needs two responses: in one it would be an update (engine 7).
    if (draft.removed.size > 0 && slot.entry !== null && draft.removed.has(name)) return false;
    const sendable = this.#encodingOf(slot);
    if (sendable === null) return !this.#held.has(slot.index) || draft.remove(name, slot);
    if (this.#known?.get(name) === sendable.version) this.#hold(slot);
    else if (!draft.add(slot, sendable.bytes)) return false;
    this.#known?.delete(name);
    return true;
  }

  /** Null where the peer must not or cannot have it. */
  #encodingOf(slot: Slot): Encoding | null {
    const { entry } = slot;
    const encoding = entry !== null && this.#view.canSee(entry) ? this.#limited(entry.in(this.#view.form)) : null;
    if (encoding !== null && 'withheld' in encoding) {
      this.#withheld.set(slot, encoding.withheld);
      return null;
    }
    if (this.#withheld.size > 0) this.#withheld.delete(slot);
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
   * The peer refused the pending response, or part of it. The rest counts as stored; what was refused is sent again when it
   * changes, or after `retry` (engine 15).
   * @param names wire names that it refused; empty where it did not say: any of what it was to store, as a Kuma peer refuses
   *   no removal (kds-wire 6.2)
   * @returns the wire names concerned
   */
  reject(names: readonly string[]): string[] {
    const pending = this.#pending;
    if (pending === null) return [];
    const said = new Set(names);
    const isNamed = ({ wireName, plainName }: Slot): boolean => said.has(wireName) || said.has(plainName);
    const refused = said.size === 0 ? pending.added : [...pending.added, ...pending.gone].filter(isNamed);
    this.#pending = null;
    this.#acknowledged = pending.upTo;
    for (const slot of pending.gone) if (!isNamed(slot)) this.#release(slot);
    for (const slot of refused) this.#refused.add(slot);
    return refused.map((slot) => slot.wireName);
  }

  /**
   * The pending response was a whole full state and could not be sent: the peer has nothing of it, and the next response is
   * the full state as it is then. Any other response stays pending.
   */
  withdraw(): void {
    if (this.#pending?.isWhole !== true) return;
    this.close();
    this.#sent = 0;
    this.#firstWalk = true;
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
