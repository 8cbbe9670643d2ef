// The parts of TLS that a proxy has accepted. Other proxies switch TLS on by these acceptances, not by time (xds 6). An acceptance counts
// until it is taken back; a later version in flight changes nothing for others.
import { isInboundPlace } from '../resource/section-places.ts';
import { TRUST_BUNDLE } from '../xds/proxy-tls.ts';
import type { ProxyTlsFacts } from './proxy-events.ts';
import type { ProxyView } from './proxy-view.ts';
import type { XdsSession } from './session.ts';

export class AcceptedTls {
  readonly #view: ProxyView;
  readonly #session: Pick<XdsSession, 'holds'>;
  /** The identity with which its inbounds accept TLS. */
  #server: string | null = null;
  #bundle = '';
  #withdrawal = '';
  /** Clusters that it has with TLS. */
  readonly #clusters = new Set<string>();

  constructor(view: ProxyView, session: Pick<XdsSession, 'holds'>) {
    this.#view = view;
    this.#session = session;
  }

  /** What it has accepted until now; null for a proxy without a certificate. */
  facts(): ProxyTlsFacts | null {
    const { certified } = this.#view;
    if (certified === null) {
      this.#server = null;
      this.#bundle = '';
      this.#withdrawal = '';
      this.#clusters.clear();
      return null;
    }
    const { identity, leaf } = certified;
    if (this.#server !== identity) this.#server = this.#acceptsAsServer(identity) ? identity : null;
    if (this.#session.holds('Secret', TRUST_BUNDLE)) this.#bundle = this.#view.trusted;
    const { asked } = this.#view;
    if (this.#withdrawal !== asked) this.#withdrawal = this.#acceptsPlaintext() ? asked : '';
    const withdrawal = this.#withdrawal;
    const [isReady, bundle] = [this.#server !== null, this.#bundle];
    const plaintextTo = [...this.#plaintext()].sort();
    return { identity, issuedAt: leaf.issuedAt, expiresAt: leaf.notAfter, isReady, bundle, plaintextTo, withdrawal };
  }

  /** Whether its inbounds demand TLS, where the row of its Dataplane says something else; null where it says that. */
  demanded(): boolean | null {
    const { certified, demandsTls, places } = this.#view;
    if (demandsTls.isWanted === demandsTls.isSaid || !places.sections.some(isInboundPlace)) return null;
    const accepts = certified === null ? this.#acceptsListeners() : this.#acceptsAsServer(certified.identity);
    return accepts ? demandsTls.isWanted : null;
  }

  #acceptsAsServer(identity: string): boolean {
    return [identity, TRUST_BUNDLE].every((name) => this.#session.holds('Secret', name)) && this.#acceptsListeners();
  }

  /** Permissions are in the routes, and a listener waits for its filters. */
  #acceptsListeners(): boolean {
    const [session, view] = [this.#session, this.#view];
    return (['Listener', 'TypedExtensionConfig', 'RouteConfiguration'] as const).every((type) =>
      view.ownNames(type).every((name) => session.holds(type, name)),
    );
  }

  /** Its inbounds and the clusters in plain text are as in its view. */
  #acceptsPlaintext(): boolean {
    const session = this.#session;
    if (!this.#view.ownNames('Listener').every((name) => session.holds('Listener', name))) return false;
    for (const [name, { isTls, servers }] of this.#view.clusters())
      if (!isTls && servers.length > 0 && !session.holds('Cluster', name)) return false;
    return true;
  }

  /** KRIs of MeshServices. */
  #plaintext(): Set<string> {
    const found = new Set<string>();
    for (const [name, { isTls, servers }] of this.#view.clusters()) {
      if (!isTls) this.#clusters.delete(name);
      else if (this.#session.holds('Cluster', name)) this.#clusters.add(name);
      if (!this.#clusters.has(name)) for (const server of servers) found.add(server);
    }
    return found;
  }
}
