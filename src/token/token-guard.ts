// Follows one user token for as long as an answer goes on: what was revoked, has expired or lost its key ends the answer
// (rest-api 5). Invariant: nothing is said to count that was not checked after the last change that could concern it.
import type { Clock } from '../base/clock.ts';
import { LEEWAY_S } from './jwt.ts';
import type { TokenSecrets } from './token-secrets.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** A token that was let in; `text` is a secret. */
export type UserToken = { readonly text: string; readonly expiresAt: Date };

export type TokenGuardOptions = {
  readonly secrets: Pick<TokenSecrets, 'follow'>;
  readonly verifier: Pick<TokenVerifier, 'user'>;
  readonly clock: Clock;
};

/** Sleeps are cut in pieces, because a timer holds less than a month. */
const LONGEST_SLEEP_MS = 3_600_000;
/** While the store cannot be read it is asked again; meanwhile nobody is told anything. */
const RETRY_MS = 2_000;

export class TokenGuard {
  readonly #token: UserToken;
  readonly #options: TokenGuardOptions;
  readonly #signal: AbortSignal;
  readonly #ended = new AbortController();
  #round = new AbortController();
  #refusal: Promise<string | null>;

  /** Follows the token until the signal aborts. What happened since it was let in is noticed too. */
  constructor(token: UserToken, options: TokenGuardOptions, signal: AbortSignal) {
    this.#token = token;
    this.#options = options;
    this.#signal = signal;
    const unfollow = options.secrets.follow('user', () => {
      this.#refusal = this.#check();
      this.#round.abort();
    });
    this.#refusal = this.#check();
    void this.#run().finally(unfollow);
  }

  /** Aborts when the token no longer counts. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Why the token no longer counts, as what follows «the user token …»; null while it does, and once the signal has aborted. */
  async refusal(): Promise<string | null> {
    for (;;) {
      const asked = this.#refusal;
      const answer = await asked;
      if (asked === this.#refusal) return answer;
    }
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#round = new AbortController();
      if ((await this.refusal()) !== null) return this.#ended.abort();
      const waking = AbortSignal.any([this.#signal, this.#round.signal]);
      await this.#options.clock.sleep(Math.min(LONGEST_SLEEP_MS, Math.max(this.#leftMs(), RETRY_MS)), waking);
      if (this.#leftMs() <= 0) this.#refusal = this.#check();
    }
  }

  #leftMs(): number {
    return this.#token.expiresAt.getTime() + LEEWAY_S * 1000 - this.#options.clock.now().getTime();
  }

  async #check(): Promise<string | null> {
    const { verifier, clock } = this.#options;
    while (!this.#signal.aborted) {
      const outcome = await verifier.user(this.#token.text).catch(() => null);
      if (outcome !== null) return outcome.ok ? null : outcome.reason;
      await clock.sleep(RETRY_MS, this.#signal);
    }
    return null;
  }
}
