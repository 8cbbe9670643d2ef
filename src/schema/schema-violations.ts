// Converts the issues of zod to violations: a path in the form of a document, and a sentence that names the allowed values.
// Invariant: a large value is checked part by part, so that a check which ends early has not looked at the rest.
import { z } from 'zod';
import { isObject } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { FaultlessItems } from './faultless-items.ts';
import type { Findings } from './findings.ts';
import { child } from '../resource/spec-path.ts';

const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** The number of values that zod checks in one go; each may be a violation. */
export const MAX_PART = 2_000;

const validItems = new FaultlessItems();
const frames = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Checks a cleaned spec against its schema; every issue becomes one violation.
 * @param maxPart a value that holds more values than this is checked part by part, with the same violations
 */
export function addSchemaViolations(schema: z.ZodType, spec: JsonObject, findings: Findings, maxPart = MAX_PART): void {
  const steps: PropertyKey[] = [];

  /** @returns whether the value is valid */
  const checkWhole = (part: z.ZodType, value: Json | undefined): boolean => {
    const result = part.safeParse(value, { error: sentence });
    if (result.success) return true;
    for (const issue of result.error.issues)
      findings.violation([...steps, ...issue.path].reduce<string>(child, 'spec'), issue.message);
    return false;
  };
  const checkMember = (part: z.ZodType, value: Json | undefined, step: PropertyKey): boolean => {
    steps.push(step);
    const isValid = check(part, value);
    steps.pop();
    return isValid;
  };
  const check = (part: z.ZodType, value: Json | undefined): boolean => {
    const inner = unwrapped(part);
    if (!exceeds(value, maxPart)) return checkWhole(part, value);
    let isValid = true;
    if (inner instanceof z.ZodObject && isObject(value)) {
      const shape = inner.shape as Readonly<Record<string, z.ZodType>>;
      for (const [key, member] of Object.entries(shape)) isValid = checkMember(member, value[key], key) && isValid;
    } else if (inner instanceof z.ZodArray && Array.isArray(value)) {
      // zod looks at no item of a list that is too long.
      if ((inner.def.checks ?? []).length > 0 && !checkWhole(frameOf(inner), value)) return false;
      const element = inner.element as z.ZodType;
      isValid = validItems.check(element, value, (item, index) => checkMember(element, item, index));
    } else if (inner instanceof z.ZodRecord && isObject(value)) {
      for (const key of Object.keys(value)) isValid = checkMember(inner.valueType as z.ZodType, value[key], key) && isValid;
      isValid = checkWhole(frameOf(inner), value) && isValid;
    } else isValid = checkWhole(part, value);
    return isValid;
  };
  check(schema, spec);
}

/** The inner schema of an optional schema or of one with a default. */
function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}

/** A list or a map with its own rules alone: length, keys. */
function frameOf(schema: z.ZodArray | z.ZodRecord): z.ZodType {
  const ready = frames.get(schema);
  if (ready !== undefined) return ready;
  const bare = schema instanceof z.ZodArray ? z.array(z.unknown()) : z.record(schema.keyType as z.ZodString, z.unknown());
  const frame = (bare as z.ZodType).check(...((schema.def.checks ?? []) as z.core.$ZodCheck<unknown>[]));
  frames.set(schema, frame);
  return frame;
}

/** Whether a value holds more than `most` values, itself included. It reads at most that many. */
function exceeds(value: Json | undefined, most: number): boolean {
  let left = most;
  const count = (part: Json | undefined): void => {
    left -= 1;
    if (left < 0 || typeof part !== 'object' || part === null) return;
    if (Array.isArray(part)) for (let index = 0; index < part.length && left >= 0; index += 1) count(part[index]);
    else
      for (const key in part) {
        if (left < 0) return;
        count(part[key]);
      }
  };
  count(value);
  return left < 0;
}

/** Sentences for issues without one of their own: objects, lists and the lengths of lists. */
function sentence(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const what = KINDS[issue.expected] ?? issue.expected;
    return issue.input === undefined ? `must be given: ${what}` : `must be ${what}`;
  }
  if (issue.code === 'too_small') return `must have at least ${String(issue.minimum)} ${issue.minimum === 1 ? 'item' : 'items'}`;
  if (issue.code === 'too_big') return `must have at most ${String(issue.maximum)} ${issue.maximum === 1 ? 'item' : 'items'}`;
  return undefined;
}
