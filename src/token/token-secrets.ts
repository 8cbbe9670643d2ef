// Caches the secrets of all realms, updated by the change feed: no request reads the store for a known realm.
// Invariant: while the feed is not followed or has lost its connection, each answer is read from the store, and followers are
// notified at intervals. Otherwise a revocation in that time would be missed.
import { LRUCache } from 'lru-cache';
import { every } from '../base/clock.ts';
import { together } from '../base/supervise.ts';
import { FeedFollower, type Following, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { KeySet, type StaticKey } from './key-set.ts';
import { dataplaneRealm, federatedZoneRealm, userRealm, zoneRealm, type TokenRealm, type TokenKind } from './token-realm.ts';
import { revokedIds } from '../resource/revoked-ids.ts';
import type { ResourceKey } from '../resource/types.ts';

/** The signing keys of a realm, and the revoked ids. */
export type RealmSecrets = { readonly keys: KeySet; readonly revoked: ReadonlySet<string> };

/** Reads the secrets of a realm, with two concurrent reads. Rejects as the store does. */
export async function loadRealm(
  store: Pick<ResourceStore, 'get' | 'list'>,
  realm: TokenRealm,
  extra: readonly StaticKey[] = [],
): Promise<RealmSecrets> {
  const { secretType: type, mesh, keyName, revocations } = realm;
  const [rows, list] = await Promise.all([
    store.list({ type, ...(mesh !== '' && { mesh }), nameContains: keyName }),
    store.get({ type, mesh, name: revocations }),
  ]);
  return { keys: new KeySet(realm, rows, extra), revoked: new Set(list === undefined ? [] : revokedIds(list)) };
}

type TokenSecretsOptions = {
  readonly store: Pick<ResourceStore, 'get' | 'list' | 'changes' | 'mark'>;
  /** It is true for a zone with a global, which gets only the public halves of the zone keys. */
  readonly federated: boolean;
  /** The value of `validator.publicKeys`: keys with a private half outside the store. */
  readonly publicKeys?: Readonly<Partial<Record<TokenKind, readonly StaticKey[]>>>;
};

/** The limit of cached realms. */
const MAX_REALMS = 256;
/** The milliseconds from one notification of the followers to the next while the feed is lost. */
const LOST_MS = 10_000;

export class TokenSecrets {
  readonly #options: TokenSecretsOptions;
  readonly #known = new LRUCache<string, Promise<RealmSecrets>>({ max: MAX_REALMS });
  readonly #followers = new Map<() => void, TokenKind>();
  #follower: FeedFollower | null = null;

  constructor(options: TokenSecretsOptions) {
    this.#options = options;
  }

  /** The realm of zone tokens on this control plane. */
  get zoneRealm(): TokenRealm {
    return this.#options.federated ? federatedZoneRealm : zoneRealm;
  }

  /** The keys and revocations of a realm. Rejects as the store does; the next call tries again. */
  of(realm: TokenRealm): Promise<RealmSecrets> {
    const { store, publicKeys } = this.#options;
    const id = idOf(realm);
    const isCurrent = this.#follower?.isCurrent === true;
    const known = isCurrent ? this.#known.get(id) : undefined;
    if (known !== undefined) return known;
    const secrets = loadRealm(store, realm, publicKeys?.[realm.kind]);
    if (!isCurrent) return secrets;
    this.#known.set(id, secrets);
    secrets.catch(() => this.#known.peek(id) === secrets && this.#known.delete(id));
    return secrets;
  }

  /** Calls `changed` whenever secrets of the kind may have changed. Returns a function that stops it. */
  follow(kind: TokenKind, changed: () => void): () => void {
    const follower = (): void => changed();
    this.#followers.set(follower, kind);
    return () => this.#followers.delete(follower);
  }

  /** Follows the change feed until the signal aborts. Run it once, from the start of the process. */
  async run(following: Following, signal: AbortSignal): Promise<void> {
    const follower = new FeedFollower({ ...following, store: this.#options.store, types: ['GlobalSecret', 'Secret'] });
    this.#follower = follower;
    await together(
      signal,
      (either) => follower.run((hints) => this.#forget(hints), either),
      (either) => every(following.clock, LOST_MS, either, () => (follower.isCurrent ? undefined : this.#notifyAll())),
    );
  }

  /** Lets the followers check their tokens again. While the store is unavailable, they retry. */
  async #notifyAll(): Promise<void> {
    const isReadable = await this.of(userRealm).then(
      () => true,
      () => false,
    );
    if (isReadable) for (const follower of [...this.#followers.keys()]) follower();
  }

  #forget({ types, keys }: Hints): void {
    if (types.includes('GlobalSecret')) this.#forgetAll(['user', 'zone']);
    if (types.includes('Secret')) this.#forgetAll(['dataplane']);
    for (const realm of realmsOf(keys, this.zoneRealm)) this.#forgetOne(realm);
  }

  #forgetAll(kinds: readonly TokenKind[]): void {
    for (const kind of kinds) {
      for (const id of [...this.#known.keys()]) if (id.startsWith(kind)) this.#known.delete(id);
      this.#notify(kind);
    }
  }

  #forgetOne(realm: TokenRealm): void {
    this.#known.delete(idOf(realm));
    this.#notify(realm.kind);
  }

  #notify(changed: TokenKind): void {
    for (const [follower, kind] of [...this.#followers]) if (kind === changed) follower();
  }
}

/** The realms that rows with these keys belong to, each once. */
function realmsOf(keys: readonly ResourceKey[], zone: TokenRealm): Iterable<TokenRealm> {
  const found = new Map<string, TokenRealm>();
  for (const { type, mesh, name } of keys) {
    const realm = type === 'Secret' ? dataplaneRealm(mesh) : name.startsWith('user-') ? userRealm : zone;
    if (type === realm.secretType && (name === realm.revocations || name.startsWith(realm.keyName)))
      found.set(idOf(realm), realm);
  }
  return found.values();
}

/** The kind comes first, because entries are dropped by kind. */
function idOf({ kind, mesh }: TokenRealm): string {
  return `${kind}/${mesh}`;
}
