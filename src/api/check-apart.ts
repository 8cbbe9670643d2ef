// Checks of large documents in a thread beside the control plane: the question, its answer there, and the draft from the answer.
import { MeridianError, type ErrorCode } from '../base/errors.ts';
import type { Violation } from '../base/violations.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import type { DocumentThreads } from './document-threads.ts';
import { ApiError } from './error-body.ts';
import { parseJsonBody } from './json-body.ts';
import { draftOf, type Draft, type WriteRules } from './write-checks.ts';
import type { WorkFor } from './work-for.ts';

/** Characters from which a document is checked apart: less than this takes some milliseconds. */
export const LARGE_DOCUMENT = 32 * 1024;

export type CheckQuestion = {
  readonly kind: 'check';
  readonly type: string;
  readonly at: { readonly mesh: string; readonly name: string };
  /** JSON as a caller sent it. */
  readonly text: string;
  readonly rules: WriteRules;
  readonly strict: boolean;
};
export type CheckAnswer =
  /** The draft without its type, as JSON: that is faster to read than a structured clone. */
  | { readonly kind: 'draft'; readonly json: string }
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly title: string;
      readonly detail: string;
      readonly violations: readonly Violation[];
    };

/** In the thread. Throws what is no fault of the document. */
export function answerToCheck({ type, at, text, rules, strict }: CheckQuestion): CheckAnswer {
  try {
    const { info: _info, ...draft } = draftOf(typeOf(type), at, parseJsonBody(text), rules, { strict });
    return { kind: 'draft', json: JSON.stringify(draft) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, title, message: detail, violations } = error;
    return { kind: 'refused', code, title, detail, violations };
  }
}

/** The draft of a document. @throws ApiError as `draftOf`; 429 or 503 when too many documents wait */
export type CheckApart = (
  info: TypeInfo,
  question: Pick<CheckQuestion, 'at' | 'text' | 'strict'>,
  work: WorkFor,
) => Promise<Draft>;

export function checkerApart(threads: DocumentThreads, rules: WriteRules): CheckApart {
  return async (info, question, work) => {
    const answer = await threads.ask({ kind: 'check', type: info.name, rules, ...question }, work);
    if (answer.kind === 'refused') throw new ApiError(answer.code, answer.title, answer.detail, answer.violations);
    if (answer.kind !== 'draft') throw new MeridianError('internal', `a check was answered with ${answer.kind}`);
    return { info, ...(JSON.parse(answer.json) as Omit<Draft, 'info'>) };
  };
}
