// What has changed since the last look, merged: hints of the feed add up until they are taken, in memory bounded by the keys.
import { keyText, type ResourceKey } from '../resource/types.ts';
import type { StoreChange } from '../store/resource-store.ts';

export type Hints = {
  /** Types whose rows may all have changed. */
  readonly types: readonly string[];
  readonly keys: readonly ResourceKey[];
};

export class ChangeHints {
  readonly #known: ReadonlySet<string>;
  readonly #types = new Set<string>();
  readonly #keys = new Map<string, ResourceKey>();
  #wake: () => void = () => undefined;

  /** @param types those of interest; others are passed over */
  constructor(types: readonly string[]) {
    this.#known = new Set(types);
  }

  add(change: StoreChange): void {
    if (change.kind === 'all') for (const type of this.#known) this.#types.add(type);
    else if (change.kind === 'type' && this.#known.has(change.type)) this.#types.add(change.type);
    else if (change.kind === 'keys')
      for (const key of change.keys) if (this.#known.has(key.type)) this.#keys.set(keyText(key), key);
    if (!this.isEmpty()) this.#wake();
  }

  isEmpty(): boolean {
    return this.#types.size === 0 && this.#keys.size === 0;
  }

  /** Aborts when a hint is there; only the last signal asked for does. */
  arrival(): AbortSignal {
    const arrived = new AbortController();
    this.#wake = () => arrived.abort();
    if (!this.isEmpty()) arrived.abort();
    return arrived.signal;
  }

  /** All hints; keys of types that are re-read anyway are left out. */
  take(): Hints {
    const types = [...this.#known].filter((type) => this.#types.has(type));
    const keys = [...this.#keys.values()].filter(({ type }) => !this.#types.has(type));
    this.#types.clear();
    this.#keys.clear();
    return { types, keys };
  }
}
