// Follows one user token during a long-lived answer: the answer ends when the token is revoked, expires or loses its key
// (rest-api 5). Invariant: a token counts as valid only if it was checked after the last change that could affect it.
import type { Clock } from '../base/clock.ts';
import { LEEWAY_S } from './jwt.ts';
import type { TokenSecrets } from './token-secrets.ts';
import type { TokenVerifier } from './token-verifier.ts';

type Expiring = { readonly expiresAt: Date };

/** The limit of one sleep, because a timer is limited to less than a month. */
export const MAX_SLEEP_MS = 3_600_000;
/** The interval of retries while the store is unavailable. */
export const RETRY_MS = 2_000;

/** The verifier refuses a token from `LEEWAY_S` after its expiry on (rest-api 5). */
export function hasExpired(token: Expiring, clock: Clock): boolean {
  return leftMs(token, clock) <= 0;
}

/** The milliseconds until the expiry of the token requires a check; after the expiry, until the next retry. */
export function sleepBeforeLookMs(token: Expiring, clock: Clock): number {
  return hasExpired(token, clock) ? RETRY_MS : Math.min(MAX_SLEEP_MS, leftMs(token, clock));
}

function leftMs({ expiresAt }: Expiring, clock: Clock): number {
  return expiresAt.getTime() + LEEWAY_S * 1000 - clock.now().getTime();
}

/** An accepted token; `text` is a secret. */
export type UserToken = { readonly text: string; readonly expiresAt: Date };

type TokenGuardOptions = {
  readonly secrets: Pick<TokenSecrets, 'follow'>;
  readonly verifier: Pick<TokenVerifier, 'user'>;
  readonly clock: Clock;
};

export class TokenGuard {
  readonly #token: UserToken;
  readonly #options: TokenGuardOptions;
  readonly #signal: AbortSignal;
  readonly #ended = new AbortController();
  #round = new AbortController();
  #refusal: Promise<string | null>;

  /** Follows the token until the signal aborts. It also notices changes since the admission. */
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

  /** Aborts when the token is no longer valid. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * The reason why the token is no longer valid, as a predicate after «the user token …»; null while it is valid, and after the
   * signal has aborted.
   */
  async refusal(): Promise<string | null> {
    for (;;) {
      const asked = this.#refusal;
      const answer = await asked;
      if (asked === this.#refusal) return answer;
    }
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#signal.aborted) {
      this.#round = new AbortController();
      if ((await this.refusal()) !== null) return this.#ended.abort();
      const waking = AbortSignal.any([this.#signal, this.#round.signal]);
      await clock.sleep(sleepBeforeLookMs(this.#token, clock), waking);
      if (hasExpired(this.#token, clock)) this.#refusal = this.#check();
    }
  }

  /** While the store is unreadable, callers wait: the check continues when the store recovers. */
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
