// Responses that peers in the same state get alike are encoded once: zones that join together are sent the same first state, and a
// change goes to all. Invariants: what is shared is equal in every part; what is kept is bounded, and given up when nobody asks.
import { encodeDeltaResponse, type DeltaResponseParts } from '../wire/kds-messages.ts';

/** Bytes of all messages together; the newest is kept even if it is larger. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Peers that are in the same state ask within moments of each other. */
const KEEP_MS = 1_000;

type Kept = { readonly parts: DeltaResponseParts; readonly message: Buffer };

export class SharedMessages {
  /** In the order in which they were made. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #isTimed = false;

  /** As `encodeDeltaResponse`; who gets the message must not write to it. */
  encode(parts: DeltaResponseParts): Buffer {
    const key = `${parts.typeUrl} ${parts.nonce} ${String(parts.entries.length)}`;
    const known = this.#kept.get(key);
    if (known !== undefined && isSame(known.parts, parts)) return known.message;
    const message = encodeDeltaResponse(parts);
    this.#forget(key);
    this.#kept.set(key, { parts, message });
    this.#bytes += message.length;
    this.#forgetOldest();
    return message;
  }

  #forgetOldest(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MOST_BYTES || this.#kept.size === 1) break;
      this.#forget(oldest);
    }
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#forgetAll(), KEEP_MS).unref();
  }

  #forgetAll(): void {
    this.#isTimed = false;
    this.#kept.clear();
    this.#bytes = 0;
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.message.length ?? 0;
    this.#kept.delete(key);
  }
}

/** Entries are compared by identity: each is encoded once for all peers. */
function isSame(one: DeltaResponseParts, other: DeltaResponseParts): boolean {
  return (
    one.typeUrl === other.typeUrl &&
    one.nonce === other.nonce &&
    one.controlPlane === other.controlPlane &&
    one.isPartial === other.isPartial &&
    areSame(one.entries, other.entries) &&
    areSame(one.removed, other.removed)
  );
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}
