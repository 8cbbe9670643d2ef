// `GET /zones/_progress` and `/zones/{name}/_progress`: the progress of zones with each type: unconfirmed resources, since when, and the last confirmation.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { whileConnected } from '../writes/await-zones.ts';
import { badQuery } from '../http/error-body.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../http/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { about, component, pageOf } from '../http/route-config.ts';
import { zoneType } from '../api/route-types.ts';
import type { TypeProgress } from '../kds/sender/open-senders.ts';
import type { Resource } from '../resource/types.ts';
import { zoneSync } from '../zone-status/zone-sync.ts';
import type { ZoneProgress } from './zone-progress.ts';

/** The number of zones of one page: those of other replicas come by notifications. */
const MAX_ZONES = 100;

const list = about('Insights', 'How far each zone is with each type, at most 100 zones at a time', {
  query: ['sizeOfZones', 'offset', 'name', 'label'],
  answer: pageOf('ZoneProgress'),
});
const one = about('Insights', 'How far one zone is with each type', { answer: component('ZoneProgress') });

type Progress = Answer<'ZoneProgress'>;
/** The progress of each zone of these rows. */
type Describe = (rows: readonly Resource[], reply: FastifyReply) => Promise<Progress[]>;

export function addProgressRoutes(app: FastifyInstance, context: ApiContext, progress: ZoneProgress): void {
  const { store, service } = context;
  const describe = describeWith(context, progress);
  app.get('/zones/_progress', list, async (request, reply) => {
    const query = queryOf(request);
    const page = parsePage(query);
    if (page.size > MAX_ZONES) throw badQuery('size', `must be a whole number from 1 to ${String(MAX_ZONES)}`);
    const { rows, total } = await listRows(store, rowFilterOf(zoneType, undefined, query, routePathOf(request)), page);
    return { total, items: await describe(rows, reply), next: nextPage(request, page, total) };
  });
  app.get<{ Params: { name: string } }>('/zones/:name/_progress', one, async (request, reply) => {
    const row = await service.get(zoneType, '', request.params.name);
    return (await describe([row], reply))[0];
  });
}

function describeWith({ store, clock, closing, options }: ApiContext, progress: ZoneProgress): Describe {
  return async (rows, reply) => {
    const found = await store.getMany(rows.map(({ name }) => ({ type: 'ZoneInsight', mesh: '', name })));
    const insights = new Map(found.map((row) => [row.name, row]));
    const asked = rows.map(({ name }) => ({ name, insight: insights.get(name)?.spec ?? {} }));
    const known = await progress.of(asked, whileConnected(reply, closing));
    const now = clock.now();
    return rows.map(({ name, spec }) => {
      const { spec: insight = {}, status = {} } = insights.get(name) ?? {};
      const zone = { name, isEnabled: spec['enabled'] !== false };
      const sync = zoneSync(zone, { spec: insight, status }, options.lagOf?.(name), now);
      const { instanceId = null, types = null } = known.get(name) ?? {};
      return { name, sync, instanceId, types: types?.map((type) => typeJson(type, now)) ?? null };
    });
  };
}

function typeJson(progress: TypeProgress, now: Date): NonNullable<Progress['types']>[number] {
  const { type, behind, since, confirmedAt, refused, withheld } = progress;
  return {
    ...{ type, behind, since: since?.toISOString() ?? null },
    oldestMs: since === null ? 0 : Math.max(0, now.getTime() - since.getTime()),
    ...{ confirmedAt: confirmedAt?.toISOString() ?? null, refused, withheld },
  };
}
