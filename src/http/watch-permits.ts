// Limits the open watches of each caller, and other lasting answers. Invariants: one anonymous address never takes more than its share. Anonymous callers
// together never use the permits that are reserved for known callers. The number of stored addresses never exceeds the number of
// open watches.

/** The limit of all callers. */
export const MAX_WATCHES = 256;
/** The limit of all anonymous callers. The rest is for users with a token and for local callers. */
export const MAX_ANONYMOUS = 192;
/** The limit of one anonymous address. */
export const MAX_PER_ADDRESS = 32;

export type Watcher = { readonly address: string; readonly isAnonymous: boolean };

export class WatchPermits {
  readonly #noun: string;
  readonly #byAddress = new Map<string, number>();
  #open = 0;
  #anonymous = 0;

  /** @param noun names the permitted things, in the plural */
  constructor(noun = 'watches') {
    this.#noun = noun;
  }

  /** @returns an idempotent function that releases the permit, or the reason for a refusal */
  take({ address, isAnonymous }: Watcher): { readonly release: () => void } | { readonly refusal: string } {
    const ofAddress = this.#byAddress.get(address) ?? 0;
    if (this.#open >= MAX_WATCHES) return { refusal: `${String(MAX_WATCHES)} ${this.#noun} are open` };
    if (isAnonymous && ofAddress >= MAX_PER_ADDRESS)
      return { refusal: `this address has ${String(MAX_PER_ADDRESS)} ${this.#noun} open without a token` };
    if (isAnonymous && this.#anonymous >= MAX_ANONYMOUS)
      return { refusal: `${String(MAX_ANONYMOUS)} ${this.#noun} are open without a token` };
    this.#count(address, isAnonymous, 1);
    let isHeld = true;
    return {
      release: () => {
        if (isHeld) this.#count(address, isAnonymous, -1);
        isHeld = false;
      },
    };
  }

  #count(address: string, isAnonymous: boolean, step: 1 | -1): void {
    this.#open += step;
    if (!isAnonymous) return;
    this.#anonymous += step;
    const ofAddress = (this.#byAddress.get(address) ?? 0) + step;
    if (ofAddress === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, ofAddress);
  }
}
