// The resources of a type that a peer refuses. There may be many thousands: a report names the first of them, and all that
// changed since the one before.

/** The largest number of resources that a report, a problem or a log line names. */
export const MAX_NAMED = 10;

/**
 * Resources of one type.
 * @property first the wire names of the first of them
 * @property reason the reason of the first; null without any
 */
export type NamedResources = { readonly count: number; readonly first: readonly string[]; readonly reason: string | null };

/** The resources that the peer has refused and not accepted since. */
export type RefusalReport = {
  readonly refused: NamedResources;
  /** The resources of a response that the peer refused without a name: at least one of them is the culprit. */
  readonly suspects: NamedResources;
  /** The reasons by wire name, of resources that are refused or suspected since the last report, or for another reason. */
  readonly changed: ReadonlyMap<string, string>;
  /** The wire names of the resources that are no longer refused or suspected. */
  readonly solved: readonly string[];
};

/** @param reasons the reasons by wire name; only the first are read */
export function namedResources(reasons: ReadonlyMap<string, string>): NamedResources {
  const first: string[] = [];
  for (const name of reasons.keys()) if (first.push(name) === MAX_NAMED) break;
  const [reason = null] = reasons.values();
  return { count: reasons.size, first, reason };
}
