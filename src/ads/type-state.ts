// The state of one proxy for one type: the resources that it holds and those that must still be sent. Invariants: the proxy holds or refuses
// the current version of every wanted resource that is neither `dirty` nor `gone` nor suspected; a suspected resource is neither of both.
import { SparseMap } from '../base/sparse-map.ts';
import type { NameSet } from './name-sets.ts';
import { XDS_ORDER, XDS_TYPES, type XdsResource, type XdsResponse, type XdsType } from './session-messages.ts';
import { Suspects } from './suspects.ts';

/** Types whose responses must be accepted before one of this type is sent. */
const PRECONDITIONS: Readonly<Record<XdsType, readonly XdsType[]>> = {
  // A cluster that uses a held secret would not wait for a new version of it: it would refuse servers whose authority is new.
  Secret: [],
  Cluster: ['Secret'],
  ClusterLoadAssignment: [],
  Listener: ['Secret', 'Cluster', 'ClusterLoadAssignment'],
  TypedExtensionConfig: ['Cluster', 'ClusterLoadAssignment'],
  RouteConfiguration: ['Cluster', 'ClusterLoadAssignment'],
};

/** The same as bits, one for each type. */
const PRECONDITION_BITS = new Map(XDS_TYPES.map((type) => [type, bitsOf(PRECONDITIONS[type])]));
export const ALL_BITS = bitsOf(XDS_TYPES);

function bitsOf(types: readonly XdsType[]): number {
  return types.reduce((bits, type) => bits | (1 << XDS_ORDER[type]), 0);
}

const NO_NAMES: ReadonlySet<string> = new Set();
const NO_RESOURCES: readonly XdsResource[] = [];
/** Of a resource that the proxy may hold or not. No version of a view is equal to it. */
const UNKNOWN_VERSION = '?';

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
  /** The view may lack a name that must be answered. */
  mayMiss = false;
  /** The first response of a type is sent even if it is empty. */
  isFirst = true;
  pending: XdsResponse | null = null;
  /** The last response has suspected resources, which are sent again. */
  isAgain = false;
  #suspects: Suspects | null = null;

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
    this.mayMiss = true;
  }

  answered(name: string): void {
    if (this.#unanswered?.delete(name) === true && this.#unanswered.size === 0) this.#unanswered = null;
  }

  wants(name: string): boolean {
    return this.isWildcard || this.names.has(name);
  }

  /** The view has changed. @param before version of the view until now */
  change(name: string, before: string): void {
    this.mayMiss = true;
    if (!this.wants(name) || this.dirty.has(name)) return;
    const held = this.#suspects?.delete(name) === true ? UNKNOWN_VERSION : before;
    this.dirty.set(name, this.gone.get(name) ?? held);
    this.gone.delete(name);
  }

  /**
   * The proxy is asked again about resources of a refused response. What has changed since is sent anyway.
   * @param isHalved whether they go in two responses
   */
  suspect(resources: readonly XdsResource[], isHalved: boolean): void {
    const suspected: XdsResource[] = [];
    for (const resource of resources) {
      if (this.dirty.has(resource.name)) this.dirty.set(resource.name, UNKNOWN_VERSION);
      else if (this.wants(resource.name)) suspected.push(resource);
    }
    if (suspected.length > 0) (this.#suspects ??= new Suspects()).add(suspected, isHalved);
  }

  /** Suspected resources for one response. */
  takeSuspects(): readonly XdsResource[] {
    const taken = this.#suspects?.take() ?? NO_RESOURCES;
    if (this.#suspects?.size === 0) this.#suspects = null;
    return taken;
  }

  /** Whether the proxy has a resource that the view may lack, until its removal is sent. */
  hasGone(name: string): boolean {
    return this.gone.has(name) || (this.dirty.get(name) ?? '') !== '';
  }

  /** A suspected resource goes as one that is not. */
  clear(name: string): void {
    this.#suspects?.delete(name);
  }

  /** Whether the proxy holds this version, or will once it has taken what waits for its answer. */
  hasSent(name: string, version: string): boolean {
    return this.wants(name) && (this.dirty.get(name) ?? version) === version && this.#suspects?.has(name) !== true;
  }

  /** The names of what may have to be sent or removed. */
  get owed(): string[] {
    return [...this.dirty.entries.keys(), ...this.gone.entries.keys(), ...(this.#suspects?.names ?? NO_NAMES)];
  }

  /** The proxy forgets resources that it no longer wants. */
  forget(name: string): void {
    if (this.wants(name)) return;
    this.dirty.delete(name);
    this.gone.delete(name);
    this.#suspects?.delete(name);
  }

  /** Whether there may be something to send. */
  get hasWork(): boolean {
    if (this.pending !== null) return false;
    return this.isFirst || this.dirty.size + this.gone.size > 0 || this.#unanswered !== null || this.#suspects !== null;
  }

  get size(): number {
    return this.names.size + this.dirty.size + this.gone.size + this.unanswered.size + (this.#suspects?.size ?? 0);
  }
}
