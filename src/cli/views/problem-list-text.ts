// The problems of a control plane: a table, then each with its reason and what to do. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { table } from './table.ts';

type Problem = Answer<'Problem'>;

/** @param age prints the age of a time, such as `5m` */
export function problemListText(problems: readonly Problem[], age: (time: string) => string): string {
  const rows = problems.map((problem) => [problem.code, whereOf(problem), whenOf(problem, age)]);
  const reasons = problems.flatMap(({ message, remedy, runbook }) => {
    const [first = '', ...more] = message.split('\n').map(visibleLine);
    return ['', first, ...more.map((line) => `  ${line}`), `  → ${visibleLine(remedy)} (${visibleLine(runbook)})`];
  });
  return [table(['PROBLEM', 'WHERE', 'SINCE'], rows), ...reasons].join('\n');
}

/** A sentence and what to do. */
export function hintText({ message, remedy }: Answer<'Hint'>): string {
  return [`hint: ${visibleLine(message)}`, `  → ${visibleLine(remedy)}`].join('\n');
}

function whereOf({ zone, mesh, type, instanceId }: Problem): string {
  const of = [zone, mesh, instanceId].filter((part) => part !== undefined).join(' ');
  return type === undefined ? of || '-' : `${of} ${type}`;
}

function whenOf({ since, until }: Problem, age: (time: string) => string): string {
  if (until !== undefined) return `ends ${until.slice(0, 10)}`;
  return since === null ? '-' : age(since);
}
