// A thread that reads, prints and checks documents: a large one takes seconds, which the control plane has not. Its priority is low, so
// that the control plane need not wait for a core.
import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '../base/lower-thread-priority.ts';
import type { CheckAnswer, CheckQuestion } from './off-thread-check.ts';
import { answerAboutYaml, type YamlAnswer, type YamlQuestion } from '../http/yaml-answers.ts';

export type DocumentQuestion = YamlQuestion | CheckQuestion;
/** `ready`: the thread has started, and comes before all answers. */
export type DocumentAnswer = YamlAnswer | CheckAnswer | { readonly kind: 'ready' };

function say(answer: DocumentAnswer): void {
  parentPort?.postMessage(answer);
}

async function answerTo(question: DocumentQuestion): Promise<DocumentAnswer> {
  if (question.kind !== 'check') return answerAboutYaml(question);
  // The schemas of all types are loaded when they are needed.
  const { answerToCheck } = await import('./off-thread-check.ts');
  return answerToCheck(question);
}

lowerThreadPriority();
parentPort?.on('message', (question: DocumentQuestion) => void answerTo(question).then(say));
say({ kind: 'ready' });
