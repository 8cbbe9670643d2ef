// The parts of connected proxies that a change touches: on all proxies, and on the proxies with a certain policy.
import type { Policy } from '../policy/parse-policy.ts';
import { ServiceSet, type ChangeScope } from '../xds/change-scope.ts';
import type { ListedOutbounds } from '../xds/listed-outbounds.ts';
import type { ConnectedProxy, Rematch } from './connected-proxy.ts';

/** The parts of a proxy that must be built again. */
export type Touching = { readonly services: ServiceSet; readonly isInbound: boolean; readonly isProxyWide: boolean };

/** Names of listeners, which routes share, and of clusters. */
type Listed = { readonly listeners: readonly string[]; readonly clusters: readonly string[] };

const UNKNOWN: Touching = { services: new ServiceSet(), isInbound: true, isProxyWide: true };

export class Change {
  readonly scope: ChangeScope;
  /** What it touches on every proxy. */
  readonly shared: Touching;
  /** By policies that some proxies have. */
  readonly #own = new Map<Policy, Touching>();
  readonly #hasServices: boolean;
  readonly #listed = new Map<Touching, Listed>();
  readonly #mayList = new Map<ListedOutbounds, boolean>();

  constructor(scope: ChangeScope) {
    this.scope = scope;
    this.#hasServices = scope.hasServices;
    const shared = [{ services: scope.services, isInbound: false, isProxyWide: false }];
    for (const { policy, isShared, ...touching } of scope.policies) {
      if (isShared) shared.push(touching);
      else this.#own.set(policy, touching);
    }
    this.shared = union(shared);
  }

  /** Whether a reference by name may mean this proxy now. The policies of a Dataplane that changed itself are matched again anyway. */
  isNamedBy({ proxy: { displayName, resource } }: ConnectedProxy): boolean {
    return this.scope.dataplaneNames.has(displayName) && !this.scope.dataplanes.has(resource.name);
  }

  /** Whether the list of the outbounds of a proxy may differ. */
  mayList(connected: ConnectedProxy): boolean {
    if (!this.#hasServices) return false;
    const { listed } = connected;
    if (listed.virtual !== null) return true;
    // Many proxies have one list, which has the same references.
    let may = this.#mayList.get(listed);
    if (may === undefined) this.#mayList.set(listed, (may = connected.refs.some((ref) => this.scope.means(ref))));
    return may;
  }

  /**
   * What it makes again of proxies on which it touches the same.
   * @param namesOf services → names of their listeners and clusters
   */
  listed(touching: Touching, namesOf: (services: Iterable<string>) => readonly string[]): Listed {
    const known = this.#listed.get(touching);
    if (known !== undefined) return known;
    const { named } = touching.services;
    const listed = { listeners: namesOf(named), clusters: namesOf(new Set([...named, ...this.scope.endpoints.named])) };
    this.#listed.set(touching, listed);
    return listed;
  }

  /** What it touches on a proxy with these own policies, of the types that the change is about. */
  touching({ before, after }: Rematch): Touching {
    const found: Touching[] = [];
    if (before.size + after.size === 0) return this.shared;
    for (const policy of new Set([...before, ...after])) {
      const touching = this.#own.get(policy);
      if (touching !== undefined) found.push(touching);
      // A policy of the old form that came or went with its route.
      else if (!before.has(policy) || !after.has(policy)) found.push(UNKNOWN);
    }
    return found.length === 0 ? this.shared : union([this.shared, ...found]);
  }
}

function union(parts: readonly Touching[]): Touching {
  const services = new ServiceSet();
  for (const part of parts) services.addAll(part.services);
  return {
    services,
    isInbound: parts.some(({ isInbound }) => isInbound),
    isProxyWide: parts.some(({ isProxyWide }) => isProxyWide),
  };
}
