// What one proxy has been sent, and what it is sent next: incremental xDS over one aggregated stream (xds 4). Pure: requests and
// views go in, responses come out. Invariants: a proxy whose requests are all answered holds its view; at most one response of a
// type waits for its answer; nothing is removed before everything that replaces it was accepted.
import { exhausted } from '../grpc/status.ts';
import { NameSets, type NameSet } from './name-sets.ts';

/** In the order in which they are made: a resource leads to those of the types before it. */
export const XDS_TYPES = ['Secret', 'Cluster', 'ClusterLoadAssignment', 'Listener', 'RouteConfiguration'] as const;
export type XdsType = (typeof XDS_TYPES)[number];

/** A resource as it is sent, shared by all proxies that get the same. */
export type XdsResource = {
  readonly name: string;
  /** A hash of the content: the same after a restart of the control plane. */
  readonly version: string;
  /** The encoded `Resource` of a response. */
  readonly bytes: Uint8Array;
  /** Of a cluster whose assignment has another name: that name. */
  readonly assignment?: string;
};

/** All resources of a proxy. */
export type XdsView = {
  readonly get: (type: XdsType, name: string) => XdsResource | undefined;
  readonly names: (type: XdsType) => Iterable<string>;
};

/** Names of a view whose resource differs, with the version that it had; `''` where it had none. */
export type ChangedVersions = ReadonlyMap<XdsType, ReadonlyMap<string, string>>;

export type XdsRequest = {
  readonly type: XdsType;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Of the first request of a type on a stream: what the proxy holds from before. */
  readonly initialVersions: ReadonlyMap<string, string>;
  /** Of the response that this one answers; `''` where it answers none. */
  readonly nonce: string;
  /** Why the response was refused; null for an acceptance. */
  readonly error: string | null;
};

export type XdsResponse = {
  readonly type: XdsType;
  readonly nonce: string;
  readonly resources: readonly XdsResource[];
  readonly removed: readonly string[];
};

/** A resource that the proxy refused, at the version that it refused. */
export type XdsRefusal = { readonly type: XdsType; readonly name: string; readonly version: string; readonly reason: string };

/** What a proxy says of a response. */
export type XdsAnswer = {
  readonly nonce: string;
  /** Null: it accepts all of it. */
  readonly refusals: readonly XdsRefusal[] | null;
};

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
const ALL_BITS = bitsOf(XDS_TYPES);

function bitsOf(types: readonly XdsType[]): number {
  return types.reduce((bits, type) => bits | (1 << XDS_TYPES.indexOf(type)), 0);
}

/** Types whose removals are sent on their own, in this order. */
const REMOVED = ['Listener', 'Cluster'] as const;

/** `*`, or a first request without names, subscribes to every resource of the type. */
const WILDCARD = '*';
/** Names of one type that a proxy may subscribe to, or have from before. */
const MAX_NAMES = 100_000;
const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();
const NO_RESPONSES: readonly XdsResponse[] = [];
const NO_REFUSALS: readonly XdsRefusal[] = [];

/** Names with versions, mostly none: the map is made for the first of them and goes with the last. */
class HeldNames {
  #versions: Map<string, string> | null = null;

  get size(): number {
    return this.#versions?.size ?? 0;
  }

  get entries(): ReadonlyMap<string, string> {
    return this.#versions ?? NO_VERSIONS;
  }

  has(name: string): boolean {
    return this.#versions !== null && this.#versions.has(name);
  }

  get(name: string): string | undefined {
    return this.#versions?.get(name);
  }

