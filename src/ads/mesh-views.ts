// The views of the connected proxies of one mesh, kept current change by change. A change rebuilds only the parts that it may touch, and a
// part of several proxies is built and encoded once. Invariant: a view equals the view of a proxy that connects now.
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { Outbound } from '../policy/outbounds.ts';
import type { Resource } from '../resource/types.ts';
import { hasDemandedTls } from '../policy/demanded-tls.ts';
import { PERMITS_ALL, type ProxyPermit } from '../resource/proxy-permit.ts';
import { askedOfProxies } from '../policy/proxy-identity.ts';
import { ChangeScope } from '../xds/change-scope.ts';
import type { ProxyContext } from '../xds/proxy-context.ts';
import { changedPorts, listedOutbounds, type PlacedOutbound } from '../xds/listed-outbounds.ts';
import { addDestination, addOutbound } from '../xds/outbounds.ts';
import { addZonePort, ownConfig } from '../xds/proxy-config.ts';
import type { ProxyFeatures } from '../xds/proxy-features.ts';
import { Change } from './change.ts';
import { nameDocumentOf } from './companion-names.ts';
import { certifiedIdentity, trustedBundle } from '../xds/proxy-tls.ts';
import { localServers } from '../xds/servers.ts';
import { namesOf } from '../xds/name-table.ts';
import { zoneResourceName } from '../xds/names.ts';
import { formerZoneListeners } from '../xds/zone-listeners.ts';
import { dataplanePlaces, keptListeners } from '../xds/dataplane-places.ts';
import { zonePorts } from '../xds/zone-ports.ts';
import { ConnectedProxy } from './connected-proxy.ts';
import { EqualSteps } from './equal-steps.ts';
import type { Steps } from '../base/steps.ts';
import { LongRoutes } from './long-routes.ts';
import { JoinedExamples } from './joined-examples.ts';
import type { CertificateOrder, CertificateSource } from './proxy-certificates.ts';
import type { ResourceEncoder } from './encode-resources.ts';
import { PartCache } from './part-cache.ts';
import { PartMaker } from './part-maker.ts';
import type { EncodedPart } from './encoded-part.ts';
import type { EncodedDestination, EncodedOutbound, ProxyView, SharedParts } from './proxy-view.ts';
import { ServiceNames } from './service-names.ts';
import { SharedMaps } from './shared-map.ts';
import { ViewCertificates } from './view-certificates.ts';
import type { KeptPart } from './view-parts.ts';

/** Types of what has names. */
const SERVICES = ['MeshService', 'MeshMultiZoneService', 'MeshExternalService'];
const NO_CERTIFICATES: CertificateSource = { get: () => null, release: () => undefined };

export class MeshViews {
  readonly #index: MeshIndex;
  readonly #parts: PartMaker;
  /** By stored name of the Dataplane. */
  readonly #proxies = new Map<string, ConnectedProxy>();
  readonly #outbounds = new PartCache<EncodedOutbound>();
  readonly #destinations = new PartCache<EncodedDestination>();
  readonly #shared: SharedParts = { outbounds: new SharedMaps(), destinations: new SharedMaps() };
  /** What zone proxies have for each port that they open. */
  readonly #zonePorts = new PartCache<EncodedPart & KeptPart>();
  readonly #names = new ServiceNames();
  readonly #certificates: ViewCertificates;
  readonly #longRoutes: LongRoutes;
  readonly #examples = new JoinedExamples();
  #scope: ChangeScope | null = null;
  #isEnded = false;

  /**
   * @param zone of all proxies
   * @param certificates left out: no proxy gets one
   */
  constructor(index: MeshIndex, encoder: ResourceEncoder, zone: string, certificates: CertificateSource = NO_CERTIFICATES) {
    this.#index = index;
    this.#parts = new PartMaker(index, encoder, zone);
    this.#certificates = new ViewCertificates(index, this.#parts, certificates);
    this.#longRoutes = new LongRoutes(index, this.#parts, this.#outbounds);
  }

