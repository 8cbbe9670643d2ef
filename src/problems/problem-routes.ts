// `GET /_problems`: what is wrong now, and what to do. `GET /_replicas`: the replicas of this control plane, and which of them leads.
import type { FastifyInstance } from 'fastify';
import { permitted } from '../http/access.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { about, component, NAMED_PAGE, pageOf as pageSchema } from '../http/route-config.ts';
import { pageOf } from '../inspect/paging.ts';
import { replicasAnswer } from '../replicas/replicas-answer.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import { objectOf } from '../resource/read-json.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { CurrentProblems } from './current-problems.ts';

const problems = about('Insights', 'What is wrong now, since when, and what to do', {
  query: NAMED_PAGE,
  answer: problemsAnswer(),
});
/** Hints come beside the problems, with each page: a state with hints alone has no problem. */
function problemsAnswer(): JsonObject {
  const page = pageSchema('Problem');
  return { ...page, properties: { ...objectOf(page['properties']), hints: { type: 'array', items: component('Hint') } } };
}

const replicas = about('Control plane', 'The replicas of this control plane, and which of them leads', {
  answer: component('Replicas'),
});

export function addProblemRoutes(
  app: FastifyInstance,
  { callers }: ApiContext,
  current: CurrentProblems,
  roster: ReplicaRoster,
): void {
  app.get('/_problems', problems, async (request) => {
    const mayRead = permitted((type) => callers.requireMay(typeOf(type), request));
    const found = (await current.all()).filter(({ type }) => type === undefined || mayRead(type));
    const { total, items, next = null } = pageOf(request, found, ({ id }) => id);
    const hints = mayRead('Dataplane') ? await current.hints() : [];
    return { total, items, next, ...(hints.length > 0 && { hints }) };
  });
  app.get('/_replicas', replicas, async (): Promise<Answer<'Replicas'>> => replicasAnswer(roster));
}
