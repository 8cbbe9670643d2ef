// The parts of proxy configurations that a change of rows of a mesh may affect. Pure. Invariant: it may name too much, never too little; a
// property test compares with whole configurations (xds 9).
import { MIN_ITEMS } from '../base/long-lists.ts';
import { perObject } from '../base/per-object.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { isRouteKind, type Policy } from '../policy/parse-policy.ts';
import { isMemberOf, memberServices } from '../policy/services.ts';
import { hasIdentities, withdrawnIn } from '../policy/proxy-identity.ts';
import { reachOf } from '../policy/policy-index.ts';
import { targetRefOf, type TargetRef } from '../policy/target-ref.ts';
import { identityNameOf } from '../resource/identity-in-force.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { relatedToSecret } from '../resource/own-secrets.ts';
import { isObject } from '../resource/read-json.ts';
import { secretRefsIn } from '../resource/secret-refs.ts';
import { isServiceType } from '../resource/type-registry.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { meshNamesServer } from './server-names.ts';
import { collectorsIn } from './telemetry.ts';

/** Services, by KRI without section. */
export class ServiceSet {
  isEvery = false;
  readonly #named = new Set<string>();

  add(kri: string): void {
    this.#named.add(kri);
  }

  addAll(other: ServiceSet): void {
    if (other.isEvery) this.isEvery = true;
    for (const kri of other.#named) this.#named.add(kri);
  }

  get named(): ReadonlySet<string> {
    return this.#named;
  }
}

/** The parts that one version of a policy can change on the proxies that it matches. */
export type PolicyScope = {
  readonly policy: Policy;
  /** Every proxy has it, or those whose own policies it is among. */
  readonly isShared: boolean;
  /** Listeners, routes and clusters of these services. */
  readonly services: ServiceSet;
  /** It is about inbounds, or about the proxy's own resources. */
  readonly isInbound: boolean;
  /** It is about the whole proxy. */
  readonly isProxyWide: boolean;
};

/** Access logs for all destinations also apply to the listener of redirected connections, which belongs to no destination. */
function isOfPassthrough({ type, to }: Policy): boolean {
  return type === 'MeshAccessLog' && to.some(({ targetRef }) => targetRef.kind === 'Mesh');
}

/** These are few and change rarely, and every part of a proxy may depend on one. */
const TOUCHES_EVERYTHING: ReadonlySet<string> = new Set(['Mesh', 'MeshOpenTelemetryBackend', 'MeshIdentity', 'MeshTrust']);

export class ChangeScope {
  /** Everything of every proxy. */
  isEverything = false;
  /** Policies that changed, as they were and as they are now. */
  readonly policies: PolicyScope[] = [];
  /** Types of policies whose matches may differ. */
  readonly matchedTypes = new Set<string>();
  /** Stored names of Dataplanes that changed. */
  readonly dataplanes = new Set<string>();
  /** Display names of these Dataplanes: a reference by name may now mean another one. */
  readonly dataplaneNames = new Set<string>();
  /** Services that changed for another reason than a policy. */
  readonly services = new ServiceSet();
  /** Services whose endpoints changed. */
  readonly endpoints = new ServiceSet();
  /** Stored names of the Dataplanes behind services that changed: whether an inbound demands TLS, and its server names. */
  readonly servers = new Set<string>();
  /** Services and routes that changed, for references that mean them or did. */
  readonly #changed = new ChangedReferents();
  readonly #index: MeshIndex;

  constructor(index: MeshIndex) {
    this.#index = index;
  }

  /**
   * A change is about to be made.
   * @param held rows that the index holds, and that will be replaced or removed
   * @param next rows that it will hold
   */
  before(held: readonly Resource[], next: readonly Resource[]): void {
    for (const row of [...held, ...next]) if (isReferent(row.type)) this.#changed.add(row);
    this.#add(held);
  }

  /** The change was made. @param next rows that the index holds now */
  after(next: readonly Resource[]): void {
    this.#add(next);
  }

  #add(rows: readonly Resource[]): void {
    for (const row of rows) this.#addRow(row);
    if (!this.#changed.isEmpty) this.#addUsersOf(this.#changed);
  }

