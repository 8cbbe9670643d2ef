// The peers of the streams on which this side sends: their capabilities, and the resources that they refuse or this side
// withholds from them. Pure. Invariant: a name that is refused or withheld was reported on the newest stream of the peer, by its
// newest subscription of the type.

/** The number of sets of features that are shared by peers: most peers have one of a few versions. */
const MAX_SHARED = 64;

type Withheld = { readonly names: ReadonlyMap<string, string>; readonly all: string | null };

export type Peer = {
  /** Its place in the times of each change. */
  readonly index: number;
  /** The open streams that carry changes. */
  readonly streams: Set<string>;
  features: ReadonlySet<string>;
  /** The reason why the peer refuses a resource, or may, by type and wire name. */
  refused: ReadonlyMap<string, Map<string, string>>;
  /** The resources that this side withholds, by type; `all` says why each of the type is. */
  withheld: ReadonlyMap<string, Withheld>;
};

/** Most peers share this empty map. */
const NONE_OF_IT: ReadonlyMap<string, never> = new Map<string, never>();
const NO_FEATURES: ReadonlySet<string> = new Set();

export class KnownPeers {
  readonly #peers = new Map<string, Peer>();
  readonly #freeIndexes: number[] = [];
  readonly #featureSets = new Map<string, ReadonlySet<string>>();

  get all(): ReadonlyMap<string, Peer> {
    return this.#peers;
  }

  get(name: string): Peer | undefined {
    return this.#peers.get(name);
  }

  /**
   * Notes that a stream of the peer begins. The reports of an earlier one no longer count: a stream does not say that it has
   * nothing to report.
   */
  open(name: string, streamId: string): Peer {
    const peer = this.#peers.get(name) ?? this.#add(name);
    peer.refused = NONE_OF_IT;
    peer.withheld = NONE_OF_IT;
    peer.streams.add(streamId);
    return peer;
  }

  close(name: string, streamId: string): boolean {
    return this.#peers.get(name)?.streams.delete(streamId) === true;
  }

  /** Does the same as a new stream, for one type. */
  subscribeAgain(peer: Peer, type: string): void {
    peer.refused = without(peer.refused, type);
    peer.withheld = without(peer.withheld, type);
  }

  meet(name: string, features: readonly string[]): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    const text = JSON.stringify(features);
    peer.features = this.#featureSets.get(text) ?? new Set(features);
    if (this.#featureSets.size < MAX_SHARED) this.#featureSets.set(text, peer.features);
  }

  refuse(peer: Peer, type: string, { changed, solved }: Refusals): void {
    const names = peer.refused.get(type) ?? new Map<string, string>();
    if (!peer.refused.has(type)) peer.refused = new Map(peer.refused).set(type, names);
    for (const wireName of solved) names.delete(wireName);
    for (const [wireName, reason] of changed) names.set(wireName, reason);
  }

  withhold(name: string, type: string, of: Withheld): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) peer.withheld = new Map(peer.withheld).set(type, of);
  }

  /** Drops a peer that was deleted. @returns undefined for one with an open stream, which stays */
  forget(name: string): Peer | undefined {
    const peer = this.#peers.get(name);
    if (peer === undefined || peer.streams.size > 0) return undefined;
    this.#peers.delete(name);
    this.#freeIndexes.push(peer.index);
    return peer;
  }

  #add(name: string): Peer {
    const index = this.#freeIndexes.pop() ?? this.#peers.size;
    const peer: Peer = { index, streams: new Set(), features: NO_FEATURES, refused: NONE_OF_IT, withheld: NONE_OF_IT };
    this.#peers.set(name, peer);
    return peer;
  }
}

type Refusals = { readonly changed: ReadonlyMap<string, string>; readonly solved: readonly string[] };

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  return map.has(key) ? new Map([...map].filter(([one]) => one !== key)) : map;
}
