// The questions of the KDS server about zones: whether a peer may open streams as a zone and from its store (D31), and whether the
// zone is enabled. The protocol does not know tokens or rows.
import type { ZoneProfile } from '../../resource/zone-profile.ts';

export type ZonePass =
  | {
      readonly ok: true;
      /** The expiry of the zone's credentials; null if it sent none. */
      readonly expiresAt: Date | null;
      /** Calls `end` once, with a reason for people, when the zone's access ends. Returns a function that ends the watch. */
      readonly watch: (end: (reason: string) => void) => () => void;
    }
  | { readonly ok: false; readonly reason: string };

/** @param authorization all values of the metadata `authorization` @param zone of `client-id` */
export type AdmitZone = (authorization: readonly string[], zone: string) => Promise<ZonePass>;

/** Admits every caller. */
export const admitAll: AdmitZone = async () => ({ ok: true, expiresAt: null, watch: () => () => undefined });

/** Decides which store speaks for a zone. A store is a database: replicas share its id. */
export interface ZoneStores {
  /**
   * Admits a caller that speaks for the zone from this store. The first store is saved.
   * @param storeId null for a peer without one, such as a Kuma zone
   * @returns null, or why this store may not speak for the zone, with a remedy
   */
  admit(zone: string, storeId: string | null): Promise<string | null>;
  /**
   * Calls back with the reason for all others when another store was accepted for the zone. Returns a function that stops this.
   */
  onAccepted(listener: (zone: string, storeId: string, reason: string) => void): () => void;
}

/** Every store may speak for every zone. */
export const anyStore: ZoneStores = { admit: async () => null, onAccepted: () => () => undefined };

/** A zone whose row has changed. `before` and `after`: what the row says; that of a zone without a row is `ANY_ZONE`. */
export type ZoneChange = { readonly zone: string; readonly before: ZoneProfile; readonly after: ZoneProfile };

/** The zones of this global: which exist, which are disabled (kds-wire 5.2.5c), and of which meshes they are members. */
export interface ZoneRegistry {
  /** Creates `Zone/<name>` if absent. Throws MeridianError `invalid` if the name is no RFC 1035 label (kds-wire 2.6). */
  ensure(zone: string): Promise<void>;
  /** Settles when every change of a Zone that is committed now is known here. Rejects with `unavailable` when the store does not answer. */
  caughtUp(): Promise<void>;
  /** Returns true while there is a Zone of this name. */
  has(zone: string): boolean;
  /** The profile of a zone in its Zone; `ANY_ZONE` without a row. */
  profileOf(zone: string): ZoneProfile;
  /** Calls back when a zone was created, deleted or changed. Returns a function that stops this. */
  onChange(listener: (change: ZoneChange) => void): () => void;
  /** Calls back as `onChange` for one zone: the cost of a change does not grow with the number of zones. */
  watch(zone: string, listener: (change: ZoneChange) => void): () => void;
  /**
   * Calls back when the row of a zone was deleted with all rows that it owns, even if a new row has its name. Returns a function
   * that stops this.
   */
  onGone(listener: (zone: string) => void): () => void;
}
