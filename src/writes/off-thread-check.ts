// Checks of large documents in a thread beside the control plane: the question, and its answer there.
import type { ErrorCode } from '../base/errors.ts';
import { printJson } from '../base/long-lists.ts';
import type { Violation } from '../base/violations.ts';
import { typeOf } from '../resource/type-registry.ts';
import { ApiError } from '../http/error-body.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { draftOf, type WriteRules } from './write-checks.ts';

export type CheckQuestion = {
  readonly kind: 'check';
  readonly type: string;
  readonly at: { readonly mesh: string; readonly name: string };
  /** The JSON as a caller sent it. */
  readonly text: string;
  readonly rules: WriteRules;
  readonly strict: boolean;
};
export type CheckAnswer =
  /** The draft without its type, and its spec, as JSON. The store has the same text of the spec: it is read once. */
  | { readonly kind: 'draft'; readonly json: string; readonly spec: string }
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly title: string;
      readonly detail: string;
      readonly violations: readonly Violation[];
    };

/** Answers a question, in the thread. Throws errors that are no fault of the document. */
export function answerToCheck({ type, at, text, rules, strict }: CheckQuestion): CheckAnswer {
  try {
    const { info: _info, spec, ...draft } = draftOf(typeOf(type), at, parseJsonBody(text), rules, { strict });
    return { kind: 'draft', json: JSON.stringify(draft), spec: printJson(spec) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, title, message: detail, violations } = error;
    return { kind: 'refused', code, title, detail, violations };
  }
}
