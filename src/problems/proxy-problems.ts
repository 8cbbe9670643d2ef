// The problems of proxies: what their Envoys refuse, what could not be made for them, and what their tokens do not permit. A zone keeps them
// in the status of its DataplaneInsights, which KDS does not carry. Proxies with the same problem share one.
import { createHash } from 'node:crypto';
import { compareText } from '../base/compare-text.ts';
import type { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { problemsIn, type ProxyProblem } from '../inspect/proxy-problems.ts';
import { problemOf, type Problem, type ProblemCode } from './problem.ts';

/** The number of proxies whose problems are read. */
const MAX_PROXIES = 1_000;
/** The number of problems that are made. */
const MAX_PROBLEMS = 100;
/** The number of names in a message. */
const MAX_NAMES = 5;

type Shared = { readonly mesh: string; readonly problem: ProxyProblem; readonly proxies: string[] };

/** The problems of the proxies of a zone. Rejects as the store does. */
export async function proxyProblemsOfZone(insights: Pick<ProxyInsights, 'withProblems'>, zone: string): Promise<Problem[]> {
  const rows = await insights.withProblems(MAX_PROXIES);
  const shared = new Map<string, Shared>();
  for (const row of rows)
    for (const problem of problemsIn(row)) {
      const key = JSON.stringify([row.mesh, codeOf(problem), problem.at, problem.reason]);
      const known = shared.get(key) ?? { mesh: row.mesh, problem, proxies: [] };
      shared.set(key, known);
      if (known.proxies.at(-1) !== row.name) known.proxies.push(row.name);
    }
  return [...shared]
    .toSorted(([a], [b]) => compareText(a, b))
    .slice(0, MAX_PROBLEMS)
    .map(([key, one]) => problemFor(zone, key, one));
}

function codeOf({ kind, at }: ProxyProblem): ProblemCode {
  if (kind === 'refused') return 'proxyRefuses';
  return at === 'token' ? 'tokenLacksRight' : 'proxyLacks';
}

function problemFor(zone: string, key: string, { mesh, problem, proxies }: Shared): Problem {
  const code = codeOf(problem);
  const { at, reason, policies, time } = problem;
  const [first = ''] = proxies;
  const more = proxies.length > 1 ? ` and ${String(proxies.length - 1)} more` : '';
  const whose = `Dataplane ${first}${more} of mesh ${mesh}`;
  const cause = policies.length > 0 ? ` (${policies.slice(0, 2).join(', ')})` : '';
  const message =
    code === 'proxyRefuses'
      ? `the Envoy of ${whose} refuses ${at}: ${reason}${cause}`
      : code === 'tokenLacksRight'
        ? `${whose}: ${reason}`
        : `${whose}: ${at} ${reason}${cause}`;
  const about = { type: 'Dataplane', zone, mesh, resources: proxies.slice(0, MAX_NAMES), count: proxies.length };
  return problemOf(code, [mesh, idOf(key)], { ...about, since: time ?? null, message });
}

/** A text that distinguishes reasons in an id. */
function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
