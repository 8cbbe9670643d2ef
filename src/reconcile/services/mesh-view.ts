// The rows of one mesh in a zone, indexed: Dataplanes, their insights, services of all types. Pure. Invariant: a change marks
// exactly the services that it can affect, before it returns.
import { isDeepStrictEqual } from 'node:util';
import { kriOf } from '../../resource/kri.ts';
import { isLocal } from '../../resource/ownership.ts';
import { objectOf } from '../../resource/read-json.ts';
import { memberLabels } from '../../resource/service-members.ts';
import { placeOf } from '../../resource/service-reach.ts';
import { SniSharers } from '../../resource/sni-sharers.ts';
import { keyText, type Resource } from '../../resource/types.ts';
import { dataplaneFacts, selectable, selectorOf, type Address, type DataplaneFacts, type LeftPlace } from './dataplane-facts.ts';
import { HostnameClaims, type HostnameGenerators } from './hostnames.ts';
import { dataplanePairs, serviceSelector } from '../../policy/dataplane-selector.ts';
import { ItemIndex, labelPairs, SelectorIndex } from '../../policy/selector-index.ts';
import { AcceptedTls, type TlsFacts } from './accepted-tls.ts';
import { MeshIdentities } from './mesh-identities.ts';
import { ServiceGroups, membershipsOf } from './service-groups.ts';
import { DebouncedValue } from './debounced-value.ts';
import { Absences, absenceIn } from './absences.ts';
import { placeText } from '../../resource/zone-listeners.ts';
import { readyZoneProxies, type ReadyZoneProxy, type ZoneProxy } from './zone-proxies.ts';

/** A service: its stored row, and its base row, which the generator may have changed or created. */
export type ServiceEntry = { readonly id: string; readonly stored: Resource | undefined; readonly base: Resource };

type Proxy = 'ingress' | 'egress';

/** The egress of a mesh in this zone, with the SPIFFE IDs that it may have. */
export type Egress = Address & { readonly spiffeIds: readonly string[] };

export class MeshView {
  readonly mesh: string;
  /** It is false for a mesh without its Mesh row: nothing in it is written (engine 18). */
  isThere = false;
  /** The MeshZoneAddresses with a name that this zone publishes, from any origin. */
  readonly zoneAddresses = new Map<string, Resource>();
  /** Ids of services to plan again. */
  readonly dirty = new Set<string>();
  /** Names of generated services to plan again. */
  readonly dirtyGroups = new Set<string>();
  /** The time at which to plan a generated service again, in milliseconds since 1970, by its name. */
  readonly wakes = new Map<string, number>();
  readonly groups = new ServiceGroups();
  /** The services that share server names. */
  readonly snis = new SniSharers();
  readonly services = new Map<string, ServiceEntry>();
  readonly settled = {
    ingress: new DebouncedValue<Address | null>(null),
    ingresses: new DebouncedValue<readonly ReadyZoneProxy[]>([]),
    egress: new DebouncedValue<Egress | null>(null),
  };
  readonly identities: MeshIdentities;
  readonly #zone: string;
  readonly #generators: HostnameGenerators;
  readonly #facts = new Map<string, DataplaneFacts>();
  readonly #online = new Map<string, boolean>();
  /** The absences of the Dataplanes with an insight. Their proxies go on without a stream. */
  readonly #absences: Absences;
  /** Addresses of the zone proxies that clients have; null before the first plan, which takes them from the table. */
  #published: Readonly<Record<Proxy, ReadonlySet<string>>> | null = null;
  /** Dataplanes whose proxies have said that they stop. */
  readonly #leaving = new Set<string>();
  /** The places where the Envoys of zone proxies listen, as far as their insights name them. */
  readonly #listens = new Map<string, ReadonlySet<string>>();
  /** The facts of the Dataplanes with an insight that says something about TLS. */
  readonly #tls = new Map<string, TlsFacts>();
  readonly #accepted = new AcceptedTls();
  readonly #dataplanes = new ItemIndex<string>();
  readonly #zoneProxies = new Set<string>();
  readonly #dataplaneSelectors = new SelectorIndex();
  readonly #meshServices = new ItemIndex<string>();
  readonly #serviceSelectors = new SelectorIndex();
  readonly #claims = new Map<string, HostnameClaims>();

  /** @param reconnectMs the time in which a proxy may open its stream again, in milliseconds */
  constructor(mesh: string, zone: string, generators: HostnameGenerators, reconnectMs: number) {
    this.mesh = mesh;
    this.#absences = new Absences(reconnectMs);
    this.identities = new MeshIdentities(mesh, zone);
    this.#zone = zone;
    this.#generators = generators;
  }

