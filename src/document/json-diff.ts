// The difference between two JSON documents, as the operations of a JSON Patch (RFC 6902): add, remove, replace.
import type { Steps } from '../base/steps.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject } from '../resource/read-json.ts';

/** The largest number of listed changes. With more, the whole document is replaced. */
const MAX_CHANGES = 1_000;
/**
 * The number of levels that are divided into steps: those above the rules of a route, in a document and in the configuration of a
 * proxy.
 */
const MAX_LEVELS = 6;

/** An operation of a JSON Patch. */
export type Change = { readonly op: 'add' | 'remove' | 'replace'; readonly path: string; readonly value?: Json };
/** The place of a value: the levels above it, and its step as it is written in a path. The text is made for changes alone. */
type Place = { readonly above: Place; readonly step: string | number } | null;

/** The operations that change `before` into `after`; empty when they are equal. Lists are compared by index. */
export function* diffSteps(before: Json, after: Json): Steps<Change[]> {
  const changes: Change[] = [];
  for (const [old, value, place] of parts(before, after, null, MAX_LEVELS)) {
    compare(old, value, place, changes);
    if (changes.length > MAX_CHANGES) return [{ op: 'replace', path: '', value: after }];
    yield;
  }
  return changes;
}

type Part = readonly [before: Json | undefined, after: Json | undefined, place: Place];

/** The parts of two values that are compared in a step each. */
function* parts(before: Json, after: Json, place: Place, levels: number): Generator<Part, void> {
  const members = levels === 0 || before === after ? null : pairs(before, after);
  if (members === null) return void (yield [before, after, place]);
  for (const [step, old, value] of members) {
    const at = { above: place, step };
    if (old === undefined || value === undefined) yield [old, value, at];
    else yield* parts(old, value, at, levels - 1);
  }
}

type Pair = readonly [step: string | number, before: Json | undefined, after: Json | undefined];

/** The members of two lists or of two objects; null for other values. */
function pairs(before: Json, after: Json): Generator<Pair, void> | null {
  if (Array.isArray(before) && Array.isArray(after)) return pairsOfLists(before, after);
  return isObject(before) && isObject(after) ? pairsOfObjects(before, after) : null;
}

/** Surplus items are removed from the end, so that the operations can be applied in order. */
function* pairsOfLists(before: readonly Json[], after: readonly Json[]): Generator<Pair, void> {
  for (const [at, value] of after.entries()) yield [at < before.length ? at : '-', before[at], value];
  for (let at = before.length - 1; at >= after.length; at -= 1) yield [at, before[at], undefined];
}

function* pairsOfObjects(before: JsonObject, after: JsonObject): Generator<Pair, void> {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) yield [key, before[key], undefined];
  for (const key of Object.keys(after)) yield [key, Object.hasOwn(before, key) ? before[key] : undefined, after[key]];
}

function compare(before: Json | undefined, after: Json | undefined, place: Place, changes: Change[]): void {
  // Versions of a document share the items that are the same.
  if (before === after || changes.length > MAX_CHANGES) return;
  if (after === undefined) return void changes.push({ op: 'remove', path: textOf(place) });
  if (before === undefined) return void changes.push({ op: 'add', path: textOf(place), value: after });
  const members = pairs(before, after);
  if (members === null) return void changes.push({ op: 'replace', path: textOf(place), value: after });
  for (const [step, old, value] of members) compare(old, value, { above: place, step }, changes);
}

function textOf(place: Place): string {
  return place === null ? '' : `${textOf(place.above)}/${escape(String(place.step))}`;
}

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
