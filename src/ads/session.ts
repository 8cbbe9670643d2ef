// The xDS state of one proxy, and the order of its responses: incremental xDS over one aggregated stream (xds 4). Pure: requests and views
// go in, responses come out. Invariants: a proxy that has answered every response holds its view; at most one response of a type waits for
// its answer; a resource is removed only after the proxy has accepted everything that replaces it, and a cluster when no connection can use
// it any more; the proxy holds nothing of a refused response until it accepts it in another one.
import { exhausted } from '../grpc/status.ts';
import { NameSets } from './name-sets.ts';
import { RefusedResources } from './refused-resources.ts';
import { NO_TIME, RemovalTimes, REMOVED, type RemovedType, type SessionTime } from './removal-times.ts';
import {
  XDS_ORDER,
  XDS_TYPES,
  type ChangedVersions,
  type XdsAnswer,
  type XdsRefusal,
  type XdsRequest,
  type XdsResource,
  type XdsResponse,
  type XdsType,
  type XdsView,
} from './session-messages.ts';
import { ALL_BITS, TypeState } from './type-state.ts';

/** What stands in the way of a refused resource may go without a change of the view, such as another program on its port. */
const RETRY_MS = 10_000;

/** `*`, or a first request without names, subscribes to every resource of the type. */
const WILDCARD = '*';
/** Names of one type that a proxy may subscribe to, or have from before. */
const MAX_NAMES = 100_000;
const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const NO_RESPONSES: readonly XdsResponse[] = [];

export class XdsSession {
  /** In the order of `XDS_TYPES`; null for a type that was not asked for. */
  readonly #states: (TypeState | null)[] = XDS_TYPES.map(() => null);
  /** Bits of the types that may have something to send: a change mostly concerns one, and the states of the others are not looked at. */
  #mayWork = 0;
  /** Bits of the types whose response waits for its answer. */
  #pending = 0;
  readonly #refused = new RefusedResources();
  readonly #view: XdsView;
  readonly #nameSets: NameSets;
  readonly #time: SessionTime;
  readonly #removals: RemovalTimes;
  /** When refused resources are tried again; null without any. */
  #retryAt: number | null = null;
  #nonces = 0;

  /** @param nameSets of all proxies */
  constructor(view: XdsView, nameSets = new NameSets(), time = NO_TIME) {
    this.#view = view;
    this.#nameSets = nameSets;
    this.#time = time;
    this.#removals = new RemovalTimes(time);
  }

  /** The view has changed in these names. */
  viewChanged(names: ChangedVersions): void {
    for (const [type, changed] of names) {
      const state = this.#stateOf(type);
      if (state === null) continue;
      this.#mayWork |= state.bit;
      for (const [name, before] of changed) state.change(name, before);
    }
  }

