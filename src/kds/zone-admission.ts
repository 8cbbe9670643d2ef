// Who may open streams as which zone; the root decides, by tokens (D31). The protocol knows no tokens.

export type ZonePass =
  | {
      readonly ok: true;
      /** When the zone's credentials expire; null if it sent none. */
      readonly expiresAt: Date | null;
      /** Calls `end` once, with a reason for people, when the zone may no longer. Returns what ends the watch. */
      readonly watch: (end: (reason: string) => void) => () => void;
    }
  | { readonly ok: false; readonly reason: string };

/** @param authorization all values of the metadata `authorization` @param zone of `client-id` */
export type AdmitZone = (authorization: readonly string[], zone: string) => Promise<ZonePass>;

/** Admits every caller. */
export const admitAll: AdmitZone = async () => ({ ok: true, expiresAt: null, watch: () => () => undefined });
