// Examples for joining proxies: for each list of outbounds and each key one connected proxy, whose outbounds the others take.
// Invariant: an example is connected, and its view is current, as every view is between two changes.
import { declarationList } from '../xds/listed-outbounds.ts';
import type { ConnectedProxy } from './connected-proxy.ts';
import type { CalledParts } from './proxy-view.ts';

type Place = { readonly list: unknown; readonly key: string };

export class JoinedExamples {
  readonly #examples = new Map<unknown, Map<string, ConnectedProxy>>();
  /** Where each example stands. */
  readonly #places = new Map<ConnectedProxy, Place>();

  /** The outbounds that a proxy shares with one that joined before it; null: none is known, or it looks at itself in some of them. */
  of(joining: ConnectedProxy): CalledParts | null {
    const { list, key } = placeOf(joining);
    const example = this.#examples.get(list)?.get(key);
    if (example === undefined) return null;
    const now = placeOf(example);
    return now.list === list && now.key === key ? example.view.whatItCalls : null;
  }

  /** A proxy has its view. */
  add(joined: ConnectedProxy): void {
    const place = placeOf(joined);
    const ofList = this.#examples.get(place.list) ?? new Map<string, ConnectedProxy>();
    const before = ofList.get(place.key);
    if (before !== undefined) this.#places.delete(before);
    this.#examples.set(place.list, ofList.set(place.key, joined));
    this.#places.set(joined, place);
  }

  /** A proxy is gone. */
  remove(gone: ConnectedProxy): void {
    const place = this.#places.get(gone);
    if (place === undefined) return;
    this.#places.delete(gone);
    const ofList = this.#examples.get(place.list);
    ofList?.delete(place.key);
    if (ofList?.size === 0) this.#examples.delete(place.list);
  }

  get size(): number {
    return this.#places.size;
  }
}

/** Proxies with one place have equal outbounds. Equal lists of declared outbounds are one object, and so are lists of redirected proxies. */
function placeOf({ proxy, key, listed }: ConnectedProxy): Place {
  const { virtual, serial } = listed;
  if (virtual !== null) return { list: listed, key: `${key} ${String(serial)}` };
  return { list: declarationList(proxy), key: `${key} ${proxy.namespace}` };
}
