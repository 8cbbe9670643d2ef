// `POST /_apply`: many documents in one transaction, all or nothing (D5, D7, D32). Answers the outcome of each.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from './api-options.ts';
import { parseDocuments } from '../writes/apply-documents.ts';
import { applyAll } from '../writes/apply-service.ts';
import { parseFlag, queryOf } from '../http/list-query.ts';
import { membershipReceipt } from '../writes/membership-receipt.ts';
import { callerWork } from '../http/caller-work.ts';
import { about, component } from '../http/route-config.ts';
import { storedAdvice } from '../writes/stored-advice.ts';

const declared = about('Resources', 'Many resources in one transaction, all or nothing', {
  query: ['dryRun'],
  body: { type: 'array', items: { type: 'object' } },
  answer: component('Applied'),
  takesYaml: true,
});
/** A larger body is refused with 413 (D32). */
export const MAX_APPLY_BYTES = 32 * 1024 * 1024;

export function addApplyRoutes(app: FastifyInstance, context: ApiContext): void {
  const { options, store, service, rules, callers, audit, queue, checkOffThread } = context;
  const { meshDefaults } = options;
  const onRequest = async (request: FastifyRequest): Promise<void> => callers.requireMayWriteSome(request);
  app.post('/_apply', { onRequest, ...declared, bodyLimit: MAX_APPLY_BYTES }, async (request): Promise<Answer<'Applied'>> => {
    const dryRun = parseFlag(queryOf(request), 'dryRun');
    const work = callerWork(request);
    const documents = await queue.run(work.caller, parseDocuments(request.body), work.left);
    const results = await applyAll(
      documents,
      { store, service, rules, queue, checkOffThread, meshDefaults },
      {
        work,
        dryRun,
        authorize: ({ info, mesh, name }) => callers.requireMayWrite(info, { mesh, name }, request),
        authorizeUse: (mesh, field) => callers.requireMayUse(mesh, field, request),
        by: { user: callers.userOf(request).name },
      },
    );
    for (const { key, result, version } of results)
      if (!dryRun && result !== 'unchanged') audit.write(request, { key, result, version });
    const moved = await Promise.all(results.map(({ before, row }) => membershipReceipt(context, before, row, request)));
    const stored = dryRun ? [] : results.map(({ key }) => key);
    const advice = await storedAdvice(options.adviceOn, stored, true);
    const items = results.map(({ key: { type, mesh, name }, result, version, warnings, diff }, index) => {
      const said = [...warnings, ...(advice[index] ?? [])];
      return {
        type,
        ...(mesh !== '' && { mesh }),
        name,
        result,
        version,
        ...(said.length > 0 && { warnings: said }),
        ...(dryRun && { diff }),
        ...moved[index],
      };
    });
    return { dryRun, total: items.length, items };
  });
}
