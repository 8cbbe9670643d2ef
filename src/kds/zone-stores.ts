// Decides which store may connect for a zone; the composition root keeps the known stores. A store is a database: replicas share
// its id.

export interface ZoneStores {
  /**
   * Admits a caller that speaks for the zone from this store; the first store that comes is remembered.
   * @param storeId null for a peer that shows none, as a Kuma zone
   * @returns null, or why this store may not speak for the zone, with what to do
   */
  admit(zone: string, storeId: string | null): Promise<string | null>;
  /** Calls back with the reason for all others when another store was accepted for the zone. Returns the way to stop. */
  onAccepted(listener: (zone: string, storeId: string, reason: string) => void): () => void;
}

/** Every store may speak for every zone. */
export const anyStore: ZoneStores = { admit: async () => null, onAccepted: () => () => undefined };