  /** How many names are kept. */
  get size(): number {
    const sizes = this.#states.map((state) => state?.size ?? 0);
    return this.#refused.size + sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Resources that are refused at the version of the view. */
  get refusals(): readonly XdsRefusal[] {
    return this.#refused.standing(this.#view);
  }

  /** In how many milliseconds `take` may have something that it does not have now; null: after a request or a change alone. */
  get waitMs(): number | null {
    const removals = REMOVED.map((type) => this.#removals.next(type, this.#stateOf(type)?.gone.entries.keys() ?? []));
    const times = [...removals, this.#retryAt].filter((time) => time !== null);
    return times.length === 0 ? null : Math.max(0, Math.min(...times) - this.#time.elapsed());
  }

  /** Whether the proxy has a resource that is no longer in the view, until its removal is sent. */
  stays(type: XdsType, name: string): boolean {
    return this.#view.get(type, name) === undefined && this.#stateOf(type)?.hasGone(name) === true;
  }

  /** Whether the proxy has accepted a resource at the version of the view. */
  holds(type: XdsType, name: string): boolean {
    const state = this.#stateOf(type);
    const version = this.#view.get(type, name)?.version;
    if (state === null || version === undefined || !state.hasSent(name, version)) return false;
    if (state.pending?.resources.some((resource) => resource.name === name) === true) return false;
    return !this.#refused.has(type, name, version);
  }

  /**
   * Takes a request. An answer to any response but the last of its type is out of date: its subscriptions count, the rest does not.
   * @returns the answer to the last response; null if the request is none
   * @throws StatusError RESOURCE_EXHAUSTED past `MAX_NAMES` names of a type, asked for or held from before
   */
  receive(request: XdsRequest): XdsAnswer | null {
    const { type } = request;
    const initial = this.#stateOf(type) === null ? request.initialVersions : NO_VERSIONS;
    if (initial.size > MAX_NAMES) throw exhausted(`a proxy may have ${String(MAX_NAMES)} resources of a type`);
    const state = this.#stateOf(type) ?? this.#open(request);
    this.#mayWork |= state.bit;
    this.#editNames(state, request);
    for (const name of request.unsubscribe) this.#unsubscribe(state, name);
    // Most requests are answers, and name nothing.
    const named = request.subscribe.length === 0 ? request.subscribe : new Set(request.subscribe);
    for (const name of named) {
      if (name === WILDCARD) this.#wantAll(state);
      else {
        const held = initial.get(name) ?? '';
        this.#want(state, type, name, held);
        // A name that is asked for is answered, also when it was sent before. What a proxy holds it does not wait for: a listener that
        // clients still have needs it.
        if (held === '') state.mustAnswer(name);
      }
    }
    if (state.names.size > MAX_NAMES) throw exhausted(`a proxy may subscribe to ${String(MAX_NAMES)} resources of a type`);
    const { pending } = state;
    if (pending === null || request.nonce !== pending.nonce) return null;
    state.pending = null;
    this.#pending &= ~state.bit;
    const refusals = this.#refused.answered(pending, request.error);
    if (refusals !== null) {
      this.#askAgain(state, pending, refusals);
      if (this.#retryAt === null && refusals.length > 0) this.#retryAt = this.#time.elapsed() + RETRY_MS;
    }
    return { nonce: pending.nonce, refusals };
  }

  /**
   * What a refusal does not name may be refused too, or was dropped with the rest: the next answers tell. First all of it is sent again, and
   * after that in halves.
   */
  #askAgain(state: TypeState, { resources, removed }: XdsResponse, refusals: readonly XdsRefusal[]): void {
    // A removal alone that is refused would be refused again.
    for (const name of resources.length === 0 ? [] : removed) if (state.wants(name)) state.mustAnswer(name);
    const named = new Set(refusals.map(({ name }) => name));
    state.suspect(
      resources.filter(({ name }) => !named.has(name)),
      state.isAgain || named.size === 0,
    );
  }

  /**
   * The responses that can be sent now, in the order in which they must go. Call it again after each request and each view.
   * A proxy accepts a cluster when it is warm, which takes its assignment and its secrets: they follow at once. Listeners and routes
   * wait until the clusters are accepted, and removals until everything is.
   */
  take(): readonly XdsResponse[] {
    this.#retry();
    if (!this.#hasWork()) return NO_RESPONSES;
    const responses: XdsResponse[] = [];
    for (const [index, type] of XDS_TYPES.entries()) {
      const state = this.#mayHaveWork(index) ? this.#stateOf(type) : null;
      if (state?.hasWork !== true) continue;
      const response = this.#additions(state, this.#areSettled(state.preconditions));
      if (response !== null) responses.push(response);
    }
    // Assignments, routes and secrets go with the cluster or listener that asked for them.
    for (const type of REMOVED) if (this.#areSettled(ALL_BITS)) responses.push(...this.#removed(type));
    return responses;
  }

  /**
   * Keeps this object until the answer comes, in the place of the equal one that `take` returned: proxies that get the same share it, and
   * what each has of its own for the time of an answer grows old in memory.
   */
  share(response: XdsResponse): void {
    const state = this.#stateOf(response.type);
    if (state?.pending?.nonce === response.nonce) state.pending = response;
  }

  /** False for most requests: they accept what was sent. */
  #hasWork(): boolean {
    for (let index = 0; this.#mayWork >> index !== 0; index += 1)
      if (this.#mayHaveWork(index) && this.#states[index]?.hasWork !== true) this.#mayWork &= ~(1 << index);
    return this.#mayWork !== 0;
  }

  #mayHaveWork(index: number): boolean {
    return (this.#mayWork & (1 << index)) !== 0;
  }

  /** Whether no response of these types waits for its answer. */
  #areSettled(bits: number): boolean {
    return (this.#pending & bits) === 0;
  }

  #stateOf(type: XdsType): TypeState | null {
    return this.#states[XDS_ORDER[type]] ?? null;
  }

  /** The first request of a type. */
  #open({ type, subscribe, initialVersions }: XdsRequest): TypeState {
    const state = new TypeState(type, this.#nameSets.empty);
    this.#states[XDS_ORDER[type]] = state;
    for (const [name, version] of initialVersions) state.dirty.set(name, version);
    if (subscribe.length === 0) this.#wantAll(state);
    return state;
  }

  #editNames(state: TypeState, { type, subscribe, unsubscribe }: XdsRequest): void {
    if (subscribe.length + unsubscribe.length === 0) return;
    const add = subscribe.includes(WILDCARD) ? subscribe.filter((name) => name !== WILDCARD) : subscribe;
    // That of the view is shared by all proxies.
    const nameOf = (name: string): string => this.#view.get(type, name)?.name ?? name;
    state.names = this.#nameSets.edit(state.names, { add, remove: unsubscribe }, nameOf);
  }

  #wantAll(state: TypeState): void {
    if (state.isWildcard) return;
    for (const name of this.#view.names(state.type)) if (!state.wants(name) && !state.dirty.has(name)) state.dirty.set(name, '');
    state.isWildcard = true;
  }

  /** @param held version that the proxy holds; `''`: none */
  #want(state: TypeState, type: XdsType, name: string, held: string): void {
    const resource = this.#view.get(type, name);
    state.gone.delete(name);
    state.clear(name);
    if (resource !== undefined || held !== '') state.dirty.set(name, held);
    else state.dirty.delete(name);
  }

  #unsubscribe(state: TypeState, name: string): void {
    state.answered(name);
    if (name !== WILDCARD) return state.forget(name);
    state.isWildcard = false;
    for (const owed of state.owed) state.forget(owed);
  }

  #additions(state: TypeState, isSettled: boolean): XdsResponse | null {
    const isFirst = state.isFirst && isSettled;
    const resources = isSettled ? this.#takeResources(state) : [];
    const missing = state.unanswered.size > 0 && state.mayMiss ? this.#missing(state) : [];
    state.mayMiss = false;
    // Another control plane, or an older one, has given listeners other names: a new one takes the place of one that goes.
    if (isFirst && state.type === 'Listener') missing.push(...this.#unused(state));
    if (resources.length === 0 && missing.length === 0 && !isFirst) return null;
    for (const { name } of resources) state.answered(name);
    for (const name of missing) state.answered(name);
    return this.#send(state, resources, missing);
  }

  /** A proxy waits for each name that it subscribes to, so a missing one is answered at once. */
  #missing({ type, unanswered }: TypeState): string[] {
    return [...unanswered].filter((name) => this.#view.get(type, name) === undefined);
  }

  /** Changes and suspected resources take turns, so that neither delays the other. */
  #takeResources(state: TypeState): readonly XdsResource[] {
    const changed = state.isAgain ? this.#takeDirty(state) : [];
    const again = changed.length > 0 ? [] : state.takeSuspects();
    state.isAgain = again.length > 0;
    if (state.isAgain) return again;
    return changed.length > 0 ? changed : this.#takeDirty(state);
  }

  /** What differs from what was sent. */
  #takeDirty(state: TypeState): XdsResource[] {
    if (state.dirty.size === 0) return [];
    const resources: XdsResource[] = [];
    for (const [name, held] of state.dirty.takeAll()) {
      const resource = state.wants(name) ? this.#view.get(state.type, name) : undefined;
      if (resource === undefined) {
        if (held === '') continue;
        state.gone.set(name, held);
        this.#removals.begin(state.type, name);
      } else if (resource.version !== held) resources.push(resource);
      else this.#removals.held(resource);
    }
    return resources;
  }

  #removed(type: RemovedType): XdsResponse[] {
    const state = this.#stateOf(type);
    if (state === null || state.pending !== null || state.gone.size === 0) return [];
    // The listener that leads to a cluster goes first.
    if (type === 'Cluster' && (this.#stateOf('Listener')?.gone.size ?? 0) > 0) return [];
    const removed = this.#removals.due(type, this.#unused(state));
    return removed.length === 0 ? [] : [this.#send(state, [], removed)];
  }

  /** What is gone, without what others still use. */
  #unused({ type, gone }: TypeState): string[] {
    return [...gone.entries.keys()].filter((name) => {
      const isKept = this.#view.isKept?.(type, name) === true;
      if (isKept) this.#removals.keep(name);
      return !isKept;
    });
  }

  /** Sends refused resources again, each in a response of its own. */
  #retry(): void {
    if (this.#retryAt === null || this.#retryAt > this.#time.elapsed()) return;
    const refused = this.refusals;
    this.#retryAt = refused.length === 0 ? null : this.#time.elapsed() + RETRY_MS;
    for (const { type, name } of refused) {
      const [state, resource] = [this.#stateOf(type), this.#view.get(type, name)];
      if (state === null || resource === undefined || !state.hasSent(name, resource.version)) continue;
      this.#mayWork |= state.bit;
      state.suspect([resource], false);
    }
  }

  #send(state: TypeState, resources: readonly XdsResource[], removed: readonly string[]): XdsResponse {
    const { type } = state;
    this.#nonces += 1;
    const response = { type, nonce: String(this.#nonces), resources, removed };
    this.#removals.sent(resources);
    for (const name of removed) {
      this.#removals.end(type, name);
      state.gone.delete(name);
      state.dirty.delete(name);
    }
    state.isFirst = false;
    state.pending = response;
    this.#pending |= state.bit;
    if (type === 'Cluster') this.#resendAssignments(resources);
    return response;
  }

  /** A changed cluster warms until its assignment comes behind it, whatever was sent before. */
  #resendAssignments(clusters: readonly XdsResource[]): void {
    const assignments = this.#stateOf('ClusterLoadAssignment');
    if (assignments === null) return;
    this.#mayWork |= assignments.bit;
    for (const { name, assignment = name } of clusters) {
      assignments.clear(assignment);
      assignments.dirty.set(assignment, '');
    }
  }
}
