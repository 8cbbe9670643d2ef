// A spec as the checks see it: bounded in depth, without nulls and keys that touch prototypes. The stored spec is never touched.
import { MIN_ITEMS } from '../base/long-lists.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { FaultlessItems } from './faultless-items.ts';
import type { Findings } from './findings.ts';
import { child } from '../resource/spec-path.ts';

/** The largest number of levels of objects and lists, the spec itself included (D32). */
const MAX_SPEC_DEPTH = 64;

/** The number of levels of an item that is remembered. */
const ITEM_LEVELS = 32;
const CLEAN = {};
const cleanItems = new FaultlessItems();

/**
 * The spec itself where there is nothing to leave out, else a copy without prototypes, null members (absent to every reader,
 * policies 3.3), keys `__proto__`, and values that are too deep; the last two are violations.
 */
export function cleanSpec(spec: JsonObject, findings: Findings): JsonObject {
  return isClean(spec, MAX_SPEC_DEPTH) ? spec : cleanCopy(spec, findings);
}

/** Whether a value has nothing to leave out. @param levels the number of levels that may be nested here, this one included */
function isClean(value: Json[] | JsonObject, levels: number): boolean {
  if (levels === 0) return false;
  if (Array.isArray(value)) {
    const within = (left: number) => (item: Json) => typeof item !== 'object' || item === null || isClean(item, left);
    // The result for an item holds in each place that has room for it.
    const isKept = value.length >= MIN_ITEMS && levels > ITEM_LEVELS;
    if (isKept && cleanItems.check(CLEAN, value, within(ITEM_LEVELS), { whole: false })) return true;
    return value.every(within(levels - 1));
  }
  return Object.keys(value).every((key) => {
    const member = value[key];
    if (key === '__proto__' || member === null || member === undefined) return false;
    return typeof member !== 'object' || isClean(member, levels - 1);
  });
}

function cleanCopy(spec: JsonObject, findings: Findings): JsonObject {
  let isTooDeep = false;
  const steps: (string | number)[] = [];
  const here = (): string => steps.reduce<string>(child, 'spec');

  const cleanMember = (value: Json, step: string | number): Json | undefined => {
    if (typeof value !== 'object' || value === null) return value;
    steps.push(step);
    const cleaned = cleanNested(value);
    steps.pop();
    return cleaned;
  };
  const cleanNested = (value: Json[] | JsonObject): Json | undefined => {
    if (steps.length >= MAX_SPEC_DEPTH) {
      if (!isTooDeep) findings.violation(here(), `must not be nested deeper than ${MAX_SPEC_DEPTH} levels`);
      isTooDeep = true;
      return undefined;
    }
    return Array.isArray(value) ? value.map((item, index) => cleanMember(item, index) ?? null) : cleanObject(value);
  };
  const cleanObject = (value: JsonObject): JsonObject => {
    const copy = Object.create(null) as JsonObject;
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (key === '__proto__') findings.violation(child(here(), key), 'must not be used as a key');
      else if (member !== null && member !== undefined) {
        const cleaned = cleanMember(member, key);
        if (cleaned !== undefined) copy[key] = cleaned;
      }
    }
    return copy;
  };
  return cleanObject(spec);
}