  setThere(isThere: boolean): void {
    if (this.isThere === isThere) return;
    this.isThere = isThere;
    this.touchAll();
  }

  putDataplane(row: Resource): void {
    const facts = dataplaneFacts(row);
    const before = this.#facts.get(row.name);
    if (isDeepStrictEqual(before, facts)) return;
    this.#facts.set(facts.name, facts);
    this.#dataplanes.put(facts.name, dataplanePairs(selectable(facts)));
    if (facts.ingress === null && facts.egress === null) this.#zoneProxies.delete(facts.name);
    else this.#zoneProxies.add(facts.name);
    for (const service of this.groups.put(facts.name, membershipsOf(facts))) this.dirtyGroups.add(service);
    this.#touchServed(before, facts);
    this.#assessTls(facts.name);
  }

  removeDataplane(name: string): void {
    this.#touchSelecting(this.#facts.get(name));
    this.#facts.delete(name);
    this.#dataplanes.remove(name);
    this.#zoneProxies.delete(name);
    for (const service of this.groups.put(name, [])) this.dirtyGroups.add(service);
    this.#assessTls(name);
  }

  putIdentity(row: Resource): void {
    if (this.identities.put(row)) this.#identitiesChanged();
  }

  removeIdentity(name: string): void {
    if (this.identities.remove(name)) this.#identitiesChanged();
  }

  /** Puts an identity that is in force. @param row its Secret */
  putInForce(row: Resource): void {
    if (this.identities.putInForce(row)) this.#identitiesChanged();
  }

  removeInForce(key: Pick<Resource, 'type' | 'name'>): void {
    if (this.identities.removeInForce(key)) this.#identitiesChanged();
  }

