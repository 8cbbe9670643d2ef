// What the sender must know of zones on the global: which exist and which are disabled (kds-wire 5.2.5c).

export interface ZoneRegistry {
  /** Creates `Zone/<name>` if absent. Throws MeridianError `invalid` if the name is no RFC 1035 label (kds-wire 2.6). */
  ensure(zone: string): Promise<void>;
  /** True unless the Zone says otherwise; true too while it is unknown. */
  isEnabled(zone: string): boolean;
  /** Calls back when a zone was disabled, enabled, created or deleted. Returns the way to stop. */
  onChange(listener: (zone: string) => void): () => void;
  /**
   * Calls back when the row of a zone went, and all it owns with it, even if one of its name is there again. Returns the way to
   * stop.
   */
  onGone(listener: (zone: string) => void): () => void;
}
