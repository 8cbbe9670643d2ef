// The whole configuration of one proxy, and the names that changed since the last publication. Most parts are shared with other
// proxies, so a view holds parts and looks into them: a name costs one entry, not one in each of four maps.
import { isDeepStrictEqual } from 'node:util';
import { SparseMap } from '../base/sparse-map.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { ConfigProblem } from '../xds/config-problem.ts';
import type { Leaf } from '../identity/leaf.ts';
import type { PlacedOutbound } from '../xds/listed-outbounds.ts';
import type { EncodedPart, TypedResource } from './encoded-part.ts';
import type { NameDocument } from '../xds/companion-documents.ts';
import { NO_PLACES, type DataplanePlaces } from '../xds/dataplane-places.ts';
import { NO_NAMES, type NameTable } from '../xds/name-table.ts';
import { SharedMaps, type SharedMap } from './shared-map.ts';
import { ViewParts, type KeptPart } from './view-parts.ts';
import type { ChangedVersions, XdsResource, XdsType, XdsView } from './session-messages.ts';
import { ZoneParts } from './zone-parts.ts';

/** The listeners of an outbound and its routes, and the services that they lead to. */
export type EncodedOutbound = EncodedPart &
  KeptPart & { readonly placed: PlacedOutbound; readonly destinations: readonly Outbound[] };
/** The cluster and the endpoints of one port of a service. */
export type EncodedDestination = EncodedPart &
  KeptPart & {
    readonly outbound: Outbound;
    /** Its cluster has TLS. */
    readonly isTls: boolean;
    /** KRIs of the MeshServices of this zone behind it. */
    readonly servers: readonly string[];
  };

/** The certificate that a proxy has. */
export type Certified = {
  /** Name of the secret: the KRI of the MeshIdentity. */
  readonly identity: string;
  readonly leaf: Leaf;
  /** The secret, encoded. */
  readonly secret: EncodedPart;
};

type ViewListener = {
  readonly changed: (versions: ChangedVersions) => void;
  /** Its Dataplane is gone. */
  readonly ended: () => void;
  /** It cannot be made any more: an error of this program. */
  readonly failed: (error: unknown) => void;
};

/** The maps of parts that views share. */
export type SharedParts = {
  readonly outbounds: SharedMaps<EncodedOutbound>;
  readonly destinations: SharedMaps<EncodedDestination>;
};

/** The outbounds of a view without parts of its own. */
export type ViewState = {
  readonly outbounds: SharedMap<EncodedOutbound>;
  readonly destinations: SharedMap<EncodedDestination>;
};

/** What a change made of the outbounds of a view: equal views take the same step. */
export type ViewStep = ViewState & { readonly changed: ChangedVersions; readonly hasNewProblems: boolean };

/** The outbounds of a view, and what is wrong with them. */
export type CalledParts = ViewState & {
  readonly problems: readonly ConfigProblem[];
  /** Something of the view has a problem. */
  readonly hasProblems: boolean;
};

const NOTHING: EncodedPart = { resources: [], problems: [] };
const NO_CHANGES: ChangedVersions = new Map();
const NO_FORMER: ReadonlyMap<string, string> = new Map();
const NO_KEPT: ReadonlySet<string> = new Set();

export class ProxyView implements XdsView {
  /** The resources of the proxy that belong to no outbound. */
  #own: EncodedPart = NOTHING;
  /** The problems of the declared outbounds themselves. */
  #problems: readonly ConfigProblem[] = [];
  /** What the token of the proxy does not permit, by its kind. */
  readonly #refusals = new SparseMap<'dataplane' | 'identity', string>();
  /** By the name of the routes. */
  readonly #outbounds: ViewParts<EncodedOutbound>;
  /** By the name of the cluster and of the endpoints. */
  readonly #destinations: ViewParts<EncodedDestination>;
  readonly #zonePorts = new ZoneParts();
  #changed: Map<XdsType, Map<string, string>> | null = null;
  /** The unpublished changes of a step that other views take too. */
  #taken: ChangedVersions | null = null;
  /** Some part has a problem or had one, since they were asked for. */
  #hasNewProblems = false;
  #listener: ViewListener | null = null;

