// One stream of a proxy: it decodes requests for the session, and encodes and writes the responses of the session. The buffered bytes
// are bounded: at most one response of a type waits for its answer, and none is made while the stream has to drain.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { DeltaRequest } from '../wire/kds-messages.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { DOCUMENTS_LISTENER } from '../xds/companion-documents.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import { AcceptedListeners } from './accepted-listeners.ts';
import { AcceptedTls } from './accepted-tls.ts';
import { CompanionNames } from './companion-names.ts';
import type { OpenedPlaces, ProxyConnectionFacts, ProxyObserver, ProxyTlsFacts, StreamCounter } from './proxy-events.ts';
import type { NameSets } from './name-sets.ts';
import type { ProxyView } from './proxy-view.ts';
import { boundedReason } from './refused-resources.ts';
import type { RequestReader } from './request-reader.ts';
import type { ResponseEncoder } from './response-encoder.ts';
import { XDS_TYPES, type XdsAnswer, type XdsRefusal, type XdsType } from './session-messages.ts';
import { XdsSession } from './session.ts';

const TYPES: ReadonlyMap<string, XdsType> = new Map(XDS_TYPES.map((type) => [TYPE_URL_PREFIX + XDS_MESSAGES[type], type]));
/** Unknown types that a stream may ask for; each is logged once. */
const MAX_UNKNOWN_TYPES = 20;

/** The TLS of a proxy depends on its acceptance of these types. */
const SHOWS_TLS: ReadonlySet<XdsType> = new Set(['Secret', 'Cluster', 'Listener']);

/** The places of a proxy depend on its acceptance of these types. */
const OPENS_LISTENERS: ReadonlySet<XdsType> = new Set(['Listener', 'TypedExtensionConfig', 'RouteConfiguration']);

/** The writing half of a stream. */
type ResponseStream = {
  /** @param message in parts */
  readonly write: (message: readonly Buffer[]) => boolean;
  readonly writableNeedDrain: boolean;
};

type ProxyConnectionOptions = {
  readonly facts: ProxyConnectionFacts;
  readonly view: ProxyView;
  readonly stream: ResponseStream;
  /** Shared by all proxies. */
  readonly requests: RequestReader;
  /** Shared by all proxies. */
  readonly encoder: ResponseEncoder;
  /** Shared by all proxies. */
  readonly nameSets: NameSets;
  readonly observe: ProxyObserver;
  readonly counter: StreamCounter;
  readonly clock: Clock;
  /** How long the proxy keeps connections of a listener that was replaced or removed. */
  readonly drainMs: number;
  readonly log: Logger;
};

export class ProxyConnection {
  readonly #options: ProxyConnectionOptions;
  readonly #session: XdsSession;
  readonly #acceptedTls: AcceptedTls;
  #tls: ProxyTlsFacts | null = null;
  readonly #acceptedListeners: AcceptedListeners;
  readonly #companionNames: CompanionNames;
  #places: readonly string[] | null = null;
  /** What the row of the Dataplane was last asked to say about its places. */
  #opened: OpenedPlaces | null = null;
  /** What the row of the Dataplane was last asked to say about TLS. */
  #demandsTls: boolean | null = null;
  #unknownTypes: Set<string> | null = null;
  /** What it refused when it last answered. */
  #standing: readonly XdsRefusal[] = [];
  /** Ends the wait for what can be sent later. */
  #stopWaiting: (() => void) | null = null;
  #hasEnded = false;

  constructor(options: ProxyConnectionOptions) {
    this.#options = options;
    const { clock, drainMs } = options;
    this.#session = new XdsSession(options.view, options.nameSets, { elapsed: () => clock.elapsed(), drainMs });
    this.#acceptedTls = new AcceptedTls(options.view, this.#session);
    this.#acceptedListeners = new AcceptedListeners(options.view, this.#session);
    this.#companionNames = new CompanionNames(options.view, this.#session);
  }

  /** The view has changed in these names. */
  viewChanged(names: Parameters<XdsSession['viewChanged']>[0]): void {
    this.#session.viewChanged(names);
    this.#refreshNames();
    this.#tellTls();
    this.#tellListeners();
    this.#tellDemanded();
    this.flush();
  }

