// The state of one proxy for one type: the resources that it holds and those that must still be sent. Invariant: the proxy holds the
// current version of every wanted resource that is neither `dirty` nor `gone`.
import { SparseMap } from '../base/sparse-map.ts';
import type { NameSet } from './name-sets.ts';
import { XDS_ORDER, XDS_TYPES, type XdsResponse, type XdsType } from './session-messages.ts';

/** Types whose responses must be accepted before one of this type is sent. */
const PRECONDITIONS: Readonly<Record<XdsType, readonly XdsType[]>> = {
  // A cluster that uses a held secret would not wait for a new version of it: it would refuse servers whose authority is new.
  Secret: [],
  Cluster: ['Secret'],
  ClusterLoadAssignment: [],
  Listener: ['Secret', 'Cluster', 'ClusterLoadAssignment'],
  RouteConfiguration: ['Cluster', 'ClusterLoadAssignment'],
};

/** The same as bits, one for each type. */
const PRECONDITION_BITS = new Map(XDS_TYPES.map((type) => [type, bitsOf(PRECONDITIONS[type])]));
export const ALL_BITS = bitsOf(XDS_TYPES);

function bitsOf(types: readonly XdsType[]): number {
  return types.reduce((bits, type) => bits | (1 << XDS_ORDER[type]), 0);
}

const NO_NAMES: ReadonlySet<string> = new Set();

export class TypeState {
  readonly type: XdsType;
  readonly bit: number;
  readonly preconditions: number;
  isWildcard = false;
  /** Other proxies may have the same set. */
  names: NameSet;
  /**
   * Names whose resource may have to be sent, with the version that the proxy holds, or will once it has taken what waits for its
   * answer; `''`: none.
   */
  readonly dirty = new SparseMap<string, string>();
  /** Sent in this version, and no longer in the view. */
  readonly gone = new SparseMap<string, string>();
  #unanswered: Set<string> | null = null;
  /** The first response of a type is sent even if it is empty. */
  isFirst = true;
  pending: XdsResponse | null = null;

  constructor(type: XdsType, names: NameSet) {
    this.type = type;
    this.bit = bitsOf([type]);
    this.preconditions = PRECONDITION_BITS.get(type) ?? 0;
    this.names = names;
  }

  /** Subscribed since the last response: an unknown one is answered as removed. */
  get unanswered(): ReadonlySet<string> {
    return this.#unanswered ?? NO_NAMES;
  }

  mustAnswer(name: string): void {
    (this.#unanswered ??= new Set()).add(name);
  }

  answered(name: string): void {
    if (this.#unanswered?.delete(name) === true && this.#unanswered.size === 0) this.#unanswered = null;
  }

  wants(name: string): boolean {
    return this.isWildcard || this.names.has(name);
  }

  /** The view has changed. @param before version of the view until now */
  change(name: string, before: string): void {
    if (!this.wants(name) || this.dirty.has(name)) return;
    this.dirty.set(name, this.gone.get(name) ?? before);
    this.gone.delete(name);
  }

  /** Whether the proxy holds this version, or will once it has taken what waits for its answer. */
  hasSent(name: string, version: string): boolean {
    return this.wants(name) && (this.dirty.get(name) ?? version) === version;
  }

  /** The proxy forgets resources that it no longer wants. */
  forget(name: string): void {
    if (this.wants(name)) return;
    this.dirty.delete(name);
    this.gone.delete(name);
  }

  /** Whether there may be something to send. */
  get hasWork(): boolean {
    if (this.pending !== null) return false;
    return this.isFirst || this.dirty.size > 0 || this.#unanswered !== null || this.gone.size > 0;
  }

  get size(): number {
    return this.names.size + this.dirty.size + this.gone.size + this.unanswered.size;
  }
}
