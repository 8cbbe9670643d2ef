// The services of a mesh with so many rules that the routes to them are made in steps, before a view is changed at once.
import { MIN_ITEMS } from '../base/long-lists.ts';
import type { Steps } from '../base/steps.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { listedOutbounds, type PlacedOutbound } from '../xds/listed-outbounds.ts';
import { routeSteps } from '../xds/route-steps.ts';
import type { ConnectedProxy } from './connected-proxy.ts';
import type { PartCache } from './part-cache.ts';
import type { PartMaker } from './part-maker.ts';
import type { EncodedOutbound } from './proxy-view.ts';

export class LongRoutes {
  readonly #index: MeshIndex;
  readonly #parts: PartMaker;
  readonly #made: PartCache<EncodedOutbound>;

  /** @param made the outbounds that are there already */
  constructor(index: MeshIndex, parts: PartMaker, made: PartCache<EncodedOutbound>) {
    this.#index = index;
    this.#parts = parts;
    this.#made = made;
  }

  /** KRIs of the services with long routes. */
  services(): ReadonlySet<string> {
    const services = new Set<string>();
    for (const row of this.#index.resources('MeshHTTPRoute')) {
      const policy = this.#index.policyOf(row);
      for (const { targetRef, conf } of policy?.to ?? [])
        if (policy !== undefined && Array.isArray(conf['rules']) && conf['rules'].length >= MIN_ITEMS)
          for (const service of this.#index.resolve(targetRef, policy, '')) services.add(this.#index.kriOf(service));
    }
    return services;
  }

  /** Makes the routes of a proxy that has no view yet. */
  *ofNew(connected: ConnectedProxy): Steps<void> {
    const services = this.services();
    if (services.size === 0) return;
    connected.rematch(this.#index, null);
    const { byKri } = listedOutbounds(this.#index, connected.proxy, this.#parts.resolver);
    yield* this.#make(
      connected,
      [...byKri.values()].filter(({ outbound }) => services.has(outbound.base)),
    );
  }

  /** Makes the routes of a view that will change. @param listeners to services with long routes */
  *ofView(connected: ConnectedProxy, listeners: readonly string[]): Steps<void> {
    yield* this.#make(
      connected,
      listeners.flatMap((name) => connected.view.outbound(name)?.placed ?? []),
    );
  }

  *#make(connected: ConnectedProxy, outbounds: readonly PlacedOutbound[]): Steps<void> {
    for (const placed of outbounds)
      if (this.#made.peek(placed.outbound.base, connected.keyOf(placed), connected.version) === undefined)
        yield* routeSteps(this.#parts.contextOf(connected), placed.outbound, (config) => this.#parts.encode(config));
  }
}
