// The events that a session reports to its host: the source of ZoneInsight, metrics and lag. Calls must not throw or wait.

import type { ProxyGroup } from '../../resource/proxy-facts.ts';
import type { NackFault } from './nack.ts';
import type { NamedResources, RefusalReport } from './refusal-report.ts';

export type StreamKind = 'globalToZone' | 'zoneToGlobal' | 'configDump' | 'stats' | 'clusters';

/** The control plane of a peer, from its node metadata (kds-wire 2.2). */
export type PeerNode = {
  readonly version: {
    readonly version?: string;
    readonly gitTag?: string;
    readonly gitCommit?: string;
    readonly buildDate?: string;
  };
  /** The peer's sanitized configuration as JSON, `''` if it sends none. */
  readonly config: string;
  readonly instanceId: string;
  readonly features: readonly string[];
};

export type SyncEvent =
  /** `streamId` is a fresh UUID per stream: the id of its KDSSubscription. */
  | {
      readonly kind: 'opened';
      readonly peer: string;
      readonly streamId: string;
      readonly stream: StreamKind;
      readonly authorized: boolean;
      /** It stands for a stream of each of these kinds too. */
      readonly alsoFor?: readonly StreamKind[];
      /** The expiry of the zone's token; null or absent without a token. */
      readonly tokenExpiresAt?: Date | null;
    }
  | { readonly kind: 'node'; readonly peer: string; readonly streamId: string; readonly node: PeerNode }
  | {
      readonly kind: 'closed';
      readonly peer: string;
      readonly streamId: string;
      readonly stream: StreamKind;
      readonly error: string | null;
    }
  /** The peer subscribes to the type again on the same stream. The earlier reports of `refused` and `withheld` no longer hold. */
  | { readonly kind: 'resubscribed'; readonly peer: string; readonly streamId: string; readonly type: string }
  /**
   * This side sent a response. `position` is the end of what it covers in the log of the type, here and below. `again` has the
   * wire names of its other resources, from the part of the log that the peer had answered.
   */
  | {
      readonly kind: 'sent';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly position: number;
      readonly again?: readonly string[];
      readonly resources: number;
      readonly removed: number;
      readonly bytes: number;
    }
  | {
      readonly kind: 'acknowledged';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly position: number;
      readonly again?: readonly string[];
      readonly seconds: number;
    }
  /** The log has nothing new for this peer up to the position: nothing was sent. */
  | {
      readonly kind: 'passed';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly position: number;
    }
  /**
   * Resources that the peer should have and cannot read, by wire name; empty when there are none left (D26). `all` is the reason
   * why no resource of the type is sent. `count` is the number of withheld resources, those of `all` included.
   */
  | {
      readonly kind: 'withheld';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly resources: ReadonlyMap<string, string>;
      readonly all: string | null;
      readonly count: number;
    }
  /** The peer has refused resources of the type, or has accepted some since. */
  | (RefusalReport & {
      readonly kind: 'refused';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
    })
  /** The peer answered a response with a NACK. */
  | {
      readonly kind: 'rejected';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly position: number;
      readonly again?: readonly string[];
      readonly fault: NackFault;
      /** The message for people. */
      readonly message: string;
    }
  /** This side stored a response of the peer. `refused`: the resources of the type that it has refused and not accepted since. */
  | {
      readonly kind: 'received';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly written: number;
      readonly refused: NamedResources;
      readonly seconds: number;
    }
  /**
   * The proxies of the zone, as far as the receiver with this epoch has them. `groups` is null if it stores their insights. `replacesRows`: rows
   * of insights go now.
   */
  | {
      readonly kind: 'counted';
      readonly peer: string;
      readonly streamId: string;
      readonly epoch: number;
      readonly groups: readonly ProxyGroup[] | null;
      readonly replacesRows: boolean;
    }
  | { readonly kind: 'healthCheck'; readonly peer: string }
  /** A call of the zone was refused: its token is not valid, or its store may not speak for it. On a zone: global refused it. */
  | { readonly kind: 'turnedAway'; readonly peer: string; readonly reason: string }
  /** An admitted zone exceeded a quota. */
  | { readonly kind: 'overQuota'; readonly peer: string; readonly quota: QuotaName; readonly reason: string };

/** `fullStates`: the full state of the zone waits. The others refuse something. */
export type QuotaName = 'streams' | 'rows' | 'fullStates';

export type SyncObserver = (event: SyncEvent) => void;
