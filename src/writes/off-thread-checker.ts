// The draft of a large document, which a thread beside the control plane checks (off-thread-check.ts).
import { readJson } from '../base/long-lists.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { CheckQuestion } from './off-thread-check.ts';
import type { DocumentThreads } from './document-threads.ts';
import { ApiError } from '../http/error-body.ts';
import type { CallerWork } from '../http/caller-work.ts';
import type { Draft, WriteRules } from './write-checks.ts';

/** The number of characters from which a document is checked apart: less than this takes some milliseconds. */
export const LARGE_DOCUMENT = 32 * 1024;

/** The draft of a document. @throws ApiError as `draftOf`; 429 or 503 when too many documents wait */
export type CheckOffThread = (
  info: TypeInfo,
  question: Pick<CheckQuestion, 'at' | 'text' | 'strict'>,
  work: CallerWork,
) => Promise<Draft>;

export function offThreadChecker(threads: DocumentThreads, rules: WriteRules): CheckOffThread {
  return async (info, question, work) => {
    const answer = await threads.ask({ kind: 'check', type: info.name, rules, ...question }, work);
    if (answer.kind === 'refused') throw new ApiError(answer.code, answer.title, answer.detail, answer.violations);
    const draft = JSON.parse(answer.json) as Omit<Draft, 'info' | 'spec'>;
    return { info, ...draft, spec: readJson(answer.spec) as JsonObject };
  };
}
