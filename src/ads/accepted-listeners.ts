// The sections of a Dataplane that are open, from the listeners that its proxy has accepted: clients get these addresses. An accepted listener
// counts also while a later version is in flight, and one that has gone counts until its removal is sent. An acceptance is a claim of the
// proxy and proves nothing. Invariant: the places are places that its own Dataplane has or had, which its token allows it to serve.
import { isDeepStrictEqual } from 'node:util';
import { SparseMap } from '../base/sparse-map.ts';
import { afterOpening, isInboundPlace, type SectionPlace } from '../resource/section-places.ts';
import { placeText } from '../resource/zone-listeners.ts';
import { listenerAt, type DataplanePlaces } from '../xds/dataplane-places.ts';
import type { ProxyView } from './proxy-view.ts';
import type { OpenedPlaces } from './proxy-events.ts';
import type { XdsSession } from './session.ts';

export class AcceptedListeners {
  readonly #view: ProxyView;
  readonly #session: Pick<XdsSession, 'holds' | 'stays'>;
  /** Places by the name of the listener. */
  readonly #accepted = new SparseMap<string, SectionPlace>();
  /** The places with which all was accepted. */
  #settled: DataplanePlaces | null = null;
  /** What the row should say about settled places. A proxy answers often, and this is the same for each answer. */
  #known: { readonly places: DataplanePlaces; readonly opened: OpenedPlaces | null } | null = null;
  #isKnown = false;

  constructor(view: ProxyView, session: Pick<XdsSession, 'holds' | 'stays'>) {
    this.#view = view;
    this.#session = session;
  }

  /**
   * The proxy has asked for listeners. Versions are not compared: after an upgrade of the control plane each listener has another one, and a
   * place that is not published until its next acceptance would close the way of all clients meanwhile.
   * @param held names of the listeners that it already has, in any version
   */
  begin(held: Iterable<string>): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    const { places, formerNames } = this.#view;
    const names = new Set(held);
    for (const [name, place] of places.left) if (names.has(name)) this.#accepted.set(name, place);
    for (const place of places.sections) {
      const name = listenerAt(place);
      if (names.has(name) || names.has(formerNames.get(name) ?? name)) this.#accepted.set(name, place);
    }
  }

  /** Those of a zone proxy as `placeText` writes them, sorted; null where nothing is known yet, and for a proxy without zone listeners. */
  zonePlaces(): readonly string[] | null {
    if (!this.#isKnown || this.#view.places.sections.every(isInboundPlace)) return null;
    this.#refresh();
    const zone = [...this.#accepted.entries.values()].filter((place) => !isInboundPlace(place));
    return zone.map(({ bound }) => placeText(bound)).sort();
  }

  /** What the row of the Dataplane should say about its last places; null where it says that. */
  opened(): OpenedPlaces | null {
    if (!this.#isKnown) return null;
    const { places } = this.#view;
    if (this.#known?.places === places) return this.#known.opened;
    this.#refresh();
    const opened = this.#opened();
    this.#known = this.#settled === places ? { places, opened } : null;
    return opened;
  }

  #opened(): OpenedPlaces | null {
    const { row, sections, opened } = this.#view.places;
    const open = sections.filter((place) => this.#accepted.has(listenerAt(place)));
    const before = opened ?? [];
    const next = afterOpening(before, sections, open);
    return isDeepStrictEqual(before, next) ? null : { open, next, row, isFirst: opened === null };
  }

  #refresh(): void {
    const { places } = this.#view;
    if (places === this.#settled) return;
    for (const name of [...this.#accepted.entries.keys()])
      if (!this.#isMade(name) && !this.#session.stays('Listener', name)) this.#accepted.delete(name);
    const isWarm = this.#isWarm();
    for (const place of places.sections) {
      const name = listenerAt(place);
      if (isWarm && this.#isMade(name) && this.#session.holds('Listener', name)) this.#accepted.set(name, place);
    }
    const isSettled =
      this.#accepted.size === places.sections.length &&
      [...this.#accepted.entries.values()].every((place) => places.sections.includes(place));
    if (isSettled) this.#settled = places;
  }

  /** A listener without chains is not in the view. */
  #isMade(name: string): boolean {
    const { sections } = this.#view.places;
    return sections.some((place) => listenerAt(place) === name) && this.#view.get('Listener', name) !== undefined;
  }

  /** Envoy accepts a listener, and opens it when it has its filters and routes. */
  #isWarm(): boolean {
    return (['TypedExtensionConfig', 'RouteConfiguration'] as const).every((type) =>
      this.#view.ownNames(type).every((name) => this.#session.holds(type, name)),
    );
  }
}