  /** Null: its configuration is in plain text. */
  certified: Certified | null = null;

  /** Id of the bundle in its configuration. */
  trusted = '';

  /** Whether its inbounds may demand TLS, and what the row of its Dataplane says about it. */
  demandsTls = { isWanted: false, isSaid: false };

  /** Where the sections of its Dataplane are, and were. */
  places: DataplanePlaces = NO_PLACES;

  /** The names that its zone listeners had in an Envoy before their places were their names. */
  formerNames: ReadonlyMap<string, string> = NO_FORMER;

  /** Null: no program beside it resolves names. */
  nameDocument: NameDocument | null = null;

  /** The listener of its documents with the names that it may resolve; null: it is as its own part has it. */
  documents: XdsResource | null = null;

  #hostnames: NameTable = NO_NAMES;

  #kept: ReadonlySet<string> = NO_KEPT;

  #asked = '';
  /** Something beside its resources differs since the last publication. */
  #hasNews = false;

  constructor(shared: SharedParts = { outbounds: new SharedMaps(), destinations: new SharedMaps() }) {
    this.#outbounds = new ViewParts(shared.outbounds);
    this.#destinations = new ViewParts(shared.destinations);
  }

  /** The step of a withdrawal that the proxy must accept; `''` for none. Its configuration names it. */
  get asked(): string {
    return this.#asked;
  }

