// Issues the certificates of connected proxies, one after the other, and renews them before they expire. They are only in memory.
// Invariants: a proxy has at most one waiting order; the old certificate stays until the new one is issued. That of a connected proxy is
// never forgotten, those of the others may be.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { DatedTasks } from '../base/dated-tasks.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { authoritySecrets } from '../identity/identity-spec.ts';
import { isValidAt, renewalOf, resigningOf, type AuthorityPem, type Leaf } from '../identity/leaf.ts';
import { secretText } from '../resource/secret-data.ts';
import { keyText } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/** What a proxy needs a certificate for. */
export type CertificateOrder = {
  readonly mesh: string;
  /** Stored name of the MeshIdentity. */
  readonly identity: string;
  readonly spiffeId: string;
  /** Id of the authority that should sign; `''`: the one that is stored. */
  readonly authority: string;
  readonly lifetimeMs: number;
};

/** A proxy, by mesh and stored name of its Dataplane. */
export type ProxyName = { readonly mesh: string; readonly name: string };

/** Where the views of proxies get certificates. */
export type CertificateSource = {
  /** The certificate of a proxy; null while it is being issued. `issued` reports it. */
  readonly get: (proxy: ProxyName, order: CertificateOrder) => Leaf | null;
  /** The proxy needs no more certificates. */
  readonly release: (proxy: ProxyName) => void;
};

type ProxyCertificatesOptions = {
  readonly store: Pick<ResourceStore, 'getMany'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** A proxy has a new certificate. */
  readonly issued: (proxy: ProxyName) => void;
  /** From 0 to 1. */
  readonly random?: () => number;
};

/** Proxies that have left and whose certificates are kept: one that comes back soon needs no other. */
const MAX_RELEASED = 20_000;
/** Milliseconds until a failed order is tried again. */
const RETRY_MS = 5_000;
/** The least milliseconds from now until a renewal. Near the end of its authority a certificate lives for less than the shortest `expiry`. */
const MIN_RENEWAL_MS = 500;

type Held = {
  readonly proxy: ProxyName;
  order: CertificateOrder;
  leaf: Leaf | null;
  isWanted: boolean;
  /** The authority for which its certificate will be renewed early; `''` for none. */
  resignedBy: string;
  cancel: () => void;
};

export class ProxyCertificates implements CertificateSource {
  readonly #options: ProxyCertificatesOptions;
  /** Of connected proxies. */
  readonly #held = new Map<string, Held>();
  readonly #released = new LRUCache<string, Held>({ max: MAX_RELEASED });
  readonly #waiting = new Set<Held>();
  /** Taken from `#waiting`, and not issued yet. */
  readonly #inWork = new Set<Held>();
  readonly #listeners = new Map<Held, (() => void)[]>();
  /** A certificate ends at a date. */
  readonly #renewals: DatedTasks;
  #isIssuing = false;

  constructor(options: ProxyCertificatesOptions) {
    this.#options = options;
    this.#renewals = new DatedTasks(options.clock, () => this.#renewInvalid());
  }

  get(proxy: ProxyName, order: CertificateOrder): Leaf | null {
    const held = this.#entry(proxy, order);
    const isBack = !held.isWanted;
    held.isWanted = true;
    if (!sameOrder(held.order, order)) {
      held.order = order;
      held.leaf = null;
    }
    const { leaf } = held;
    const now = this.#options.clock.now();
    if (leaf !== null && leaf.notAfter > now) {
      if (isBack && isValidAt(leaf, now)) this.#planRenewal(held, leaf);
      // The date was set back. Which date is right is not known: the old one stays until another is issued.
      else if (isBack) this.#order(held);
      if (order.authority !== '' && order.authority !== leaf.authority) this.#resign(held, leaf, order.authority);
      return leaf;
    }
    this.#order(held);
    return null;
  }

  release({ mesh, name }: ProxyName): void {
    const key = JSON.stringify([mesh, name]);
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.isWanted = false;
    this.#held.delete(key);
    this.#released.set(key, held);
    held.cancel();
    this.#waiting.delete(held);
    this.#settle(held);
  }

