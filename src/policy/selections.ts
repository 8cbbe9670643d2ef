// The MeshServices and Dataplanes of a mesh that select each other, found without a scan (policies 2.7). Each side is indexed at its first
// question: a control plane without proxies asks none.
import type { Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { dataplanePairs, proxySelector, serviceSelector } from './dataplane-selector.ts';
import { ItemIndex, SelectorIndex } from './selector-index.ts';

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

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  putProxy(proxy: DataplaneProxy): void {
    this.#proxies?.put(proxy, dataplanePairs(proxy));
  }

  removeProxy(proxy: DataplaneProxy): void {
    this.#proxies?.remove(proxy);
  }

  putService(service: Resource): void {
    this.#selectors?.put(service.name, serviceSelector(service));
  }

  removeService({ name }: Pick<Resource, 'name'>): void {
    this.#selectors?.remove(name);
  }

  /** The proxies that a MeshService selects, in no order. */
  proxiesOf(service: Resource): DataplaneProxy[] {
    if (this.#proxies === null) {
      this.#proxies = new ItemIndex<DataplaneProxy>();
      for (const proxy of this.#rows.proxies()) this.putProxy(proxy);
    }
    return this.#proxies.withAll(serviceSelector(service) ?? []).filter(proxySelector(service));
  }

  /** The MeshServices that select a proxy, in no order. */
  servicesOf(proxy: DataplaneProxy): Resource[] {
    if (this.#selectors === null) {
      this.#selectors = new SelectorIndex();
      for (const service of this.#rows.services()) this.putService(service);
    }
    const found = [...this.#selectors.selecting(dataplanePairs(proxy))].flatMap((name) => this.#rows.service(name) ?? []);
    return found.filter((service) => proxySelector(service)(proxy));
  }
}
