// The problems of a proxy's configuration, for people: refused resources, and parts that could not be built. DataplaneInsight has no field
// for them, so they are in the status of the row. Pure.
import type { ProxyEvent } from '../ads/proxy-events.ts';
import type { XdsRefusal } from '../ads/session-messages.ts';
import { storablePart } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ConfigProblem } from '../xds/config-problem.ts';

type RefusedResource = {
  readonly type: string;
  readonly name: string;
  /** The reason in the words of the proxy. */
  readonly reason: string;
  readonly time: Date;
  /** The KRIs of the policies that are in force on it, the one that changed last first; null until they are found. */
  readonly policies: readonly string[] | null;
};

export type Troubles = { readonly refused: readonly RefusedResource[]; readonly problems: readonly ConfigProblem[] };

/** The number of items of each kind that are kept; more are counted alone. */
const MAX_ITEMS = 20;
const MAX_REASON = 2_000;
const MAX_NAME = 400;
const MAX_POLICIES = 10;

export const NO_TROUBLES: Troubles = { refused: [], problems: [] };

/** Applies an event. @param known is null before the first stream */
export function foldTroubles(known: Troubles | null, event: ProxyEvent, now: Date): Troubles | null {
  if (event.kind === 'opened') return known !== null && isNone(known) ? known : NO_TROUBLES;
  if (known === null) return null;
  switch (event.kind) {
    case 'problems':
      return event.problems.length + known.problems.length === 0 ? known : { ...known, problems: event.problems };
    case 'accepted':
    case 'refused':
      return event.standing.length + known.refused.length === 0 ? known : standing(known, event.standing, now);
    default:
      return known;
  }
}

/** The refused resources with the policies that were found on each. */
export function withPolicies(known: Troubles, found: readonly Pick<RefusedResource, 'type' | 'name' | 'policies'>[]): Troubles {
  const policiesOf = new Map(found.map((one) => [keyOf(one), one.policies]));
  return { ...known, refused: known.refused.map((one) => ({ ...one, policies: policiesOf.get(keyOf(one)) ?? one.policies })) };
}

/** The `proxyProblems` of a status: the first of each kind, and the number of them. */
export function renderTroubles({ refused, problems }: Troubles): JsonObject {
  if (refused.length + problems.length === 0) return {};
  const listed = [
    ...refused.slice(0, MAX_ITEMS).map(({ type, name, reason, time, policies }) => ({
      kind: 'refused',
      at: storablePart(`${type} ${name}`, MAX_NAME),
      reason: storablePart(reason, MAX_REASON),
      policies: (policies ?? []).slice(0, MAX_POLICIES),
      time: time.toISOString(),
    })),
    ...problems.slice(0, MAX_ITEMS).map(({ policy, field, reason }) => ({
      kind: 'leftOut',
      at: storablePart(field, MAX_NAME),
      reason: storablePart(reason, MAX_REASON),
      policies: policy === null ? [] : [policy],
    })),
  ];
  return { proxyProblems: listed, proxyProblemCount: refused.length + problems.length };
}

function standing(known: Troubles, refusals: readonly XdsRefusal[], now: Date): Troubles {
  const before = new Map(known.refused.map((one) => [keyOf(one), one]));
  const refused = refusals.map(({ type, name, knownAs = name, reason }): RefusedResource => {
    const held = before.get(keyOf({ type, name: knownAs }));
    return held?.reason === reason ? held : { type, name: knownAs, reason, time: now, policies: null };
  });
  const isSame = refused.length === known.refused.length && refused.every((one) => before.get(keyOf(one)) === one);
  return isSame ? known : { ...known, refused };
}

function keyOf({ type, name }: Pick<RefusedResource, 'type' | 'name'>): string {
  return JSON.stringify([type, name]);
}

function isNone({ refused, problems }: Troubles): boolean {
  return refused.length + problems.length === 0;
}
