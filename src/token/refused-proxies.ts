// The proxies that were not let in lately, for people who ask what is wrong. Invariant: callers without a good token fill a bounded list of
// their own, and push out no proxy whose token is good.
import type { Clock } from '../base/clock.ts';
import type { ProxyAuthentication, ProxyAuthenticator } from './proxy-authenticator.ts';

export type RefusedProxy = {
  readonly mesh: string;
  /** The name as the proxy gave it. */
  readonly name: string;
  readonly reason: string;
  /** It is true when its token is good, and for something else. */
  readonly isKnown: boolean;
  readonly count: number;
  readonly since: Date;
};

type Kept = RefusedProxy & { readonly last: number };
type Named = { readonly mesh: string; readonly name: string };

/** The number of proxies in a list. */
const MAX_PROXIES = 100;
/** A refused Envoy tries again within 30 s. */
const KEEP_MS = 120_000;
const MAX_REASON = 1_000;
const MAX_NAME = 253;

export class RefusedProxies {
  readonly #clock: Clock;
  readonly #lists = { known: new Map<string, Kept>(), unknown: new Map<string, Kept>() };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes a refusal. @param isKnown whether the token is good: its holder is one that an administrator made a token for */
  refused({ mesh, name }: Named, reason: string, isKnown: boolean): void {
    // No proxy has a longer name.
    if (mesh.length > MAX_NAME || name.length > MAX_NAME) return;
    const key = JSON.stringify([mesh, name]);
    const list = isKnown ? this.#lists.known : this.#lists.unknown;
    const before = list.get(key);
    const [now, last] = [this.#clock.now(), this.#clock.elapsed()];
    const since =
      before === undefined || this.#isOld(before) ? { since: now, count: 1 } : { since: before.since, count: before.count + 1 };
    list.delete(key);
    list.set(key, { mesh, name, reason: reason.slice(0, MAX_REASON), isKnown, last, ...since });
    for (const first of list.keys()) {
      if (list.size <= MAX_PROXIES) break;
      list.delete(first);
    }
  }

  admitted({ mesh, name }: Named): void {
    const key = JSON.stringify([mesh, name]);
    for (const list of Object.values(this.#lists)) list.delete(key);
  }

  /** The proxies that were refused in the last two minutes. */
  list(): RefusedProxy[] {
    for (const list of Object.values(this.#lists)) for (const [key, one] of list) if (this.#isOld(one)) list.delete(key);
    return [...this.#lists.known.values(), ...this.#lists.unknown.values()];
  }

  #isOld({ last }: Kept): boolean {
    return this.#clock.elapsed() - last >= KEEP_MS;
  }
}

type Authenticator = Pick<ProxyAuthenticator, 'authenticate' | 'identify'>;

/** An authenticator for launchers, whose refusals are kept: without a bootstrap there is no stream. */
export function notingRefusals(of: Authenticator, refused: Pick<RefusedProxies, 'refused'>): Authenticator {
  const noted = (proxy: Named, outcome: ProxyAuthentication): ProxyAuthentication => {
    if (!outcome.ok) refused.refused(proxy, outcome.reason, outcome.code === 'forbidden');
    return outcome;
  };
  return {
    identify: async (authorization, dataplane) => noted(dataplane, await of.identify(authorization, dataplane)),
    authenticate: async (authorization, dataplane) => noted(dataplane, await of.authenticate(authorization, dataplane)),
  };
}
