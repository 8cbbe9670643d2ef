// An index of the rows of one mesh that policies need: it resolves references and finds policies without scans.
// Invariant: after any puts and removes it answers like a new index of the same rows. The cost of a change is linear in the rows
// that it affects.
import { perObject } from '../base/per-object.ts';
import { kriOf } from '../resource/kri.ts';
import { SniSharers } from '../resource/sni-sharers.ts';
import { findType, isServiceType } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { parseDataplane, type DataplaneProxy } from './dataplane-proxy.ts';
import { matchDataplane, type Lookup } from './match-dataplane.ts';
import { parsePolicy, type Place, type Policy } from './parse-policy.ts';
import { PolicyIndex } from './policy-index.ts';
import { Referents } from './referents.ts';
import { Selections } from './selections.ts';
import type { TargetRef } from './target-ref.ts';

/** Kinds that `to[]`, backends and old top-level refs can refer to (policies 1.2). */
const DESTINATIONS: ReadonlySet<string> = new Set([
  'MeshService',
  'MeshExternalService',
  'MeshMultiZoneService',
  'MeshHTTPRoute',
  'MeshTCPRoute',
]);

/** Kinds that policies and Dataplanes refer to. */
const REFERENTS: ReadonlySet<string> = new Set([...DESTINATIONS, 'Dataplane', 'MeshOpenTelemetryBackend']);

export class MeshIndex implements Lookup {
  readonly mesh: string;
  readonly #resources = new Map<string, Map<string, Resource>>();
  readonly #referents = new Referents();
  /** Services with one server name. */
  readonly snis = new SniSharers();
  readonly selections = new Selections({
    proxies: () => this.proxies(),
    services: () => this.resources('MeshService'),
    service: (name) => this.get('MeshService', name),
  });
  readonly #policies = new Map<string, PolicyIndex>();
  readonly #proxies = new Map<string, DataplaneProxy>();
  readonly #changes = new Map<string, number>();
  #destinationChanges = 0;
  #serviceChanges = 0;

  constructor(mesh: string, resources: Iterable<Resource> = []) {
    this.mesh = mesh;
    for (const resource of resources) this.put(resource);
  }

