// What is wrong now, as the control plane says it.
import type { Answer } from '../../src/api/answers.ts';
import type { LiveEvent } from './events.ts';
import { useLive, type Live } from './live.ts';
import type { Tone } from './parts/state-mark.tsx';
import { get } from './session.ts';

export type Problem = Answer<'Problem'>;

/** As many as one request gives. Nobody reads more. */
const SIZE = 1_000;

/** Codes that are worse than a warning. */
const BAD = /Refused$|Withheld$|Contended$|^noLeader$|^twoLeaders$/;

export function useProblems(): Live<readonly Problem[]> {
  return useLive('problems', ['problems'], loadProblems, { patch: patchProblems });
}

export function toneOfProblem({ code }: Problem): Tone {
  if (BAD.test(code)) return 'bad';
  return code === 'zoneAway' || code === 'replicaAway' ? 'away' : 'late';
}

async function loadProblems(signal: AbortSignal): Promise<readonly Problem[]> {
  return (await get<{ items: Problem[] }>(`/_problems?size=${String(SIZE)}`, signal)).items;
}

async function patchProblems(
  problems: readonly Problem[],
  events: readonly NonNullable<LiveEvent>[],
): Promise<readonly Problem[]> {
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  for (const item of events.flatMap((event) => (event.topic === 'problems' ? event.data.items : [])))
    if ('isSolved' in item) byId.delete(item.id);
    else byId.set(item.id, item);
  return [...byId.values()];
}
