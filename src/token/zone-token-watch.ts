// Watches the tokens of open streams: when one is revoked, expires or loses its key, its streams are notified and can be closed
// (D31). Invariant: every change after the admission of a token is noticed, even between the check and `watch`.
import type { Clock } from '../base/clock.ts';
import { hasExpired, MAX_SLEEP_MS, RETRY_MS, sleepBeforeLookMs } from './token-guard.ts';
import type { TokenSecrets } from './token-secrets.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { tokenRefusal, type ZoneToken } from './zone-authenticator.ts';

type End = (reason: string) => void;
type Watched = { readonly token: ZoneToken; readonly ends: Set<End>; isChecked: boolean };

export type ZoneTokenWatchOptions = {
  readonly secrets: Pick<TokenSecrets, 'follow'>;
  readonly verifier: Pick<TokenVerifier, 'zone'>;
  readonly clock: Clock;
};

export class ZoneTokenWatch {
  readonly #options: ZoneTokenWatchOptions;
  /** By the text of the token: the streams of a zone share one. */
  readonly #watched = new Map<string, Watched>();
  #round = new AbortController();

  constructor(options: ZoneTokenWatchOptions) {
    this.#options = options;
  }

  /**
   * Calls `end` once, with a reason for people, when the token is no longer valid; `end` must not throw. Returns a function that ends
   * the watch: call it when the stream closes.
   */
  watch(token: ZoneToken, end: End): () => void {
    const watched = this.#watched.get(token.text) ?? { token, ends: new Set(), isChecked: false };
    const own: End = (reason) => end(reason);
    watched.ends.add(own);
    this.#watched.set(token.text, watched);
    this.#round.abort();
    return () => {
      watched.ends.delete(own);
      if (watched.ends.size === 0 && this.#watched.get(token.text) === watched) this.#watched.delete(token.text);
    };
  }

  /** When the tokens of the zones with open streams here expire; the earliest of each zone. */
  expiries(): ReadonlyMap<string, Date> {
    const found = new Map<string, Date>();
    for (const { token } of this.#watched.values()) {
      const known = found.get(token.zone);
      if (known === undefined || token.expiresAt < known) found.set(token.zone, token.expiresAt);
    }
    return found;
  }

  /** Follows changes and the clock until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const recheck = (): void => {
      for (const watched of this.#watched.values()) watched.isChecked = false;
      this.#round.abort();
    };
    const unfollow = this.#options.secrets.follow('zone', recheck);
    recheck();
    try {
      while (!signal.aborted) {
        this.#round = new AbortController();
        const sleepMs = await this.#checkAll(signal);
        await this.#options.clock.sleep(sleepMs, AbortSignal.any([signal, this.#round.signal]));
      }
    } finally {
      unfollow();
    }
  }

  /** Checks the tokens that are due; returns the time until the next one is due. */
  async #checkAll(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    let sleepMs = MAX_SLEEP_MS;
    for (const watched of [...this.#watched.values()]) {
      if (signal.aborted) break;
      const { token, isChecked } = watched;
      const isSettled = (isChecked && !hasExpired(token, clock)) || (await this.#check(watched));
      sleepMs = Math.min(sleepMs, isSettled ? sleepBeforeLookMs(token, clock) : RETRY_MS);
    }
    return sleepMs;
  }

  /** False if the store is unavailable: that ends no stream. */
  async #check(watched: Watched): Promise<boolean> {
    // Set this before the answer arrives, so that a change meanwhile is not lost.
    watched.isChecked = true;
    const { token, ends } = watched;
    const outcome = await this.#options.verifier.zone(token.text).catch(() => null);
    if (outcome === null) watched.isChecked = false;
    if (outcome === null || outcome.ok) return outcome !== null;
    this.#watched.delete(token.text);
    const reason = tokenRefusal(token.zone, outcome.reason);
    for (const end of [...ends]) end(reason);
    return true;
  }
}
