// `status.parents[].conditions` of a route in Gateway API's form (GEP-718 «API», D24). Pure.
// Invariant: a condition keeps its transition time until its status changes, so an unchanged route is an unchanged row.
import type { Json, JsonObject } from '../resource/types.ts';
import type { Violation } from '../base/violations.ts';
import type { ParentRef } from './gateway-route.ts';
import type { BrokenReference, DroppedRule, ResolvedParent } from './resolve-references.ts';
import type { Conversion, DerivedResource } from './to-mesh-routes.ts';
import { isObject } from '../resource/read-json.ts';

/** `status.parents[].controllerName` of Meridian's entries. */
export const CONTROLLER_NAME = 'meridian.internal/gateway-api';

/** The number of details in a condition's message, which Kubernetes limits to 32 KiB. */
const MAX_DETAILS = 20;

type StatusContext = {
  /** The stored status. A status that `routeStatus` did not write is ignored. */
  readonly former: Json | undefined;
  readonly now: Date;
};

/** The resources that are not stored, since another row has their stored name, with that name. */
type NameConflicts = ReadonlyMap<DerivedResource, string>;

type Verdict = { readonly type: string; readonly status: 'True' | 'False'; readonly reason: string; readonly message: string };

/**
 * The status after a conversion. It has no `observedGeneration`, because a stored resource has no `metadata.generation`.
 * - `Accepted`: False with reason `NoMatchingParent` where the parent is not found, and with `NameConflict`, a reason of Meridian, where
 *   another row has the name of one of its resources.
 * - `ResolvedRefs`: False with reason `DegradedRoutes` where a rule is left out because of a reference (GEP-718).
 * - `PartiallyInvalid`, only where a rule is left out: the field and the reason. Gateway API defines it for dropped rules.
 * @param conflicts the conflicts of the resources of the conversion
 */
export function routeStatus(
  { resolved, byParent }: Conversion,
  context: StatusContext,
  conflicts: NameConflicts = new Map(),
): JsonObject {
  const parentVerdicts = resolved.parents.map((resolvedParent, index) => ({
    parent: resolvedParent.parent,
    verdicts: [
      accepted(resolvedParent, byParent[index] ?? [], resolved.warnings, conflicts),
      resolvedRefs(resolved.broken),
      ...partiallyInvalid([...resolved.broken, ...resolved.invalid]),
    ],
  }));
  return statusOf(parentVerdicts, context);
}

/**
 * The status of a route without a valid rule, or with a violation outside of its rules. Writes are checked, so such a row was written
 * before a check existed, or past the API, for example with psql.
 * @param parents the parents that can be read
 */
export function invalidStatus(
  parents: readonly ParentRef[],
  violations: readonly Violation[],
  context: StatusContext,
): JsonObject {
  const shown = violations.slice(0, MAX_DETAILS).map(({ field, reason }) => `${field}: ${reason}`);
  const message = [...shown, ...(violations.length > MAX_DETAILS ? [more(violations)] : [])].join('; ');
  const verdict = { type: 'Accepted', status: 'False', reason: 'UnsupportedValue', message } as const;
  return statusOf(
    parents.map((parent) => ({ parent, verdicts: [verdict] })),
    context,
  );
}

type ParentVerdicts = { readonly parent: ParentRef; readonly verdicts: readonly Verdict[] };

function statusOf(parentVerdicts: readonly ParentVerdicts[], { former, now }: StatusContext): JsonObject {
  const formerEntries = listOf(isObject(former) ? former['parents'] : undefined).filter(isObject);
  const others = formerEntries.filter(
    (entry) => typeof entry['controllerName'] === 'string' && entry['controllerName'] !== CONTROLLER_NAME,
  );
  const parents = parentVerdicts.map(({ parent, verdicts }): JsonObject => {
    const parentRef = parentRefOf(parent);
    const mine = formerEntries.find(
      (entry) => entry['controllerName'] === CONTROLLER_NAME && isSame(entry['parentRef'], parentRef),
    );
    const before = listOf(mine?.['conditions']).filter(isObject);
    return {
      parentRef,
      controllerName: CONTROLLER_NAME,
      conditions: verdicts.map((verdict) => ({
        ...verdict,
        lastTransitionTime: transitionTime(verdict, before) ?? `${now.toISOString().slice(0, 19)}Z`,
      })),
    };
  });
  return { parents: [...parents, ...others] };
}

