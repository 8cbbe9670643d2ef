// The MeshServices and Dataplanes of a mesh that select each other, found without a scan (policies 2.7). Each side is indexed at its first
// question: a control plane without proxies asks none.
import type { Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { dataplanePairs, proxySelector, serviceSelector } from './dataplane-selector.ts';
import { ItemIndex, SelectorIndex } from './selector-index.ts';
import { SortedProxies } from './sorted-proxies.ts';

/** The rows of the mesh as they are now. */
type Rows = {
  readonly proxies: () => Iterable<DataplaneProxy>;
  readonly services: () => Iterable<Resource>;
  /** By stored name. */
  readonly service: (name: string) => Resource | undefined;
};

export class Selections {
  readonly #rows: Rows;
  #proxies: ItemIndex<DataplaneProxy> | null = null;
  #selectors: SelectorIndex | null = null;
  /** Of the MeshServices that were asked for, by name; each as long as its row stays. */
  readonly #ofServices = new Map<string, { readonly service: Resource; readonly proxies: SortedProxies }>();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  putProxy(proxy: DataplaneProxy): void {
    this.#proxies?.put(proxy, dataplanePairs(proxy));
    for (const proxies of this.#keptOf(proxy)) proxies.add(proxy);
  }

  removeProxy(proxy: DataplaneProxy): void {
    this.#proxies?.remove(proxy);
    for (const proxies of this.#keptOf(proxy)) proxies.remove(proxy);
  }

  putService(service: Resource): void {
    this.#selectors?.put(service.name, serviceSelector(service));
    this.#ofServices.delete(service.name);
  }

  removeService({ name }: Pick<Resource, 'name'>): void {
    this.#selectors?.remove(name);
    this.#ofServices.delete(name);
  }

  /** The proxies that a MeshService selects, sorted by display name. */
  proxiesOf(service: Resource): readonly DataplaneProxy[] {
    const known = this.#ofServices.get(service.name);
    if (known?.service === service) return known.proxies.list();
    const proxies = new SortedProxies(this.#find(service));
    // Others are former rows.
    if (this.#rows.service(service.name) === service) this.#ofServices.set(service.name, { service, proxies });
    return proxies.list();
  }

  /** The lists that a proxy stands in, or will. */
  #keptOf(proxy: DataplaneProxy): SortedProxies[] {
    if (this.#ofServices.size === 0) return [];
    return this.servicesOf(proxy).flatMap(({ name }) => this.#ofServices.get(name)?.proxies ?? []);
  }

  #find(service: Resource): DataplaneProxy[] {
    if (this.#proxies === null) {
      this.#proxies = new ItemIndex<DataplaneProxy>();
      for (const proxy of this.#rows.proxies()) this.#proxies.put(proxy, dataplanePairs(proxy));
    }
    return this.#proxies.withAll(serviceSelector(service) ?? []).filter(proxySelector(service));
  }

  /** The MeshServices that select a proxy, in no order. */
  servicesOf(proxy: DataplaneProxy): Resource[] {
    if (this.#selectors === null) {
      this.#selectors = new SelectorIndex();
      for (const service of this.#rows.services()) this.#selectors.put(service.name, serviceSelector(service));
    }
    const found = [...this.#selectors.selecting(dataplanePairs(proxy))].flatMap((name) => this.#rows.service(name) ?? []);
    return found.filter((service) => proxySelector(service)(proxy));
  }
}