  set(name: string, version: string): void {
    (this.#versions ??= new Map()).set(name, version);
  }

  delete(name: string): void {
    if (this.#versions?.delete(name) === true && this.#versions.size === 0) this.#versions = null;
  }

  /** All of them, which it forgets. */
  takeAll(): ReadonlyMap<string, string> {
    const taken = this.entries;
    this.#versions = null;
    return taken;
  }
}

/** Invariant: what the proxy wants and is neither `dirty` nor `gone`, it holds as it is in the view. */
class TypeState {
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
  readonly dirty = new HeldNames();
  /** Sent in this version, and no longer in the view. */
  readonly gone = new HeldNames();
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

  /** The proxy forgets what it does not want. */
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

export class XdsSession {
  readonly #states = new Map<XdsType, TypeState>();
  /** The same in the order of `XDS_TYPES`. */
  #inOrder: readonly TypeState[] = [];
  readonly #refusals = new Map<string, XdsRefusal>();
  readonly #view: XdsView;
  readonly #nameSets: NameSets;
  #nonces = 0;

  /** @param nameSets of all proxies */
  constructor(view: XdsView, nameSets = new NameSets()) {
    this.#view = view;
    this.#nameSets = nameSets;
  }

  /** The view has changed in these names. */
  viewChanged(names: ChangedVersions): void {
    for (const [type, changed] of names) {
      const state = this.#states.get(type);
      if (state !== undefined) for (const [name, before] of changed) state.change(name, before);
    }
  }

  /** How many names are kept. */
  get size(): number {
    const sizes = [...this.#states.values()].map((state) => state.size);
    return this.#refusals.size + sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Resources that are refused at the version of the view. */
  get refusals(): readonly XdsRefusal[] {
    if (this.#refusals.size === 0) return NO_REFUSALS;
    return [...this.#refusals.values()].filter(({ type, name, version }) => this.#view.get(type, name)?.version === version);
  }

  /** Whether the proxy has accepted a resource at the version of the view. */
  holds(type: XdsType, name: string): boolean {
    const state = this.#states.get(type);
    const version = this.#view.get(type, name)?.version;
    if (state === undefined || version === undefined || !state.hasSent(name, version)) return false;
    if (state.pending?.resources.some((resource) => resource.name === name) === true) return false;
    return this.#refusals.get(JSON.stringify([type, name]))?.version !== version;
  }

  /**
   * Takes a request. An answer to any response but the last of its type is out of date: its subscriptions count, the rest does not.
   * @returns what it says of the last response; null where it says nothing
   * @throws StatusError RESOURCE_EXHAUSTED past `MAX_NAMES` names of a type, asked for or held from before
   */
  receive(request: XdsRequest): XdsAnswer | null {
    const { type } = request;
    const initial = this.#states.has(type) ? NO_VERSIONS : request.initialVersions;
    if (initial.size > MAX_NAMES) throw exhausted(`a proxy may have ${String(MAX_NAMES)} resources of a type`);
    const state = this.#stateOf(request);
    this.#editNames(state, request);
    for (const name of request.unsubscribe) this.#unsubscribe(state, name);
    // Most requests are answers, and name nothing.
    const named = request.subscribe.length === 0 ? request.subscribe : new Set(request.subscribe);
    for (const name of named) {
      if (name === WILDCARD) this.#wantAll(state, type);
      // A name that is asked for is answered, also when it was sent before.
      else this.#want(state, type, name, initial.get(name) ?? '');
      state.mustAnswer(name);
    }
    if (state.names.size > MAX_NAMES) throw exhausted(`a proxy may subscribe to ${String(MAX_NAMES)} resources of a type`);
    const { pending } = state;
    if (pending === null || request.nonce !== pending.nonce) return null;
    state.pending = null;
    this.#forgetRefusals(pending);
    return { nonce: pending.nonce, refusals: request.error === null ? null : this.#refuse(pending, request.error) };
  }

  /**
   * The responses that can be sent now, in the order in which they must go. Call it again after each request and each view.
   * A proxy accepts a cluster when it is warm, which takes its assignment and its secrets: they follow at once. Listeners and routes
   * wait until the clusters are accepted, and removals until everything is.
   */
  take(): readonly XdsResponse[] {
    if (!this.#hasWork()) return NO_RESPONSES;
    const responses: XdsResponse[] = [];
    for (const state of this.#inOrder) {
      if (!state.hasWork) continue;
      const response = this.#additions(state.type, state, this.#areSettled(state.preconditions));
      if (response !== null) responses.push(response);
    }
    // Assignments, routes and secrets go with the cluster or listener that asked for them.
    for (const type of REMOVED) if (this.#areSettled(ALL_BITS)) responses.push(...this.#removals(type));
    return responses;
  }

  /**
   * Keeps this object until the answer comes, in the place of the equal one that `take` returned: proxies that get the same share it, and
   * what each has of its own for the time of an answer grows old in memory.
   */
  share(response: XdsResponse): void {
    const state = this.#states.get(response.type);
    if (state?.pending?.nonce === response.nonce) state.pending = response;
  }

  /** False for most requests: they accept what was sent. */
  #hasWork(): boolean {
    for (const state of this.#inOrder) if (state.hasWork) return true;
    return false;
  }

  /** Whether no response of these types waits for its answer. */
  #areSettled(bits: number): boolean {
    for (const { bit, pending } of this.#inOrder) if (pending !== null && (bits & bit) !== 0) return false;
    return true;
  }

  #stateOf({ type, subscribe, initialVersions }: XdsRequest): TypeState {
    let state = this.#states.get(type);
    if (state !== undefined) return state;
    this.#states.set(type, (state = new TypeState(type, this.#nameSets.empty)));
    this.#inOrder = XDS_TYPES.flatMap((each) => this.#states.get(each) ?? []);
    for (const [name, version] of initialVersions) state.dirty.set(name, version);
    if (subscribe.length === 0) this.#wantAll(state, type);
    return state;
  }

  #editNames(state: TypeState, { type, subscribe, unsubscribe }: XdsRequest): void {
    if (subscribe.length + unsubscribe.length === 0) return;
    const add = subscribe.includes(WILDCARD) ? subscribe.filter((name) => name !== WILDCARD) : subscribe;
    // That of the view is shared by all proxies.
    const nameOf = (name: string): string => this.#view.get(type, name)?.name ?? name;
    state.names = this.#nameSets.edit(state.names, { add, remove: unsubscribe }, nameOf);
  }

  #wantAll(state: TypeState, type: XdsType): void {
    if (state.isWildcard) return;
    for (const name of this.#view.names(type)) if (!state.wants(name) && !state.dirty.has(name)) state.dirty.set(name, '');
    state.isWildcard = true;
  }

  /** @param held version that the proxy holds; `''`: none */
  #want(state: TypeState, type: XdsType, name: string, held: string): void {
    const resource = this.#view.get(type, name);
    state.gone.delete(name);
    if (resource !== undefined || held !== '') state.dirty.set(name, held);
    else state.dirty.delete(name);
  }

  #unsubscribe(state: TypeState, name: string): void {
    state.answered(name);
    if (name !== WILDCARD) return state.forget(name);
    state.isWildcard = false;
    for (const held of [...state.dirty.entries.keys(), ...state.gone.entries.keys()]) state.forget(held);
  }

  #refuse({ type, resources }: XdsResponse, reason: string): XdsRefusal[] {
    const named = namedIn(reason, resources);
    const refused = (named.length > 0 ? named : resources).map(({ name, version }) => ({ type, name, version, reason }));
    for (const refusal of refused) this.#refusals.set(JSON.stringify([type, refusal.name]), refusal);
    return refused;
  }

  /** What the proxy said of earlier versions. */
  #forgetRefusals({ type, resources, removed }: XdsResponse): void {
    if (this.#refusals.size === 0) return;
    for (const name of [...resources.map((resource) => resource.name), ...removed])
      this.#refusals.delete(JSON.stringify([type, name]));
  }

  #additions(type: XdsType, state: TypeState, isSettled: boolean): XdsResponse | null {
    const resources = isSettled && state.dirty.size > 0 ? this.#takeDirty(type, state) : [];
    const missing = state.unanswered.size > 0 ? this.#missing(type, state) : [];
    if (resources.length === 0 && missing.length === 0 && !(state.isFirst && isSettled)) return null;
    for (const { name } of resources) state.answered(name);
    for (const name of missing) state.answered(name);
    return this.#send(type, state, resources, missing);
  }

  /** A proxy waits for each name that it subscribes to, so a missing one is answered at once. */
  #missing(type: XdsType, { unanswered }: TypeState): string[] {
    return [...unanswered].filter((name) => name !== WILDCARD && this.#view.get(type, name) === undefined);
  }

  /** What differs from what was sent. */
  #takeDirty(type: XdsType, state: TypeState): XdsResource[] {
    const resources: XdsResource[] = [];
    for (const [name, held] of state.dirty.takeAll()) {
      const resource = state.wants(name) ? this.#view.get(type, name) : undefined;
      if (resource === undefined) {
        if (held !== '') state.gone.set(name, held);
      } else if (resource.version !== held) resources.push(resource);
    }
    return resources;
  }

  #removals(type: XdsType): XdsResponse[] {
    const state = this.#states.get(type);
    if (state === undefined || state.pending !== null || state.gone.size === 0) return [];
    return [this.#send(type, state, [], [...state.gone.entries.keys()])];
  }

  #send(type: XdsType, state: TypeState, resources: readonly XdsResource[], removed: readonly string[]): XdsResponse {
    this.#nonces += 1;
    const response = { type, nonce: String(this.#nonces), resources, removed };
    for (const name of removed) {
      state.gone.delete(name);
      state.dirty.delete(name);
    }
    state.isFirst = false;
    state.pending = response;
    if (type === 'Cluster') this.#resendAssignments(resources);
    return response;
  }

  /** A changed cluster warms until its assignment comes behind it, whatever was sent before. */
  #resendAssignments(clusters: readonly XdsResource[]): void {
    const assignments = this.#states.get('ClusterLoadAssignment');
    for (const { name, assignment = name } of clusters) assignments?.dirty.set(assignment, '');
  }
}

/** The resources that a refusal names. A name that occurs within longer ones alone does not count: `port_80` within `port_8080`. */
function namedIn(reason: string, resources: readonly XdsResource[]): XdsResource[] {
  const candidates = resources.filter(({ name }) => reason.includes(name));
  const found = new Set<XdsResource>();
  let rest = reason;
  for (const candidate of candidates.toSorted((a, b) => b.name.length - a.name.length)) {
    if (!rest.includes(candidate.name)) continue;
    found.add(candidate);
    rest = rest.replaceAll(candidate.name, '\0');
  }
  return candidates.filter((candidate) => found.has(candidate));
}