function accepted(
  { target }: ResolvedParent,
  made: readonly DerivedResource[],
  warnings: readonly string[],
  conflicts: NameConflicts,
): Verdict {
  if ('problem' in target) return { type: 'Accepted', status: 'False', reason: 'NoMatchingParent', message: target.problem };
  const taken = made.find((resource) => conflicts.has(resource));
  if (taken !== undefined) {
    const row = `${taken.type} ${JSON.stringify(conflicts.get(taken))}`;
    const message = `${row} exists and was not made from this route: rename one of them`;
    return { type: 'Accepted', status: 'False', reason: 'NameConflict', message };
  }
  const routes = made.filter(({ type }) => type !== 'MeshTimeout');
  const [first] = routes;
  const effect =
    first === undefined
      ? 'the route is accepted, and none of its rules is in force'
      : `the route became ${first.type} ${routes.map(({ name }) => name).join(', ')}`;
  const message = [effect, ...warnings.slice(0, MAX_DETAILS)].join('; ');
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message };
}

function resolvedRefs(broken: readonly BrokenReference[]): Verdict {
  if (broken.length === 0)
    return { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: 'every reference is found' };
  const names = ruleNames(broken);
  const left = names.length === 1 ? `rule ${names.join('')} is left out` : `rules ${names.join(', ')} are left out`;
  const message = `${left} until every reference of it is found`;
  return { type: 'ResolvedRefs', status: 'False', reason: 'DegradedRoutes', message };
}

function partiallyInvalid(dropped: readonly DroppedRule[]): Verdict[] {
  const [first] = dropped;
  if (first === undefined) return [];
  const names = ruleNames(dropped);
  const shown = dropped.slice(0, MAX_DETAILS).map(({ at, message }) => `${at}: ${message}`);
  const details = [...shown, ...(dropped.length > MAX_DETAILS ? [more(dropped)] : [])].join('; ');
  // The beginning of the message is Gateway API's.
  const message = `Dropped Rule${names.length === 1 ? '' : 's'} ${names.join(', ')}: ${details}`;
  return [{ type: 'PartiallyInvalid', status: 'True', reason: first.reason, message }];
}

/** The index of each rule once, in the order of the document, with its name. */
function ruleNames(dropped: readonly DroppedRule[]): string[] {
  const names = new Map(dropped.map(({ rule, ruleName }) => [rule, ruleName]));
  return [...names]
    .toSorted(([a], [b]) => a - b)
    .map(([rule, ruleName]) => (ruleName === undefined ? String(rule) : `${String(rule)} (${ruleName})`));
}

function more({ length }: readonly unknown[]): string {
  return `and ${String(length - MAX_DETAILS)} more`;
}

function transitionTime(verdict: Verdict, before: readonly JsonObject[]): string | undefined {
  const former = before.find((condition) => condition['type'] === verdict.type);
  const time = former?.['status'] === verdict.status ? former['lastTransitionTime'] : undefined;
  return typeof time === 'string' ? time : undefined;
}

function parentRefOf({ group, kind, namespace, name, sectionName, port }: ParentRef): JsonObject {
  return {
    group,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(sectionName !== undefined && { sectionName }),
    ...(port !== undefined && { port }),
  };
}

/** Stores do not keep the order of keys. */
function isSame(given: Json | undefined, ref: JsonObject): boolean {
  if (!isObject(given) || Object.keys(given).length !== Object.keys(ref).length) return false;
  return Object.entries(ref).every(([key, value]) => Object.hasOwn(given, key) && given[key] === value);
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