  set asked(asked: string) {
    if (asked !== this.#asked) this.#hasNews = true;
    this.#asked = asked;
  }

  /** The names of the services that it reaches at virtual addresses. */
  get hostnames(): NameTable {
    return this.#hostnames;
  }

  set hostnames(hostnames: NameTable) {
    if (hostnames !== this.#hostnames) this.#hasNews = true;
    this.#hostnames = hostnames;
  }

  /** Names of listeners that are gone from the view, and that clients still use. */
  get kept(): ReadonlySet<string> {
    return this.#kept;
  }

  set kept(kept: ReadonlySet<string>) {
    if (!isDeepStrictEqual(kept, this.#kept)) this.#hasNews = true;
    this.#kept = kept;
  }

  isKept(type: XdsType, name: string): boolean {
    return type === 'Listener' && this.#kept.has(name);
  }

  get(type: XdsType, name: string): XdsResource | undefined {
    if (type === 'Listener' && name === this.documents?.name) return this.documents;
    // A place that the proxy uses itself is no outbound.
    if (type === 'Listener') return resourceIn(this.#own, type, name) ?? this.#outboundAt(name);
    return this.#partOf(type, name) ?? resourceIn(this.#own, type, name);
  }

  names(type: XdsType): string[] {
    const names = namesIn(this.#own, type);
    const shared = isOfListener(type) ? this.#outbounds : this.#destinations;
    shared.forEach((part) => addNames(names, part, type));
    for (const part of this.#zonePorts.parts()) addNames(names, part, type);
    return names;
  }

  /** The parts that could not be built; null if they cannot have changed since the last call. */
  takeProblems(): ConfigProblem[] | null {
    if (!this.#hasNewProblems) return null;
    this.#hasNewProblems = false;
    return this.problems;
  }

  get problems(): ConfigProblem[] {
    const shared = [...this.#outbounds.entries(), ...this.#destinations.entries()].map(([, part]) => part);
    const parts = [this.#own, ...shared, ...this.#zonePorts.parts()];
    const refused = [...this.#refusals.entries.values()].map((reason) => ({ policy: null, field: 'token', reason }));
    return [...refused, ...this.#problems, ...parts.flatMap(({ problems }) => problems)];
  }

  /** Each proxy that joins asks it of another one. */
  #hasProblems(): boolean {
    let has = this.#refusals.size + this.#problems.length + this.#own.problems.length > 0;
    for (const { problems } of this.#zonePorts.parts()) has ||= problems.length > 0;
    const look = ({ problems }: EncodedPart): void => void (has ||= problems.length > 0);
    this.#outbounds.forEach(look);
    this.#destinations.forEach(look);
    return has;
  }

  /** @param reason null: the token permits it */
  setRefusal(kind: 'dataplane' | 'identity', reason: string | null): void {
    if ((this.#refusals.get(kind) ?? null) === reason) return;
    this.#hasNewProblems = true;
    if (reason === null) this.#refusals.delete(kind);
    else this.#refusals.set(kind, reason);
  }

  setOwn(part: EncodedPart): void {
    this.#note(this.#own, part);
    this.#own = part;
  }

  setProblems(problems: readonly ConfigProblem[]): void {
    if (this.#problems.length + problems.length > 0) this.#hasNewProblems = true;
    this.#problems = problems;
  }

  /** Its outbounds, for views with equal ones; null if some of them depend on the proxy itself. */
  get whatItCalls(): CalledParts | null {
    const [outbounds, destinations] = [this.#outbounds.shared, this.#destinations.shared];
    if (outbounds === null || destinations === null) return null;
    return { outbounds, destinations, problems: this.#problems, hasProblems: this.#hasProblems() };
  }

  /** Takes the outbounds of another view. This one was never published. */
  adopt({ outbounds, destinations, problems, hasProblems }: CalledParts): void {
    this.#outbounds.adopt(outbounds);
    this.#destinations.adopt(destinations);
    this.#problems = problems;
    if (hasProblems) this.#hasNewProblems = true;
  }

  /** Its outbounds if all of them are published; null also if some of them depend on the proxy itself. */
  get state(): ViewState | null {
    if (this.#changed !== null || this.#taken !== null || this.#hasNewProblems) return null;
    const [outbounds, destinations] = [this.#outbounds.shared, this.#destinations.shared];
    return outbounds === null || destinations === null ? null : { outbounds, destinations };
  }

  /** Whether it has these outbounds, and everything of it is published. */
  isIn({ outbounds, destinations }: ViewState): boolean {
    if (this.#changed !== null || this.#taken !== null || this.#hasNewProblems) return false;
    return this.#outbounds.shared === outbounds && this.#destinations.shared === destinations;
  }

  /** The unpublished changes; null if views that were equal may differ now. */
  get step(): ViewStep | null {
    const [outbounds, destinations] = [this.#outbounds.shared, this.#destinations.shared];
    if (outbounds === null || destinations === null) return null;
    return { outbounds, destinations, changed: this.#changed ?? NO_CHANGES, hasNewProblems: this.#hasNewProblems };
  }

  /** Takes the step of a view that was equal. */
  take({ outbounds, destinations, changed, hasNewProblems }: ViewStep): void {
    this.#outbounds.adopt(outbounds);
    this.#destinations.adopt(destinations);
    this.#taken = changed;
    this.#hasNewProblems = hasNewProblems;
  }

  outbound(name: string): EncodedOutbound | undefined {
    return this.#outbounds.get(name);
  }

  /** Null removes it. */
  setOutbound(name: string, part: EncodedOutbound | null): void {
    this.#note(this.#outbounds.get(name) ?? NOTHING, part ?? NOTHING);
    this.#outbounds.set(name, part);
  }

  destination(name: string): EncodedDestination | undefined {
    return this.#destinations.get(name);
  }

  /** Names of the listeners that depend on the proxy itself. */
  ownOutbounds(): string[] {
    return this.#outbounds.ownNames();
  }

  /** Names of the clusters that depend on the proxy itself. */
  ownDestinations(): string[] {
    return this.#destinations.ownNames();
  }

  /** Names of a type that the proxy has beside its outbounds. */
  ownNames(type: XdsType): string[] {
    return namesIn(this.#own, type);
  }

  /** Destinations by the name of their cluster. */
  clusters(): Iterable<[string, EncodedDestination]> {
    return this.#destinations.entries();
  }

  /** Outbounds by the name of their routes. */
  outbounds(): Iterable<[string, EncodedOutbound]> {
    return this.#outbounds.entries();
  }

  /** Null removes it. */
  setDestination(name: string, part: EncodedDestination | null): void {
    this.#note(this.#destinations.get(name) ?? NOTHING, part ?? NOTHING);
    this.#destinations.set(name, part);
  }

  /** Removes clusters that no outbound leads to any more. @param left clusters that some outbound led to */
  removeUnused(left: Set<string>): void {
    if (left.size === 0) return;
    for (const [, { destinations }] of this.outbounds()) for (const { kri } of destinations) left.delete(kri);
    for (const cluster of left) this.setDestination(cluster, null);
  }

  /** KRIs of the services whose ports a zone proxy opens. */
  zoneServices(): IterableIterator<string> {
    return this.#zonePorts.services();
  }

  /** Replaces the parts of a zone proxy for the ports of a service. @param ports by a name of each; empty if it opens none */
  setZonePorts(service: string, ports: ReadonlyMap<string, EncodedPart>): void {
    this.#zonePorts.set(service, ports, (before, after) => this.#note(before, after));
  }

  /** The filters and routes of an outbound with this listener, which opens when it has them. */
  neededBy(place: string): readonly TypedResource[] {
    const part = this.#outbounds.find(place, listenersIn);
    return part?.resources.filter(({ type }) => type !== 'Listener') ?? [];
  }

  /** Sets the listener. */
  listen(listener: ViewListener): void {
    this.#listener = listener;
  }

  /** Tells the listener what differs since the last time. */
  publish(): void {
    this.#outbounds.settle();
    this.#destinations.settle();
    const changed = this.#taken ?? this.#changed ?? NO_CHANGES;
    this.#taken = null;
    if (changed.size === 0 && !this.#hasNewProblems && !this.#hasNews) return;
    // Others may have the same map, as a step.
    if (changed === this.#changed) this.#changed = null;
    this.#hasNews = false;
    this.#listener?.changed(changed);
  }

  end(): void {
    this.#listener?.ended();
  }

  fail(error: unknown): void {
    this.#listener?.failed(error);
  }

  /** The listener of an outbound has the name of its place, its part that of the service. */
  #outboundAt(place: string): XdsResource | undefined {
    const part = this.#outbounds.find(place, listenersIn);
    return part === undefined ? undefined : resourceIn(part, 'Listener', place);
  }

  #partOf(type: XdsType, name: string): XdsResource | undefined {
    const part = (isOfListener(type) ? this.#outbounds.get(name) : this.#destinations.get(name)) ?? this.#zonePorts.with(name);
    return part === undefined ? undefined : resourceIn(part, type, name);
  }

  /** A part is about to be replaced: keeps the versions of what will differ. */
  #note(before: EncodedPart, after: EncodedPart): void {
    if (before === after) return;
    if (before.problems.length + after.problems.length > 0) this.#hasNewProblems = true;
    for (const { type, resource } of before.resources)
      if (resourceIn(after, type, resource.name)?.version !== resource.version) this.#add(type, resource.name);
    for (const { type, resource } of after.resources)
      if (resourceIn(before, type, resource.name) === undefined) this.#add(type, resource.name);
  }

  #add(type: XdsType, name: string): void {
    const changed = (this.#changed ??= new Map<XdsType, Map<string, string>>());
    let versions = changed.get(type);
    if (versions === undefined) changed.set(type, (versions = new Map<string, string>()));
    // The first is that of the last publication.
    if (!versions.has(name)) versions.set(name, this.get(type, name)?.version ?? '');
  }
}

/** A part has few resources, but for that of a proxy with many inbounds. */
function resourceIn({ resources }: EncodedPart, type: XdsType, name: string): XdsResource | undefined {
  return resources.find((held) => held.type === type && held.resource.name === name)?.resource;
}

function listenersIn(part: EncodedPart): string[] {
  return namesIn(part, 'Listener');
}

function namesIn(part: EncodedPart, type: XdsType): string[] {
  const names: string[] = [];
  addNames(names, part, type);
  return names;
}

function addNames(names: string[], { resources }: EncodedPart, type: XdsType): void {
  for (const held of resources) if (held.type === type) names.push(held.resource.name);
}

/** Whether outbounds have resources of this type; their destinations have the others. */
function isOfListener(type: XdsType): boolean {
  return type === 'Listener' || type === 'TypedExtensionConfig' || type === 'RouteConfiguration';
}