  /** Whether a service changed, came or went: references of Dataplanes may mean others. */
  get hasServices(): boolean {
    return this.#changed.hasServices;
  }

  /** Whether a reference of a Dataplane means a service that changed, or did. */
  means(ref: TargetRef): boolean {
    return this.#changed.isMeantBy(ref);
  }

  #addRow(row: Resource): void {
    if (TOUCHES_EVERYTHING.has(row.type) || identityNameOf(row) !== null) this.isEverything = true;
    else if (row.type === 'Dataplane') this.#addDataplane(row);
    else if (isServiceType(row.type)) this.#addService(row);
    else if (row.type === 'Secret') this.#addUsersOfSecret(row.name);
    else if (row.type === 'MeshZoneAddress') this.#addZoneAddress(row);
    else {
      const policy = this.#index.policyOf(row);
      if (policy !== undefined) this.#addPolicy(policy);
    }
  }

  #addDataplane(row: Resource): void {
    this.dataplanes.add(row.name);
    this.dataplaneNames.add(displayNameOf(row));
    const proxy = this.#index.proxy(row.name);
    if (proxy === undefined) return;
    for (const service of this.#index.selections.servicesOf(proxy)) this.#addEndpointsOf(service);
    // Clients check the identity of the egress.
    if (proxy.sections.some(({ kind }) => kind === 'ZoneEgress'))
      for (const service of this.#index.resources('MeshExternalService')) this.#addEndpointsOf(service);
  }

  /** Other zones reach the services of its zone there. */
  #addZoneAddress({ labels }: Resource): void {
    const zone = zoneNamed(labels);
    for (const service of this.#index.resources('MeshService'))
      if (zoneNamed(service.labels) === zone) this.#addEndpointsOf(service);
  }

  /** Also of the other Secrets of a MeshIdentity: whether a name is one of the control plane depends on them. */
  #addUsersOfSecret(name: string): void {
    const related = new Set([name, ...relatedToSecret('', name).map((key) => key.name)]);
    for (const service of this.#index.resources('MeshExternalService'))
      if (secretRefsIn(service.spec).some((ref) => related.has(ref.name))) this.services.add(this.#index.kriOf(service));
  }

  #addService(row: Resource): void {
    this.#addServiceAndSharers(row);
    this.#addEndpointsOf(row);
    if (row.type === 'MeshMultiZoneService') this.#addServersOf(row);
    if (row.type !== 'MeshService') return;
    for (const multiZone of this.#index.resources('MeshMultiZoneService'))
      if (isMemberOf(multiZone, row)) this.#addServiceAndSharers(multiZone);
    if (hasIdentities(this.#index)) this.#addServers([row]);
    if (withdrawnIn(this.#index).size > 0) this.#addServicesBeside(row);
  }

  /** Whether clients use TLS to a server depends on the other services of it, while one of them loses its TLS. */
  #addServicesBeside(service: Resource): void {
    for (const proxy of this.#index.selections.proxiesOf(service))
      for (const other of this.#index.selections.servicesOf(proxy)) this.#addEndpointsOf(other);
  }

  /** Rules of inbounds name a MeshMultiZoneService by its server names. */
  #addServersOf(multiZone: Resource): void {
    if (!hasIdentities(this.#index) || !meshNamesServer(this.#index)) return;
    this.#addServers(memberServices(this.#index, multiZone));
  }

  #addServers(services: readonly Resource[]): void {
    for (const { resource } of services.flatMap((service) => this.#index.selections.proxiesOf(service)))
      this.servers.add(resource.name);
  }

  /** With the services that may get its server names, or lose theirs. */
  #addServiceAndSharers(service: Resource): void {
    for (const one of [service, ...this.#index.snis.of(service)]) this.services.add(this.#index.kriOf(one));
  }

  #addEndpointsOf(service: Resource): void {
    this.endpoints.add(this.#index.kriOf(service));
    if (service.type !== 'MeshService') return;
    for (const multiZone of this.#index.resources('MeshMultiZoneService'))
      if (isMemberOf(multiZone, service)) this.endpoints.add(this.#index.kriOf(multiZone));
  }

  #addPolicy(policy: Policy): void {
    const reach = reachOf(policy);
    // A route that no proxy has can still be the target of another policy, which then has no effect either.
    if (reach === 'none') return;
    const services = new ServiceSet();
    this.#addDestinations(policy, services, new Set());
    // Both ends of a connection have the versions and ciphers of it.
    if (policy.type === 'MeshTLS') services.isEvery = true;
    this.matchedTypes.add(policy.type);
    // A policy of the old form is on the proxies of its route.
    if (isRouteKind(policy.type)) for (const type of this.#index.typesOnRoutes()) this.matchedTypes.add(type);
    this.policies.push({
      policy,
      isShared: reach === 'every proxy',
      services,
      isInbound: policy.rules.length + policy.from.length + collectorsIn(policy).length > 0 || isOfPassthrough(policy),
      isProxyWide: policy.conf !== null,
    });
  }

  /** The services that a policy is about: those of its `to[]`, and those of the routes that it names. */
  #addDestinations(policy: Policy, services: ServiceSet, seen: Set<Policy>): void {
    if (seen.has(policy)) return;
    seen.add(policy);
    const refs = [
      ...policy.to.map(({ targetRef }) => targetRef),
      ...(isRouteKind(policy.targetRef.kind) ? [policy.targetRef] : []),
    ];
    for (const ref of refs) {
      if (ref.kind === 'Mesh') services.isEvery = true;
      else
        for (const found of this.#index.resolve(ref, policy, '')) {
          const route = isRouteKind(found.type) ? this.#index.policyOf(found) : undefined;
          if (route === undefined) services.add(this.#index.kriOf(found));
          else this.#addDestinations(route, services, seen);
        }
    }
  }

  /** A policy that names a changed service or route changes all services that it is about: it means others, or leads elsewhere. */
  #addUsersOf(changed: ChangedReferents): void {
    for (const policy of this.#index.allPolicies())
      if (refsOf(policy).some((ref) => changed.isMeantBy(ref))) this.#addDestinations(policy, this.services, new Set());
  }
}

/** Services and routes by what references name. */
class ChangedReferents {
  readonly #names = new Set<string>();
  readonly #rows: Resource[] = [];

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  get hasServices(): boolean {
    return this.#rows.some(({ type }) => isServiceType(type));
  }

  add(row: Resource): void {
    this.#names.add(`${row.type} ${displayNameOf(row)}`);
    this.#rows.push(row);
  }

  isMeantBy({ kind, name, labels }: TargetRef): boolean {
    if (labels === null) return this.#names.has(`${kind} ${name}`);
    return this.#rows.some(
      (row) =>
        row.type === kind &&
        Object.entries(labels).every(
          ([key, value]) => (key === label.displayName ? displayNameOf(row) : row.labels[key]) === value,
        ),
    );
  }
}

function isReferent(type: string): boolean {
  return isServiceType(type) || isRouteKind(type);
}

/** The references of a policy to services and routes, backends included; each once: the rules of a long route name few services. */
const refsOf = perObject((policy: Policy): readonly TargetRef[] => {
  const found: Refs = new Map();
  addRef(found, policy.targetRef);
  for (const { targetRef, conf } of policy.to) {
    addRef(found, targetRef);
    addBackendRefs(found, conf);
  }
  return [...found.values()];
});

type Refs = Map<string, TargetRef>;

function addRef(found: Refs, ref: TargetRef): void {
  found.set(JSON.stringify(ref), ref);
}

/** Adds the values of the keys `backendRef` and `backendRefs`, at any depth. */
function addBackendRefs(found: Refs, value: Json): void {
  if (Array.isArray(value)) {
    for (const item of value)
      if (value.length < MIN_ITEMS || !isObject(item)) addBackendRefs(found, item);
      else backendRefsOf(item).forEach((ref, text) => found.set(text, ref));
  } else if (isObject(value))
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'backendRef') addRef(found, targetRefOf(inner));
      else if (key === 'backendRefs' && Array.isArray(inner)) for (const ref of inner) addRef(found, targetRefOf(ref));
      else addBackendRefs(found, inner);
    }
}

/** Of an item of a long list, which is the same object in all versions of a policy. */
const backendRefsOf = perObject((item: JsonObject): Refs => {
  const found: Refs = new Map();
  addBackendRefs(found, item);
  return found;
});
