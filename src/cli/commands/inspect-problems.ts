// `meridian inspect problems`: what is wrong now, and what to do.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addOutputOption, type OutputOptions } from '../options.ts';
import { ageOf, isForPrograms, print, printList } from '../output.ts';
import { hintText, problemListText } from '../views/problem-list-text.ts';

const HELP = `
Below the table each problem has its reason, what to do, and the section of the
runbook. Hints follow: they are no problems, and programs find them in the
answer of /_problems. The exit code is 0 also with problems.

Examples:
  meridian inspect problems
  meridian inspect problems -o json`;

export function addInspectProblems(inspect: Command): void {
  const command = inspect.command('problems').description('what is wrong now, since when, and what to do');
  addConnectOptions(addOutputOption(command)).addHelpText('after', HELP).action(inspectProblems);
}

type Found = { readonly items: readonly Answer<'Problem'>[]; readonly hints?: readonly Answer<'Hint'>[] };

async function inspectProblems({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  const client = await connect(connection);
  const answer = (await client.readWhole('/_problems', 'items')) as unknown as Found;
  printList(answer.items, output, { nothing: 'no problem', text: (found) => problemListText(found, (time) => ageOf(time)) });
  if (!isForPrograms(output)) for (const hint of answer.hints ?? []) print(`\n${hintText(hint)}`);
}
