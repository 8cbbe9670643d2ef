// What was made of the rules of one route on one outbound. A record of a rule stays good while no service changes: a changed rule of
// thousands makes one record. Invariant: matches and conf of a rule are the same objects in all versions of a policy (long-lists.ts).
import type { Outbound } from '../policy/outbounds.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Backends, Mirror } from './backend.ts';
import type { MatchRank } from './route-match.ts';

/** Where a rule leads to. Rules with equal ones have equal texts. */
export type Leads = Backends & {
  readonly mirrors: readonly Mirror[];
  readonly text: string;
};

/** The policies of a route as fields of Envoy: timeouts, retries, hash policies. Equal ones have equal texts. */
export type RouteSettings = { readonly fields: JsonObject; readonly text: string };

/** The routes of one match, in their order, and the place of the match among others. */
export type AskedRoutes = { readonly rank: MatchRank; readonly isCatchAll: boolean; readonly routes: readonly JsonObject[] };

export type RuleRoutes = {
  readonly settings: RouteSettings;
  readonly leads: Leads;
  readonly asked: readonly AskedRoutes[];
  /** Each once, mirrors included. */
  readonly destinations: readonly Outbound[];
};

export type RuleRecord = {
  readonly matches: Rule['matches'];
  /** The rule was checked, and nothing of it is reported. */
  isQuiet: boolean;
  routes: RuleRoutes | null;
};

/** A rule, checked or not, by its objects. */
type Rule = { readonly matches: readonly object[] | null; readonly conf: object };

export class RouteSource {
  readonly #records = new WeakMap<object, RuleRecord>();
  readonly #destinations = new Map<string, readonly Outbound[]>();
  #before: RouteSource | null;

  /** @param before of the services before they changed */
  constructor(before: RouteSource | null) {
    this.#before = before;
    // Two versions are kept, and no chain of them.
    if (before !== null) before.#before = null;
  }

  /** The record of a rule, empty at first. */
  of(rule: Rule): RuleRecord {
    let record = this.#find(rule);
    if (record === undefined) this.#records.set(rule.conf, (record = { matches: rule.matches, isQuiet: false, routes: null }));
    return record;
  }

  /** The same list for equal leads: the rules of a long route name few services. */
  destinationsOf({ text, backends, mirrors }: Leads): readonly Outbound[] {
    let destinations = this.#destinations.get(text);
    if (destinations === undefined)
      this.#destinations.set(text, (destinations = [...backends, ...mirrors].map(({ outbound }) => outbound)));
    return destinations;
  }

  /** Its routes before the services changed. */
  routesBefore(rule: Rule): RuleRoutes | null {
    return this.#before === null ? null : (this.#before.#find(rule)?.routes ?? null);
  }

  #find({ conf, matches }: Rule): RuleRecord | undefined {
    const record = this.#records.get(conf);
    return record?.matches === matches ? record : undefined;
  }
}
