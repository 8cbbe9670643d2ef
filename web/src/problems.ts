// What is wrong now, as the control plane says it.
import type { Answer } from '../../src/answers/answers.ts';
import type { LiveEvent } from './events.ts';
import { useLive, type Live } from './live.ts';
import type { Tone } from './parts/state-mark.tsx';
import { get } from './session.ts';

export type Problem = Answer<'Problem'>;

/** @property items the first of all */
export type Problems = { readonly total: number; readonly items: readonly Problem[] };

/** As many as one request gives. A person does not read more. */
const SIZE = 1_000;

/** Codes that are worse than a warning. */
const BAD = /Refused$|Withheld$|Contended$|^noLeader$|^twoLeaders$/;

export function useProblems(): Live<Problems> {
  return useLive('problems', ['problems'], loadProblems, { patch: patchProblems });
}

export function toneOfProblem({ code }: Problem): Tone {
  if (BAD.test(code)) return 'bad';
  return code === 'zoneAway' || code === 'replicaAway' ? 'away' : 'late';
}

async function loadProblems(signal: AbortSignal): Promise<Problems> {
  const { total, items } = await get<Problems>(`/_problems?size=${String(SIZE)}`, signal);
  return { total, items };
}

async function patchProblems(
  problems: Problems,
  events: readonly NonNullable<LiveEvent>[],
  signal: AbortSignal,
): Promise<Problems> {
  // An event may be of a problem that was not listed: only the control plane knows the total then.
  if (problems.total > problems.items.length) return await loadProblems(signal);
  const byId = new Map(problems.items.map((problem) => [problem.id, problem]));
  for (const item of events.flatMap((event) => (event.topic === 'problems' ? event.data.items : [])))
    if ('isSolved' in item) byId.delete(item.id);
    else byId.set(item.id, item);
  return { total: byId.size, items: [...byId.values()] };
}
