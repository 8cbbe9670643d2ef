// What a session tells its host while it works: the raw material of ZoneInsight, metrics and lag. Calls must not throw or wait.

export type StreamKind = 'globalToZone' | 'zoneToGlobal' | 'configDump' | 'stats' | 'clusters';

/** Which control plane speaks, as its node metadata says (kds-wire 2.2). */
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
    }
  | { readonly kind: 'node'; readonly peer: string; readonly streamId: string; readonly node: PeerNode }
  | {
      readonly kind: 'closed';
      readonly peer: string;
      readonly streamId: string;
      readonly stream: StreamKind;
      readonly error: string | null;
    }
  /** This side sent a response. */
  | {
      readonly kind: 'sent';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly resources: number;
      readonly removed: number;
      readonly bytes: number;
    }
  | {
      readonly kind: 'acknowledged';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly seconds: number;
    }
  /** The peer refused our response; `refused` names the resources where it said which. */
  | {
      readonly kind: 'rejected';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly message: string;
      readonly refused: readonly string[];
    }
  /** This side stored (or refused) a response of the peer. */
  | {
      readonly kind: 'received';
      readonly peer: string;
      readonly streamId: string;
      readonly type: string;
      readonly written: number;
      readonly refused: number;
      readonly seconds: number;
    }
  | { readonly kind: 'healthCheck'; readonly peer: string };

export type SyncObserver = (event: SyncEvent) => void;