  /** Resolves when the proxy has a certificate, or when issuing it has failed. */
  async ready(proxy: ProxyName, order: CertificateOrder): Promise<void> {
    if (this.get(proxy, order) !== null) return;
    const held = this.#entry(proxy, order);
    await new Promise<void>((resolve) => this.#listeners.set(held, [...(this.#listeners.get(held) ?? []), resolve]));
  }

  #entry(proxy: ProxyName, order: CertificateOrder): Held {
    const { mesh, name } = proxy;
    const key = JSON.stringify([mesh, name]);
    const known = this.#held.get(key);
    if (known !== undefined) return known;
    const held = this.#released.get(key) ?? {
      ...{ proxy: { mesh, name }, order, leaf: null, isWanted: true },
      ...{ resignedBy: '', cancel: () => undefined },
    };
    this.#released.delete(key);
    this.#held.set(key, held);
    return held;
  }

  #order(held: Held): void {
    if (!this.#inWork.has(held)) this.#waiting.add(held);
    if (!this.#isIssuing) void this.#issueAll();
  }

  async #issueAll(): Promise<void> {
    this.#isIssuing = true;
    // Orders of one turn read their authority once.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting];
      this.#waiting.clear();
      for (const held of batch) this.#inWork.add(held);
      for (const group of Map.groupBy(batch, ({ order }) => JSON.stringify([order.mesh, order.identity])).values())
        await this.#issueGroup(group);
    }
    this.#isIssuing = false;
  }

  /** Issues the certificates of one MeshIdentity. */
  async #issueGroup(group: readonly Held[]): Promise<void> {
    const { clock, log } = this.#options;
    const [first] = group;
    if (first === undefined) return;
    const { mesh, identity } = first.order;
    try {
      const { issueLeaf, readAuthority } = await import('../identity/authority.ts');
      const authority = await readAuthority(await this.#authority(mesh, identity));
      for (const held of group) {
        const { order } = held;
        if (!held.isWanted) {
          this.#inWork.delete(held);
          continue;
        }
        const leaf = await issueLeaf(authority, order.spiffeId, { now: clock.now(), lifetimeMs: order.lifetimeMs });
        this.#inWork.delete(held);
        // The proxy has got another identity meanwhile.
        if (held.order === order) this.#take(held, leaf);
        else this.#order(held);
      }
    } catch (error) {
      log.warn(
        { mesh, identity, reason: messageOf(error), proxies: group.length },
        'certificates could not be issued; retry in 5 s',
      );
      for (const held of group) {
        if (!this.#inWork.delete(held)) continue;
        held.cancel();
        if (held.isWanted) held.cancel = clock.after(RETRY_MS, () => this.#renew(held));
        this.#settle(held);
      }
    }
  }

  async #authority(mesh: string, identity: string): Promise<AuthorityPem> {
    const keys = authoritySecrets(mesh, identity);
    const rows = await this.#options.store.getMany([keys.certificate, keys.key]);
    const pemOf = (key: typeof keys.key): string => {
      const row = rows.find((found) => keyText(found) === keyText(key));
      if (row === undefined) throw new MeridianError('invalid', `Secret ${key.name} of mesh ${mesh} is missing`);
      return secretText(row);
    };
    return { certPem: pemOf(keys.certificate), keyPem: pemOf(keys.key) };
  }

  #take(held: Held, leaf: Leaf): void {
    held.leaf = leaf;
    if (held.isWanted) this.#planRenewal(held, leaf);
    this.#settle(held);
    this.#options.issued(held.proxy);
  }

  #planRenewal(held: Held, leaf: Leaf): void {
    const { random = Math.random, clock } = this.#options;
    held.resignedBy = '';
    const earliest = clock.now().getTime() + MIN_RENEWAL_MS;
    this.#renewAt(held, Math.max(renewalOf(leaf, random()), earliest));
  }

  /** Another authority signs now: the certificate is renewed early, at a random moment. */
  #resign(held: Held, leaf: Leaf, authority: string): void {
    const { random = Math.random, clock } = this.#options;
    if (held.resignedBy === authority || this.#waiting.has(held) || this.#inWork.has(held)) return;
    held.resignedBy = authority;
    this.#renewAt(held, resigningOf(leaf, clock.now().getTime(), random()));
  }

  /** @param at milliseconds since 1970 */
  #renewAt(held: Held, at: number): void {
    held.cancel();
    held.cancel = this.#renewals.plan(at, () => this.#renew(held));
  }

  #renew(held: Held): void {
    if (held.isWanted) this.#order(held);
  }

  /** The date was set back: peers refuse certificates of a later date. */
  #renewInvalid(): void {
    const now = this.#options.clock.now();
    for (const held of this.#held.values()) if (held.leaf !== null && !isValidAt(held.leaf, now)) this.#renew(held);
  }

  /** Releases the waiting callers. */
  #settle(held: Held): void {
    const listeners = this.#listeners.get(held) ?? [];
    this.#listeners.delete(held);
    for (const listener of listeners) listener();
  }
}

function sameOrder(a: CertificateOrder, b: CertificateOrder): boolean {
  return a.mesh === b.mesh && a.identity === b.identity && a.spiffeId === b.spiffeId && a.lifetimeMs === b.lifetimeMs;
}