  /** Adds or replaces a resource. The Mesh itself may be put too; other meshes' resources and foreign types are ignored. */
  put(resource: Resource): void {
    if (!this.#isOurs(resource)) return;
    this.remove(resource);
    let named = this.#resources.get(resource.type);
    if (named === undefined) this.#resources.set(resource.type, (named = new Map<string, Resource>()));
    named.set(resource.name, resource);
    if (resource.type === 'Dataplane') this.#putProxy(proxyIn(resource));
    if (resource.type === 'MeshService') this.selections.putService(resource);
    if (REFERENTS.has(resource.type)) this.#referents.add(resource);
    this.snis.add(resource);
    if (isPolicyType(resource.type)) this.#policiesOf(resource.type).put(policyIn(resource));
    this.#noteChange(resource.type);
  }

  remove(key: ResourceKey): void {
    const resource = this.#isOurs(key) ? this.get(key.type, key.name) : undefined;
    if (resource === undefined) return;
    this.#resources.get(key.type)?.delete(key.name);
    if (key.type === 'Dataplane') this.#removeProxy(key.name);
    if (key.type === 'MeshService') this.selections.removeService(key);
    this.#referents.delete(resource);
    this.snis.remove(resource);
    this.#policies.get(key.type)?.remove(key.name);
    this.#noteChange(key.type);
  }

  /** Sets the zones that global has disabled; their resources do not reach other zones (kds-wire 5.2.5). */
  disableZones(zones: ReadonlySet<string>): void {
    if (!this.wouldDisable(zones)) return;
    this.#referents.disabledZones = zones;
    this.#destinationChanges += 1;
    this.#serviceChanges += 1;
  }

  /** Whether these are other zones than those that are disabled now. */
  wouldDisable(zones: ReadonlySet<string>): boolean {
    const known = this.#referents.disabledZones;
    return known.size !== zones.size || [...zones].some((zone) => !known.has(zone));
  }

  /** Another index, of each row as `edit` gives it back. */
  copy(edit: (resource: Resource) => Resource): MeshIndex {
    const copy = this.emptyCopy();
    for (const resource of this.allResources()) copy.put(edit(resource));
    return copy;
  }

  /** An index of the same mesh without rows. */
  emptyCopy(): MeshIndex {
    const copy = new MeshIndex(this.mesh);
    copy.disableZones(this.#referents.disabledZones);
    return copy;
  }

  allResources(): Resource[] {
    return [...this.#resources.values()].flatMap((named) => [...named.values()]);
  }

  isDisabled(zone: string): boolean {
    return this.#referents.disabledZones.has(zone);
  }

  /** By type and stored name. */
  get(type: string, name: string): Resource | undefined {
    return this.#resources.get(type)?.get(name);
  }

  /** The service, route or Dataplane with this KRI without section. */
  withKri(type: string, kri: string): Resource | undefined {
    return this.#referents.withKri(type, kri);
  }

  /** KRI without section. */
  kriOf(resource: Resource): string {
    return this.#referents.kriOf(resource) || (kriOf(resource) ?? '');
  }

  /** The Mesh, or one without labels if it was not put. */
  meshResource(): Resource {
    return this.get('Mesh', this.mesh) ?? unknownMesh(this.mesh);
  }

  resources(type: string): Iterable<Resource> {
    return this.#resources.get(type)?.values() ?? [];
  }

  count(type: string): number {
    return this.#resources.get(type)?.size ?? 0;
  }

  /** Whether the control plane of a zone (`''`: any) has this service, route or Dataplane. */
  isVisible(resource: Resource, zone: string): boolean {
    return this.#referents.isVisible(resource, zone);
  }

  /** Services and routes of a type that the control plane of a zone has. */
  *visible(type: string, zone: string): Generator<Resource> {
    for (const resource of this.resources(type)) if (this.#referents.isVisible(resource, zone)) yield resource;
  }

  proxies(): Iterable<DataplaneProxy> {
    return this.#proxies.values();
  }

  /** By stored name. */
  proxy(name: string): DataplaneProxy | undefined {
    return this.#proxies.get(name);
  }

  policy(type: string, name: string): Policy | undefined {
    return this.#policies.get(type)?.policies.get(name);
  }

  policyOf(resource: Resource): Policy | undefined {
    return this.policy(resource.type, resource.name);
  }

  *allPolicies(): Generator<Policy> {
    for (const { policies } of this.#policies.values()) yield* policies.values();
  }

  /** Types with policies of the old form, whose top-level targetRef is a route. */
  typesOnRoutes(): string[] {
    return [...this.#policies].flatMap(([type, { hasRouteTargets }]) => (hasRouteTargets ? [type] : []));
  }

  /** Policies of a type that match every proxy of this one's zone that can be matched at all. */
  shared(type: string, proxy: Pick<DataplaneProxy, 'zone' | 'origin'>): Policy[] {
    const shared = this.#policiesOf(type).shared(proxy);
    if (this.#referents.disabledZones.size === 0) return shared;
    return shared.filter(({ zone }) => zone === proxy.zone || !this.isDisabled(zone));
  }

  /** Policies of a type whose top-level targetRef matches this proxy, with the selected sections, unordered. */
  matching(type: string, proxy: DataplaneProxy): ProxyMatches {
    const matches: ProxyMatches = { selected: new Map(), unresolved: [] };
    for (const policy of this.#policiesOf(type).candidates(proxy)) {
      const match = matchDataplane(policy, proxy, this);
      if (match.isMatched) matches.selected.set(policy, match.sections);
      else if (match.isUnresolved === true) matches.unresolved.push(policy);
    }
    return matches;
  }

  resolve(ref: TargetRef, from: Place, zone: string): Resource[] {
    return this.#referents.resolve(ref, from, zone);
  }

  /** The one object that a reference to a backend means. */
  resolveOldest(ref: TargetRef, from: Place, zone: string): Resource | undefined {
    return this.#referents.resolveOldest(ref, from, zone);
  }

  /** A value that changes whenever the shared rules of this type can change. */
  revisionOf(type: string): string {
    return `${String(this.#changes.get(type) ?? 0)}/${String(this.#destinationChanges)}`;
  }

  /** A value that changes whenever a reference to a service can mean another one. */
  get serviceRevision(): number {
    return this.#serviceChanges;
  }

  #putProxy(proxy: DataplaneProxy): void {
    this.#proxies.set(proxy.resource.name, proxy);
    this.selections.putProxy(proxy);
  }

  #removeProxy(name: string): void {
    const proxy = this.#proxies.get(name);
    if (proxy !== undefined) this.selections.removeProxy(proxy);
    this.#proxies.delete(name);
  }

  #noteChange(type: string): void {
    this.#changes.set(type, (this.#changes.get(type) ?? 0) + 1);
    if (isServiceType(type)) this.#serviceChanges += 1;
    if (DESTINATIONS.has(type) || type === 'Mesh') this.#destinationChanges += 1;
  }

  #policiesOf(type: string): PolicyIndex {
    let index = this.#policies.get(type);
    if (index === undefined) this.#policies.set(type, (index = new PolicyIndex()));
    return index;
  }

  #isOurs({ type, mesh, name }: ResourceKey): boolean {
    return type === 'Mesh' ? name === this.mesh : mesh === this.mesh;
  }
}

export type ProxyMatches = {
  readonly selected: Map<Policy, readonly DataplaneProxy['sections'][number][]>;
  /** Policies of the old form whose route does not exist; each gets a warning (policies 1.7). */
  readonly unresolved: Policy[];
};

let lastSerial = 0;

/** A row is read once for all indexes that hold it: those of a preview hold the rows of the mesh. */
const policyIn = perObject((row: Resource): Policy => parsePolicy(row, (lastSerial += 1)));
const proxyIn = perObject(parseDataplane);

function isPolicyType(type: string): boolean {
  return (findType(type)?.policy ?? null) !== null;
}

function unknownMesh(name: string): Resource {
  const time = new Date(0);
  return {
    type: 'Mesh',
    mesh: '',
    name,
    labels: {},
    spec: {},
    status: {},
    version: 0,
    creationTime: time,
    modificationTime: time,
    owner: null,
    syncVersion: null,
  };
}
