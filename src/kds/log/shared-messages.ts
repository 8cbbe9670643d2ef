// Encodes equal responses of several peers once: zones that join together get the same first state, and a change goes to all.
// Invariants: shared messages are equal in every byte. The cache is bounded, and drops messages that no stream requests.
import type { Clock } from '../../base/clock.ts';
import { encodeDeltaResponse, type DeltaResponseParts } from '../../wire/kds-messages.ts';

/**
 * The limit of all messages together, in bytes. A message that does not fit is not cached. Evicting others for it would fail for
 * a state that is larger than the cache: every message would leave before its next use, and garbage collection of old buffers is
 * expensive.
 */
const MAX_BYTES = 24 * 1024 * 1024;
/**
 * Smaller messages are parts of slabs and would keep them alive: 24 MiB of cached messages of 1 kB held 690 MB. Only the last small
 * message is cached, because a change is sent to all peers one after the other.
 */
const MIN_BYTES = Buffer.poolSize / 2;
/** The interval of checks for unused messages. Peers in the same state request a message at nearly the same time. */
const LOOK_MS = 1_000;
/** The number of checks after which all messages are dropped, even requested ones: they are outdated by then. */
const MAX_LOOKS = 60;

type CachedMessage = { readonly parts: DeltaResponseParts; readonly message: Buffer };

export class SharedMessages {
  readonly #cached = new Map<string, CachedMessage>();
  #last: CachedMessage | null = null;
  #bytes = 0;
  #looks = 0;
  #isAsked = false;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Encodes as `encodeDeltaResponse` does. Callers must not change the message. */
  encode(parts: DeltaResponseParts): Buffer {
    if (this.#last !== null && isSame(this.#last.parts, parts)) return this.#last.message;
    const key = `${parts.typeUrl} ${parts.nonce} ${String(parts.entries.length)}`;
    const known = this.#cached.get(key);
    if (known !== undefined && isSame(known.parts, parts)) {
      this.#isAsked = true;
      return known.message;
    }
    const message = encodeDeltaResponse(parts);
    if (message.length < MIN_BYTES) this.#last = { parts, message };
    else if (known === undefined && this.#bytes + message.length <= MAX_BYTES) this.#add(key, { parts, message });
    return message;
  }

  #add(key: string, cached: CachedMessage): void {
    if (this.#cached.size === 0) this.#lookLater();
    this.#cached.set(key, cached);
    this.#bytes += cached.message.length;
  }

  #lookLater(): void {
    this.#clock.after(LOOK_MS, () => this.#look());
  }

  #look(): void {
    this.#looks += 1;
    if (this.#isAsked && this.#looks < MAX_LOOKS) this.#lookLater();
    else {
      this.#cached.clear();
      this.#bytes = 0;
      this.#looks = 0;
    }
    this.#isAsked = false;
  }
}

/** Entries are compared by identity: each is encoded once for all peers. */
function isSame(one: DeltaResponseParts, other: DeltaResponseParts): boolean {
  return (
    one.typeUrl === other.typeUrl &&
    one.nonce === other.nonce &&
    one.controlPlane === other.controlPlane &&
    one.isPartial === other.isPartial &&
    one.isWithdrawal === other.isWithdrawal &&
    areSame(one.heldMeshes ?? [], other.heldMeshes ?? []) &&
    areSame(one.entries, other.entries) &&
    areSame(one.removed, other.removed)
  );
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}
