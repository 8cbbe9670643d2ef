// The events of the streams of proxies, for insights, metrics and the log.
import type { SectionPlace } from '../resource/section-places.ts';
import type { JsonObject, RowVersion } from '../resource/types.ts';
import type { ConfigProblem } from '../xds/config-problem.ts';
import type { XdsRefusal, XdsType } from './session-messages.ts';

/** A stream of a proxy that was let in. */
export type ProxyConnectionFacts = {
  readonly streamId: string;
  readonly mesh: string;
  /** Stored name of the Dataplane. */
  readonly name: string;
  /** Of the Dataplane; `''` for none. */
  readonly namespace: string;
  /** Names the bootstrap with which its Envoy started; `''` if that names none. */
  readonly run: string;
  /** Its Dataplane has zone listeners. */
  readonly isZoneProxy: boolean;
  readonly version: JsonObject;
  readonly metadata: JsonObject;
};

/** What a proxy has accepted of TLS. */
export type ProxyTlsFacts = {
  /** KRI of the MeshIdentity. */
  readonly identity: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  /** Its inbounds accept TLS: it has accepted certificate, trust bundle and listeners. */
  readonly isReady: boolean;
  /** Id of the last trust bundle that it has accepted; `''` before the first. */
  readonly bundle: string;
  /** KRIs of MeshServices that it calls in plain text, sorted. */
  readonly plaintextTo: readonly string[];
  /** The withdrawal of an identity whose request it has fulfilled; `''` for none. */
  readonly withdrawal: string;
};

export type OpenedPlaces = {
  readonly open: readonly SectionPlace[];
  /** What the row should say, if it still is of this version. */
  readonly next: readonly SectionPlace[];
  readonly row: RowVersion;
  /** The row said nothing. */
  readonly isFirst: boolean;
};

export type ProxyEvent = ProxyConnectionFacts &
  (
    | { readonly kind: 'opened' }
    | { readonly kind: 'sent'; readonly type: XdsType }
    /** `standing`: everything that the proxy refuses now, of all types. */
    | { readonly kind: 'accepted'; readonly type: XdsType; readonly standing: readonly XdsRefusal[] }
    /** `refusals`: of this response. */
    | {
        readonly kind: 'refused';
        readonly type: XdsType;
        readonly refusals: readonly XdsRefusal[];
        readonly standing: readonly XdsRefusal[];
      }
    /** Parts of the configuration that could not be made: the list as it is now. */
    | { readonly kind: 'problems'; readonly problems: readonly ConfigProblem[] }
    /** What the proxy has accepted of TLS; null: it has no certificate. */
    | { readonly kind: 'tls'; readonly tls: ProxyTlsFacts | null }
    /** Where a zone proxy listens, as `placeText` writes it: the listeners that it has accepted. */
    | { readonly kind: 'listens'; readonly places: readonly string[] }
    /** The sections of the Dataplane that are open, where its row says something else. */
    | ({ readonly kind: 'moved' } & OpenedPlaces)
    /** Its Envoy has accepted inbounds that demand TLS, or do not any more, where the row of its Dataplane says something else. */
    | { readonly kind: 'demands TLS'; readonly demandsTls: boolean }
    | { readonly kind: 'closed' }
  );

export type ProxyObserver = (event: ProxyEvent) => void;

/** Counts the frequent events of one stream without an object for each: thousands of proxies answer at once. */
export type StreamCounter = {
  /** As the event `sent`. */
  readonly sent: (type: XdsType) => void;
  /** As the event `accepted` of a proxy that refuses nothing, and refused nothing when it last answered. */
  readonly accepted: (type: XdsType) => void;
};

/** Makes the counter of a stream, once for each stream. */
export type CountStream = (facts: ProxyConnectionFacts) => StreamCounter;

/** Tells an observer of each event. */
export function countByEvents(observe: ProxyObserver): CountStream {
  return (facts) => ({
    sent: (type) => observe({ ...facts, kind: 'sent', type }),
    accepted: (type) => observe({ ...facts, kind: 'accepted', type, standing: [] }),
  });
}

/** Lets several count. */
export function countAll(...counts: readonly CountStream[]): CountStream {
  return (facts) => {
    const counters = counts.map((count) => count(facts));
    return {
      sent: (type) => {
        for (const counter of counters) counter.sent(type);
      },
      accepted: (type) => {
        for (const counter of counters) counter.accepted(type);
      },
    };
  };
}
