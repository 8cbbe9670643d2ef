// The places where a zone proxy listens, from the listeners that it has accepted: clients get these addresses. An accepted listener counts
// also while a later version is in flight, and one that has gone counts until its removal is sent. An acceptance is a claim of the proxy and
// proves nothing. Invariant: the places are places that its own Dataplane has or had (`zonePlaces`), which its token allows it to serve.
import type { ProxyView } from './proxy-view.ts';
import type { XdsSession } from './session.ts';

export class AcceptedListeners {
  readonly #view: ProxyView;
  readonly #session: Pick<XdsSession, 'holds' | 'stays'>;
  /** Places by the name of the listener. */
  readonly #accepted = new Map<string, string>();
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
    const { zonePlaces } = this.#view;
    if (zonePlaces.size === 0) return;
    const names = new Set(held);
    for (const [name, { text, formerName }] of zonePlaces)
      if (names.has(name) || names.has(formerName)) this.#accepted.set(name, text);
  }

  /** As `placeText` writes them, sorted; null where nothing is known yet, and for a proxy without zone listeners. */
  places(): readonly string[] | null {
    const { zonePlaces } = this.#view;
    if (!this.#isKnown || zonePlaces.size === 0) return null;
    for (const name of this.#accepted.keys())
      if (!this.#isMade(name) && !this.#session.stays('Listener', name)) this.#accepted.delete(name);
    for (const [name, { text }] of zonePlaces)
      if (this.#isMade(name) && this.#session.holds('Listener', name) && this.#isWarm()) this.#accepted.set(name, text);
    return [...this.#accepted.values()].sort();
  }

  /** A listener without chains is not in the view. */
  #isMade(name: string): boolean {
    return this.#view.zonePlaces.has(name) && this.#view.get('Listener', name) !== undefined;
  }

  /** Envoy accepts a listener, and opens it when it has its filters and routes. */
  #isWarm(): boolean {
    return (['TypedExtensionConfig', 'RouteConfiguration'] as const).every((type) =>
      this.#view.ownNames(type).every((name) => this.#session.holds(type, name)),
    );
  }
}
