// The events of the streams of proxies, for insights, metrics and the log.
import type { JsonObject } from '../resource/types.ts';
import type { ConfigProblem } from '../xds/config-problem.ts';
import type { XdsRefusal, XdsType } from './session.ts';

/** A stream of a proxy that was let in. */
export type ProxyConnectionFacts = {
  readonly streamId: string;
  readonly mesh: string;
  /** Stored name of the Dataplane. */
  readonly name: string;
  readonly version: JsonObject;
  readonly metadata: JsonObject;
};

export type ProxyEvent = ProxyConnectionFacts &
  (
    | { readonly kind: 'opened' }
    | { readonly kind: 'sent'; readonly type: XdsType; readonly nonce: string; readonly resources: number }
    /** `standing`: everything that the proxy refuses now, of all types. */
    | { readonly kind: 'accepted'; readonly type: XdsType; readonly nonce: string; readonly standing: readonly XdsRefusal[] }
    /** `refusals`: of this response. */
    | {
        readonly kind: 'refused';
        readonly type: XdsType;
        readonly nonce: string;
        readonly refusals: readonly XdsRefusal[];
        readonly standing: readonly XdsRefusal[];
      }
    /** Parts of the configuration that could not be made: the list as it is now. */
    | { readonly kind: 'problems'; readonly problems: readonly ConfigProblem[] }
    | { readonly kind: 'closed' }
  );

export type ProxyObserver = (event: ProxyEvent) => void;
