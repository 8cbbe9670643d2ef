// Which resources of a type a peer refuses. It may be many thousands: a report names the first of them, and all that changed since the one
// before.

/** The largest number of resources that a report, a problem or a log line names. */
export const MAX_NAMED = 10;

/** Resources of one type. @property first the wire names of the first of them @property reason of the first; null without any */
export type NamedResources = { readonly count: number; readonly first: readonly string[]; readonly reason: string | null };

/** The resources that the peer has refused and not accepted since. */
export type RefusalReport = {
  readonly refused: NamedResources;
  /** Those of a response that the peer refused without a name: at least one of them is the culprit. */
  readonly suspects: NamedResources;
  /** Wire name → reason: those that are refused or suspected since the last report, or for another reason. */
  readonly changed: ReadonlyMap<string, string>;
  /** The wire names of those that no longer are. */
  readonly solved: readonly string[];
};

/** @param reasons wire name → reason; only the first are read */
export function namedResources(reasons: ReadonlyMap<string, string>): NamedResources {
  const first: string[] = [];
  for (const name of reasons.keys()) if (first.push(name) === MAX_NAMED) break;
  const [reason = null] = reasons.values();
  return { count: reasons.size, first, reason };
}