  /** @throws StatusError INVALID_ARGUMENT on bytes that are no DeltaDiscoveryRequest, RESOURCE_EXHAUSTED past the names of a type */
  take(bytes: Buffer): void {
    this.handle(this.#options.requests.read(bytes));
  }

  handle(request: DeltaRequest): void {
    const type = TYPES.get(request.typeUrl);
    if (type === undefined) return this.#noteUnknown(request.typeUrl);
    const answer = this.#session.receive({
      type,
      subscribe: request.subscribe,
      unsubscribe: request.unsubscribe,
      initialVersions: request.initialResourceVersions,
      nonce: request.responseNonce,
      error: request.errorDetail === null ? null : boundedReason(request.errorDetail.message),
    });
    if (answer !== null) this.#tellAnswer(type, answer);
    if (SHOWS_TLS.has(type) || this.#tls?.isReady === false) this.#tellTls();
    if (type === 'Listener')
      for (const begun of [this.#acceptedListeners, this.#companionNames]) begun.begin(request.initialResourceVersions.keys());
    if (OPENS_LISTENERS.has(type)) this.#refreshNames();
    if (OPENS_LISTENERS.has(type)) this.#tellListeners();
    if (OPENS_LISTENERS.has(type) || type === 'Secret') this.#tellDemanded();
    this.flush();
  }

  #tellAnswer(type: XdsType, { refusals }: XdsAnswer): void {
    const { facts, observe, counter } = this.#options;
    const standing = this.#session.refusals;
    const before = this.#standing;
    this.#standing = standing;
    // A resource is tried again and again: what was refused for the same reason is no news.
    const news = refusals?.filter((one) => !before.some((known) => isDeepStrictEqual(known, one))) ?? null;
    if (news !== null) observe({ ...facts, kind: 'refused', type, refusals: news, standing });
    else if (before.length + standing.length > 0) observe({ ...facts, kind: 'accepted', type, standing });
    else counter.accepted(type);
  }

  /** The stream has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#stopWaiting?.();
  }

  /** Sends what can be sent now. Call it again when the stream has drained. */
  flush(): void {
    const { clock } = this.#options;
    this.#stopWaiting?.();
    this.#stopWaiting = null;
    this.#send();
    const waitMs = this.#hasEnded ? null : this.#session.waitMs;
    if (waitMs !== null) this.#stopWaiting = clock.after(waitMs, () => this.flush());
  }

  #send(): void {
    const { stream, encoder, counter } = this.#options;
    while (!stream.writableNeedDrain) {
      const responses = this.#session.take();
      if (responses.length === 0) return;
      for (const response of responses) {
        const encoded = encoder.encode(response);
        this.#session.share(encoded.response);
        stream.write(encoded.parts);
        counter.sent(response.type);
      }
    }
  }

  /** A name goes into the document of kuma-dp when the proxy has accepted the listeners behind it. */
  #refreshNames(): void {
    const before = this.#companionNames.refresh();
    if (before !== null) this.#session.viewChanged(new Map([['Listener', new Map([[DOCUMENTS_LISTENER, before]])]]));
  }

  /** Tells what the proxy has accepted of TLS, where that differs from the last time. */
  #tellTls(): void {
    const { view, facts, observe } = this.#options;
    if (view.certified === null && this.#tls === null) return;
    const tls = this.#acceptedTls.facts();
    if (isDeepStrictEqual(tls, this.#tls)) return;
    this.#tls = tls;
    observe({ ...facts, kind: 'tls', tls });
  }

  /** Tells where the proxy listens, where that differs from the last time. */
  #tellListeners(): void {
    const { facts, observe } = this.#options;
    const places = this.#acceptedListeners.zonePlaces();
    if (places !== null && !isDeepStrictEqual(places, this.#places)) {
      this.#places = places;
      observe({ ...facts, kind: 'listens', places });
    }
    const opened = this.#acceptedListeners.opened();
    const said = this.#opened;
    if (opened === said) return;
    this.#opened = opened;
    if (opened !== null && !isDeepStrictEqual(opened.next, said?.next)) observe({ ...facts, kind: 'moved', ...opened });
  }

  /** Tells whether the inbounds demand TLS, where the row of the Dataplane says something else. */
  #tellDemanded(): void {
    const { facts, observe } = this.#options;
    const demandsTls = this.#acceptedTls.demanded();
    const isSaid = demandsTls === this.#demandsTls;
    this.#demandsTls = demandsTls;
    if (demandsTls !== null && !isSaid) observe({ ...facts, kind: 'demands TLS', demandsTls });
  }

  #noteUnknown(typeUrl: string): void {
    const known = (this.#unknownTypes ??= new Set());
    if (known.has(typeUrl) || known.size >= MAX_UNKNOWN_TYPES) return;
    known.add(typeUrl);
    this.#options.log.warn({ typeUrl: typeUrl.slice(0, 200) }, 'the proxy asks for a type that is not served');
  }
}