  /** Does most of the work of `open` for a proxy with routes of many rules. */
  *prepare(name: string, features: ProxyFeatures, permit: ProxyPermit = PERMITS_ALL): Steps<void> {
    const proxy = this.#isEnded ? undefined : this.#index.proxy(name);
    if (proxy !== undefined) yield* this.#longRoutes.ofNew(new ConnectedProxy(proxy, features, permit, this.#shared));
  }

  /**
   * The view of a proxy that has connected. A second proxy of one Dataplane takes the place of the first.
   * @param name stored name of its Dataplane
   * @param permit what its token permits, at each change
   * @returns undefined where there is no such Dataplane, and when the mesh is gone: no change would reach the view
   */
  open(name: string, features: ProxyFeatures, permit: ProxyPermit = PERMITS_ALL): ProxyView | undefined {
    const proxy = this.#isEnded ? undefined : this.#index.proxy(name);
    if (proxy === undefined) return undefined;
    const connected = new ConnectedProxy(proxy, features, permit, this.#shared);
    const before = this.#proxies.get(name);
    if (before !== undefined) this.#examples.remove(before);
    this.#build(connected);
    this.#ask(connected, askedOfProxies(this.#index));
    this.#nameServices(connected);
    // It has no listener yet: its first content is no change.
    connected.view.publish();
    this.#proxies.set(name, connected);
    return connected.view;
  }

  close(name: string, view: ProxyView): void {
    const connected = this.#proxies.get(name);
    if (connected?.view !== view) return;
    this.#proxies.delete(name);
    this.#examples.remove(connected);
  }

  /** A Dataplane as it is stored, with its labels. @param name stored name */
  dataplane(name: string): Resource | undefined {
    return this.#index.get('Dataplane', name);
  }

  /** The certificate that a proxy needs; null for one without an identity that this control plane can certify. */
  orderOf(name: string): CertificateOrder | null {
    const proxy = this.#index.proxy(name);
    return proxy === undefined ? null : this.#certificates.orderFor(proxy);
  }

  /** Why the token of a proxy does not permit the identity of a Dataplane; null if it does, and for one without an identity. */
  refusesIdentity(proxy: DataplaneProxy, permit: ProxyPermit): string | null {
    return this.#certificates.refusesIdentity(proxy, permit);
  }

  /** As `refusesIdentity`, of the stored Dataplane. @param name stored name */
  refusesIdentityOf(name: string, permit: ProxyPermit): string | null {
    const proxy = this.#index.proxy(name);
    return proxy === undefined ? null : this.refusesIdentity(proxy, permit);
  }

  /** A proxy has a new certificate. */
  renew(name: string): void {
    const connected = this.#proxies.get(name);
    if (connected === undefined) return;
    const before = connected.certified?.identity;
    this.#certificates.certify(connected);
    if (connected.certified?.identity === before) this.#setOwn(connected, this.#parts.contextOf(connected));
    else this.#rebuild(connected);
    this.#ask(connected, askedOfProxies(this.#index));
    connected.view.publish();
  }

  /** The mesh is gone. */
  end(): void {
    this.#isEnded = true;
    for (const { view } of [...this.#proxies.values()]) view.end();
  }

  /** How many proxies are connected. */
  get size(): number {
    return this.#proxies.size;
  }

  /**
   * The index is about to change.
   * @param held rows that it holds, and that will be replaced or removed
   * @param next rows that it will hold
   */
  before(held: readonly Resource[], next: readonly Resource[]): void {
    if (this.#proxies.size === 0) {
      this.#names.clear();
      return this.#forgetEverything();
    }
    this.#scope ??= new ChangeScope(this.#index);
    this.#scope.before(held, next);
  }

  /** Everything may differ once the index has changed, as when global disables a zone. */
  beforeEverything(): void {
    this.before([], []);
    if (this.#scope !== null) this.#scope.isEverything = true;
  }

  /**
   * The index has changed. Each view publishes what differs in it. A view that cannot be made fails alone.
   * @param next rows that it holds now
   * @returns steps, one a proxy; the next change waits for the last
   */
  *after(next: readonly Resource[]): Steps<void> {
    const scope = this.#scope;
    if (scope === null) return;
    this.#scope = null;
    scope.after(next);
    const change = new Change(scope);
    const steps = new EqualSteps();
    this.#forget(change);
    const asked = askedOfProxies(this.#index);
    const long = this.#names.of(this.#longRoutes.services());
    for (const connected of [...this.#proxies.values()]) {
      const { name } = connected.proxy.resource;
      // It left between two steps: a certificate that it orders now would be renewed for ever.
      if (this.#proxies.get(name) !== connected) continue;
      try {
        yield* this.#longRoutes.ofView(connected, long);
        if (this.#proxies.get(name) !== connected) continue;
        this.#update(connected, change, steps);
        this.#ask(connected, asked);
        this.#nameServices(connected);
        connected.view.publish();
      } catch (error) {
        this.#examples.remove(connected);
        connected.view.fail(error);
      }
      yield;
    }
    const { isEvery, named } = change.shared.services;
    for (const service of change.scope.isEverything || isEvery ? [...this.#names.services()] : named)
      if (!SERVICES.some((type) => this.#index.withKri(type, service) !== undefined)) this.#names.forget(service);
  }

  /** A proxy whose certificate is of an identity that goes is asked when it has the other one. @param asked of all proxies */
  #ask({ proxy, certified, view }: ConnectedProxy, asked: string): void {
    const isAsked = asked !== '' && certified !== null && certifiedIdentity(this.#index, proxy)?.kri === certified.identity;
    view.asked = isAsked ? asked : '';
  }

  /** How many services are remembered. */
  get services(): number {
    return this.#names.size;
  }

  #forgetEverything(): void {
    this.#outbounds.clear();
    this.#destinations.clear();
    this.#zonePorts.clear();
  }

  #forget({ scope, shared }: Change): void {
    if (scope.isEverything || shared.isProxyWide || shared.services.isEvery) this.#forgetEverything();
    for (const service of shared.services.named) this.#outbounds.forget(service);
    for (const service of [...shared.services.named, ...scope.endpoints.named]) {
      this.#destinations.forget(service);
      this.#zonePorts.forget(service);
    }
  }

  /** Makes again what the change can touch of one proxy. @param steps of the views before it */
  #update(connected: ConnectedProxy, change: Change, steps: EqualSteps): void {
    const { name } = connected.proxy.resource;
    const { scope } = change;
    const isNamed = scope.dataplanes.has(name);
    const proxy = isNamed || scope.isEverything ? this.#index.proxy(name) : connected.proxy;
    if (proxy === undefined) {
      this.#examples.remove(connected);
      return connected.view.end();
    }
    const isChanged = isNamed && connected.permits(proxy);
    const { view, key, version } = connected;
    if (isChanged) connected.changeTo(proxy);
    if (scope.isEverything || change.isNamedBy(connected)) return this.#rebuild(connected);
    const touching =
      isChanged || scope.matchedTypes.size > 0
        ? change.touching(connected.rematch(this.#index, isChanged ? null : scope.matchedTypes))
        : change.shared;
    if (isChanged) this.#certificates.certify(connected);
    if (touching.isProxyWide || (isChanged && connected.key !== key)) return this.#rebuild(connected);
    const { opensPorts, listed: before } = connected;
    if (isChanged || change.mayList(connected)) connected.listed = listedOutbounds(this.#index, proxy, this.#parts.resolver);
    const { listed } = connected;
    if (opensPorts) this.#keep(view, proxy);
    // It touches the outbounds alone, and as it touches those of each proxy with this key.
    const isAlike = touching === change.shared && !touching.isInbound && connected.key === key;
    const mayTakeStep = isAlike && !isChanged && !opensPorts && !scope.servers.has(name);
    // Views that were equal stay equal if their lists were one object and are one.
    const stepKey = before === listed ? key : `${key} ${String(before.serial)} ${String(listed.serial)}`;
    const known = mayTakeStep ? steps.of(view, stepKey) : undefined;
    const state = mayTakeStep && known === undefined ? view.state : null;
    if (listed.problems !== before.problems) view.setProblems(listed.problems);
    if (known !== undefined) return view.take(known);
    const context = this.#parts.contextOf(connected);
    const isOtherClient = connected.version !== version;
    const { isEvery, named } = touching.services;
    // The listeners of a zone proxy may have a chain for each service.
    const isListening = opensPorts && (isEvery || named.size > 0);
    if (isChanged || isListening || touching.isInbound || scope.servers.has(name)) this.#setOwn(connected, context);
    if (opensPorts || isChanged)
      this.#setZonePorts(connected, context, isEvery || isChanged ? null : new Set([...named, ...scope.endpoints.named]));
    const touched = change.listed(touching, (services) => this.#names.of(services));
    const left = new Set<string>();
    const listeners = isEvery ? keysOf(view.outbounds()) : touched.listeners;
    const others = [...changedPorts(before, listed), ...(isOtherClient ? view.ownOutbounds() : [])];
    for (const listener of new Set([...listeners, ...others])) this.#setListener(connected, listener, context, left);
    view.removeUnused(left);
    const clusters = isEvery ? keysOf(view.clusters()) : touched.clusters;
    for (const cluster of isOtherClient ? new Set([...clusters, ...view.ownDestinations()]) : clusters) {
      const destination = view.destination(cluster);
      if (destination !== undefined) this.#setDestination(connected, destination.outbound, context);
    }
    const step = state === null ? null : view.step;
    if (state !== null && step !== null) steps.set(state, stepKey, step);
  }

  /** Makes the first view of a proxy, with the outbounds of one that joined before where these are the same. */
  #build(connected: ConnectedProxy): void {
    const { view } = connected;
    connected.rematch(this.#index, null);
    this.#certificates.certify(connected);
    connected.listed = listedOutbounds(this.#index, connected.proxy, this.#parts.resolver);
    const known = this.#examples.of(connected);
    if (known === null) {
      this.#rebuild(connected);
      return this.#examples.add(connected);
    }
    view.adopt(known);
    const context = this.#parts.contextOf(connected);
    this.#setOwn(connected, context);
    this.#setZonePorts(connected, context, null);
  }

  #rebuild(connected: ConnectedProxy): void {
    const { view, proxy } = connected;
    connected.rematch(this.#index, null);
    this.#certificates.certify(connected);
    const context = this.#parts.contextOf(connected);
    this.#setOwn(connected, context);
    // Those that come with an outbound are made with it.
    const held = keysOf(view.clusters());
    const listed = listedOutbounds(this.#index, proxy, this.#parts.resolver);
    connected.listed = listed;
    view.setProblems(listed.problems);
    const left = new Set<string>();
    for (const listener of new Set([...keysOf(view.outbounds()), ...listed.byKri.keys()]))
      this.#setListener(connected, listener, context, left);
    view.removeUnused(left);
    for (const cluster of held) {
      const destination = view.destination(cluster);
      if (destination !== undefined) this.#setDestination(connected, destination.outbound, context);
    }
    this.#setZonePorts(connected, context, null);
  }

  /** @param only KRIs of services; null: all */
  #setZonePorts(connected: ConnectedProxy, context: ProxyContext, only: ReadonlySet<string> | null): void {
    const { key, version, view, proxy, opensPorts } = connected;
    const parts = new Map<string, Map<string, EncodedPart>>();
    for (const service of only ?? view.zoneServices()) parts.set(service, new Map());
    for (const port of opensPorts ? zonePorts(this.#index, proxy, only) : []) {
      const { kri, base } = port.outbound;
      const name = zoneResourceName(port.kind, kri);
      const part = this.#zonePorts.get(base, `${key} ${name}`, version, () =>
        this.#parts.make(context, (config) => {
          addZonePort(config, context, port);
          return {};
        }),
      );
      const ports = parts.get(base);
      if (ports === undefined) parts.set(base, new Map([[name, part]]));
      else ports.set(name, part);
    }
    for (const [service, ports] of parts) view.setZonePorts(service, ports);
  }

  #setOwn({ view, certified, proxy, features }: ConnectedProxy, context: ProxyContext): void {
    const config = ownConfig(context);
    const own = this.#parts.encode(config);
    view.nameDocument = nameDocumentOf(proxy, features, config, own);
    view.setOwn(certified === null ? own : { ...own, resources: [...own.resources, ...certified.secret.resources] });
    view.certified = certified;
    view.trusted = trustedBundle(this.#index);
    view.demandsTls = {
      isWanted: context.tls?.maySayStrict === true,
      isSaid: hasDemandedTls(this.#index.get('Dataplane', proxy.resource.name) ?? proxy.resource),
    };
    view.places = dataplanePlaces(proxy);
    view.formerNames = formerZoneListeners(proxy);
    this.#keep(view, proxy);
  }

  /** Only a program beside the proxy that resolves names needs them. */
  #nameServices({ view, features, proxy }: ConnectedProxy): void {
    if (features.companionDns) view.hostnames = namesOf(this.#index, proxy);
  }

  /** Clients may still use listeners of places that the Dataplane has left. */
  #keep(view: ProxyView, { zone }: DataplaneProxy): void {
    view.kept = keptListeners(this.#index, view.places, zone);
  }

  /**
   * The outbound of a port as it is listed now, if it is.
   * @param kri of the port
   * @param left gets the clusters that the outbound no longer leads to
   */
  #setListener(connected: ConnectedProxy, kri: string, context: ProxyContext, left: Set<string>): void {
    const placed = connected.listed.byKri.get(kri);
    if (placed !== undefined) return this.#setOutbound(connected, placed, context, left);
    const before = connected.view.outbound(kri);
    if (before === undefined) return;
    connected.view.setOutbound(kri, null);
    for (const destination of before.destinations) left.add(destination.kri);
  }

  /** @param left gets the clusters that the outbound no longer leads to */
  #setOutbound(connected: ConnectedProxy, placed: PlacedOutbound, context: ProxyContext, left: Set<string>): void {
    const { outbound } = placed;
    const { kri, base } = outbound;
    const part = this.#outbounds.get(base, connected.keyOf(placed), connected.version, () => {
      this.#names.note(outbound);
      return this.#parts.make(context, (config) => ({ placed, destinations: addOutbound(config, context, placed) }));
    });
    const before = connected.view.outbound(kri);
    if (before === part) return;
    connected.view.setOutbound(kri, part);
    const leadsTo = new Set(part.destinations.map((destination) => destination.kri));
    for (const destination of before?.destinations ?? []) if (!leadsTo.has(destination.kri)) left.add(destination.kri);
    for (const destination of part.destinations) this.#setDestination(connected, destination, context);
  }

  #setDestination({ key, version, view }: ConnectedProxy, outbound: Outbound, context: ProxyContext): void {
    const { kri, base } = outbound;
    const part = this.#destinations.get(base, `${key} ${kri}`, version, () => {
      this.#names.note(outbound);
      return this.#parts.make(context, (config) => {
        addDestination(config, context, outbound);
        const isTls = config.clusters.get(kri)?.['transportSocket'] !== undefined;
        return { outbound, isTls, servers: localServers(this.#index, outbound.resource, context.client.zone) };
      });
    });
    view.setDestination(kri, part);
  }
}

function keysOf(entries: Iterable<[string, unknown]>): string[] {
  return [...entries].map(([name]) => name);
}
