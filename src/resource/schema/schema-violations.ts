// What zod found, as violations: path as people write it, and a sentence that says what is allowed.
import type { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { child } from './spec-path.ts';

const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** Checks a cleaned spec against its schema; every issue becomes one violation. */
export function addSchemaViolations(schema: z.ZodType, spec: JsonObject, findings: Findings): void {
  const result = schema.safeParse(spec, { error: sentence });
  if (result.success) return;
  for (const issue of result.error.issues) {
    let path = 'spec';
    if (!findings.isFull) for (const step of issue.path) path = child(path, step);
    findings.violation(path, issue.message);
  }
}

/** Sentences for what the fields themselves have none for: objects, lists and the lengths of lists. */
function sentence(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const what = KINDS[issue.expected] ?? issue.expected;
    return issue.input === undefined ? `must be given: ${what}` : `must be ${what}`;
  }
  if (issue.code === 'too_small') return `must have at least ${String(issue.minimum)} ${issue.minimum === 1 ? 'item' : 'items'}`;
  if (issue.code === 'too_big') return `must have at most ${String(issue.maximum)} ${issue.maximum === 1 ? 'item' : 'items'}`;
  return undefined;
}