  /** Sets the insight of a Dataplane. @param insight null if the Dataplane has none */
  setInsight(name: string, insight: Pick<Resource, 'spec' | 'status'> | null): void {
    const absence = insight === null ? null : absenceIn(insight);
    const isOnline = insight === null ? undefined : absence === null;
    const isNew = this.#absences.put(name, absence);
    if (this.#online.get(name) === isOnline && !isNew) return;
    if (isOnline === undefined) this.#online.delete(name);
    else this.#online.set(name, isOnline);
    this.#touchSelecting(this.#facts.get(name));
    this.#assessTls(name);
  }

  setLeaving(name: string, isLeaving: boolean): void {
    if (isLeaving) this.#leaving.add(name);
    else this.#leaving.delete(name);
  }

  /** Sets the places of a zone proxy. @param places null if the insight does not say where its proxy listens */
  setListens(name: string, places: ReadonlySet<string> | null): void {
    if (places === null) this.#listens.delete(name);
    else this.#listens.set(name, places);
  }

  /** Sets the facts about the TLS of a proxy. @param facts null if the insight says nothing about TLS */
  setTls(name: string, facts: TlsFacts | null): void {
    const before = this.#tls.get(name) ?? null;
    if (isDeepStrictEqual(before, facts)) return;
    if (facts === null) this.#tls.delete(name);
    else this.#tls.set(name, facts);
    if (before?.isReady !== facts?.isReady) this.#touchSelecting(this.#facts.get(name));
    this.#assessTls(name);
  }

  /** Whether the inbounds of a proxy accept TLS. */
  acceptsTls(dataplane: string): boolean {
    return this.#tls.get(dataplane)?.isReady === true;
  }

  /** Whether a proxy with an identity calls a MeshService in plain text, or may do so. @param kri the KRI of the MeshService */
  isCalledInPlaintext(kri: string): boolean {
    return this.#accepted.isCalledInPlaintext(kri);
  }

  isOnline(dataplane: string): boolean {
    return this.#online.get(dataplane) === true;
  }

  dataplaneNames(): string[] {
    return [...new Set([...this.#facts.keys(), ...this.#online.keys()])];
  }

  /** The Dataplanes that a MeshService selects. */
  selectedBy(service: ServiceEntry): DataplaneFacts[] {
    const names = this.#dataplanes.withAll(this.#dataplaneSelectors.pairsOf(service.id));
    const found = names.map((name) => this.#facts.get(name)).filter((facts) => facts !== undefined);
    return found.filter(selectorOf(service.base));
  }

  /** The MeshServices that a MeshMultiZoneService selects. */
  matchedBy(service: ServiceEntry): Resource[] {
    const ids = this.#meshServices.withAll(this.#serviceSelectors.pairsOf(service.id));
    return ids.map((id) => this.services.get(id)?.base).filter((base) => base !== undefined);
  }

  /**
   * Publishes settled changes of ingress and egress, and marks the services that have them.
   * @param now `elapsed` of the clock
   * @returns the time of the next call, or null
   */
  settle(now: number): number | null {
    const { ingress, ingresses, egress } = this.settled;
    const { gone, wakeAt } = this.#absences.look(now);
    for (const name of gone) this.#assessTls(name);
    this.#published ??= this.#storedPlaces();
    const ready = readyZoneProxies(this.#proxiesWith('ingress'), this.#published.ingress);
    if (ingress.offer(ready[0]?.address ?? null, now)) this.#touchType('MeshService');
    ingresses.offer(ready, now);
    const [firstEgress] = readyZoneProxies(this.#proxiesWith('egress'), this.#published.egress);
    if (egress.offer(this.#identified(firstEgress), now)) this.#touchType('MeshExternalService');
    this.#published = {
      ingress: placesOf([ingress.value, ...ingresses.value.map(({ address }) => address)]),
      egress: placesOf([egress.value]),
    };
    return earliest([ingress.wakeAt, ingresses.wakeAt, egress.wakeAt, wakeAt]);
  }

  /** Clients know an egress by its identities, also when its Dataplane has another place already, or is gone. */
  #identified(egress: ReadyZoneProxy | undefined): Egress | null {
    const facts = egress === undefined ? undefined : this.#facts.get(egress.name);
    return egress === undefined || facts === undefined ? null : { ...egress.address, spiffeIds: this.identities.idsOf(facts) };
  }

  claimsOf(type: string): HostnameClaims {
    let claims = this.#claims.get(type);
    if (claims === undefined) this.#claims.set(type, (claims = new HostnameClaims()));
    return claims;
  }

  /** Adds or replaces a service, and marks everything that it may affect. */
  putService(entry: ServiceEntry): void {
    const { id, base } = entry;
    const before = this.services.get(id)?.base;
    this.services.set(id, entry);
    this.dirty.add(id);
    if (base.type === 'MeshService') {
      if (!isDeepStrictEqual(before?.labels, base.labels)) {
        this.#touchMatching(before);
        this.#meshServices.put(id, labelPairs(base.labels));
        this.#touchMatching(base);
      }
      this.#dataplaneSelectors.put(id, serviceSelector(base));
    }
    if (base.type === 'MeshMultiZoneService') this.#serviceSelectors.put(id, labelPairs(memberLabels(base.spec)));
    this.shareSnis(before, base);
    this.claimHostnames(entry);
  }

  removeService(id: string): void {
    const entry = this.services.get(id);
    if (entry === undefined) return;
    this.#touchMatching(entry.base);
    for (const other of this.claimsOf(entry.base.type).remove(id)) this.dirty.add(other);
    this.shareSnis(entry.base, undefined);
    this.#meshServices.remove(id);
    this.#dataplaneSelectors.remove(id);
    this.#serviceSelectors.remove(id);
    this.services.delete(id);
    this.dirty.delete(id);
  }

  /** Replaces a service among those with one server name, and marks the others. */
  shareSnis(before: Resource | undefined, after: Resource | undefined): void {
    const others = [before, after].flatMap((one) => (one === undefined ? [] : this.snis.of(one)));
    if (before !== undefined) this.snis.remove(before);
    if (after !== undefined) this.snis.add(after);
    for (const other of others) this.dirty.add(keyText(other));
  }

  claimHostnames({ id, base }: ServiceEntry): void {
    const claims = this.#generators.claimsOf(base, this.#zone);
    const aged = { created: base.creationTime.getTime(), name: base.name };
    for (const other of this.claimsOf(base.type).put(id, aged, claims)) this.dirty.add(other);
  }

  touchAll(): void {
    for (const id of this.services.keys()) this.dirty.add(id);
    for (const service of this.groups.services()) this.dirtyGroups.add(service);
    for (const { base } of this.services.values()) if (base.type === 'MeshService') this.dirtyGroups.add(base.name);
  }

  serviceNamed(name: string): ServiceEntry | undefined {
    return this.services.get(keyText({ type: 'MeshService', mesh: this.mesh, name }));
  }

  #identitiesChanged(): void {
    this.#touchType('MeshService');
    for (const name of this.#facts.keys()) this.#assessTls(name);
  }

  /** Counts a proxy among those that call services, while it is connected, or lost, and has an identity. */
  #assessTls(name: string): void {
    const facts = this.#facts.get(name);
    const isThere = this.isOnline(name) || this.#absences.stateOf(name) === 'lost';
    const isCaller = facts !== undefined && isThere && this.identities.idsOf(facts).length > 0;
    const freed = this.#accepted.put(name, isCaller, this.#tls.get(name) ?? null);
    const kris = freed === null ? null : new Set(freed);
    if (kris?.size === 0) return;
    for (const { id, base } of this.services.values())
      if (waitsForCallers(base) && (kris === null || kris.has(kriOf(base) ?? ''))) this.dirty.add(id);
  }

  #proxiesWith(proxy: Proxy): ZoneProxy[] {
    return [...this.#zoneProxies].flatMap((name) => {
      const facts = this.#facts.get(name);
      const address = facts?.[proxy] ?? null;
      if (facts === undefined || address === null) return [];
      const state = this.#absences.stateOf(name);
      const open = this.#openAt(name, { place: facts.places[proxy] ?? '', address }, facts.left[proxy]);
      return [{ name, address: open ?? address, state, isLeaving: this.#leaving.has(name), isListening: open !== null }];
    });
  }

  /**
   * The address at which an Envoy listens. One that has not opened the place of its Dataplane yet keeps the last one. An insight that does
   * not name places was written by an older version, and without an insight there was no Envoy yet.
   */
  #openAt(name: string, wanted: LeftPlace, left: readonly LeftPlace[]): Address | null {
    const listens = this.#listens.get(name);
    const isOpen = listens?.has(wanted.place) ?? this.#online.has(name);
    if (isOpen) return wanted.address;
    return left.find(({ place }) => listens?.has(place) === true)?.address ?? null;
  }

  /** The addresses that an earlier leader published. */
  #storedPlaces(): Record<Proxy, ReadonlySet<string>> {
    const stored = [...this.services.values()].flatMap(({ stored: row }) => row ?? []);
    const local = stored.filter((row) => row.type === 'MeshService' && isLocal(row, 'zone'));
    return {
      ingress: placesOf(
        [...this.zoneAddresses.values(), ...local].map(({ type, spec }) =>
          placeOf(type === 'MeshService' ? spec['zoneIngress'] : spec),
        ),
      ),
      egress: placesOf(stored.map(({ status }) => placeOf(status['zoneEgress']))),
    };
  }

  #touchSelecting(facts: DataplaneFacts | undefined): void {
    for (const id of this.#selecting(facts)) this.dirty.add(id);
  }

  /** A service computes its row from its Dataplanes as a whole: one that serves as before must not cost that. */
  #touchServed(before: DataplaneFacts | undefined, after: DataplaneFacts): void {
    const [left, served] = [this.#selecting(before), this.#selecting(after)];
    const servesAlike =
      before !== undefined &&
      isDeepStrictEqual(before.inbounds, after.inbounds) &&
      isDeepStrictEqual(this.identities.idsOf(before), this.identities.idsOf(after));
    for (const id of [...left, ...served]) if (!servesAlike || !left.has(id) || !served.has(id)) this.dirty.add(id);
  }

  #selecting(facts: DataplaneFacts | undefined): Set<string> {
    return facts === undefined ? new Set() : this.#dataplaneSelectors.selecting(dataplanePairs(selectable(facts)));
  }

  #touchMatching(service: Resource | undefined): void {
    if (service?.type !== 'MeshService') return;
    for (const id of this.#serviceSelectors.selecting(labelPairs(service.labels))) this.dirty.add(id);
  }

  #touchType(type: string): void {
    for (const { id, base } of this.services.values()) if (base.type === type) this.dirty.add(id);
  }
}

function placesOf(places: readonly (Address | null)[]): ReadonlySet<string> {
  return new Set(places.flatMap((place) => (place === null ? [] : [placeText(place)])));
}

/** Whether its servers accept TLS, and do not demand it yet. */
export function waitsForCallers({ type, status }: Resource): boolean {
  const tls = objectOf(status['tls']);
  return type === 'MeshService' && tls['status'] === 'Ready' && tls['enforced'] !== true;
}

/** The smallest of the times, null if there is none. */
export function earliest(times: Iterable<number | null>): number | null {
  let first: number | null = null;
  for (const time of times) if (time !== null && (first === null || time < first)) first = time;
  return first;
}
