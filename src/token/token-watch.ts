// Watches the tokens of open streams: when one is revoked, expires or loses its key, its streams are notified and can be closed
// (D31). Invariant: every change after the admission of a token is noticed, even between the check and `watch`.
import type { Clock } from '../base/clock.ts';
import { hasExpired, MAX_SLEEP_MS, RETRY_MS, sleepBeforeLookMs } from './token-guard.ts';
import type { Refused } from './jwt.ts';
import type { TokenKind } from './token-realm.ts';
import type { TokenSecrets } from './token-secrets.ts';

/** A token with which a peer came in; `text` is a secret. */
type WatchedToken = { readonly text: string; readonly expiresAt: Date };

type End = (reason: string) => void;
/** @property ends the ends of the streams, each with the token as that stream showed it: the reason names its peer */
type Watched<T> = { readonly token: T; readonly ends: Map<End, T>; isChecked: boolean };

export type TokenWatchOptions<T extends WatchedToken> = {
  readonly kind: TokenKind;
  readonly secrets: Pick<TokenSecrets, 'follow'>;
  /** Checks a token. Rejects while the store cannot be read. */
  readonly check: (token: T) => Promise<{ readonly ok: true } | Refused>;
  /** Explains to people why the token no longer counts. @param reason a predicate after «the token …» */
  readonly explain: (token: T, reason: string) => string;
  readonly clock: Clock;
};

export class TokenWatch<T extends WatchedToken> {
  readonly #options: TokenWatchOptions<T>;
  /** The watched tokens by their text: the streams of a peer share one. */
  readonly #watched = new Map<string, Watched<T>>();
  #round = new AbortController();

  constructor(options: TokenWatchOptions<T>) {
    this.#options = options;
  }

  /**
   * Calls `end` once, with a reason for people, when the token is no longer valid; `end` must not throw. Returns a function that ends
   * the watch: call it when the stream closes.
   */
  watch(token: T, end: End): () => void {
    const watched: Watched<T> = this.#watched.get(token.text) ?? { token, ends: new Map(), isChecked: false };
    const own: End = (reason) => end(reason);
    watched.ends.set(own, token);
    this.#watched.set(token.text, watched);
    this.#round.abort();
    return () => {
      watched.ends.delete(own);
      if (watched.ends.size === 0 && this.#watched.get(token.text) === watched) this.#watched.delete(token.text);
    };
  }

  /** The tokens of open streams, each once. */
  *tokens(): Generator<T> {
    for (const { token } of this.#watched.values()) yield token;
  }

  /** Follows changes and the clock until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const recheck = (): void => {
      for (const watched of this.#watched.values()) watched.isChecked = false;
      this.#round.abort();
    };
    const unfollow = this.#options.secrets.follow(this.#options.kind, recheck);
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

  /** Returns false if the store is unavailable: that ends no stream. */
  async #check(watched: Watched<T>): Promise<boolean> {
    // Set this before the answer arrives, so that a change meanwhile is not lost.
    watched.isChecked = true;
    const { token, ends } = watched;
    const outcome = await this.#options.check(token).catch(() => null);
    if (outcome === null) watched.isChecked = false;
    if (outcome === null || outcome.ok) return outcome !== null;
    // Its streams may have closed during the check, and a later one watches the same text by itself.
    if (this.#watched.get(token.text) === watched) this.#watched.delete(token.text);
    for (const [end, shown] of [...ends]) end(this.#options.explain(shown, outcome.reason));
    return true;
  }
}
