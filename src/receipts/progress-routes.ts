// `GET /zones/_progress`: the progress of each zone with each type: unconfirmed resources, since when, and the last confirmation.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../api/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { whileConnected } from '../api/await-zones.ts';
import { badQuery } from '../api/error-body.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../api/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { about, pageOf, PAGE } from '../api/route-config.ts';
import { zoneType } from '../api/route-types.ts';
import type { TypeProgress } from '../kds/open-senders.ts';
import { zoneSync } from '../zone-status/zone-sync.ts';
import type { ZoneProgress } from './zone-progress.ts';

/** Zones of one page: those of other replicas come by notifications. */
const MAX_ZONES = 100;

const route = about('Insights', 'How far each zone is with each type, at most 100 zones at a time', {
  query: PAGE,
  answer: pageOf('ZoneProgress'),
});

type Progress = Answer<'ZoneProgress'>;

export function addProgressRoutes(app: FastifyInstance, context: ApiContext, progress: ZoneProgress): void {
  const { store, clock, closing, options } = context;
  app.get('/zones/_progress', route, async (request, reply) => {
    const query = queryOf(request);
    const page = parsePage(query);
    if (page.size > MAX_ZONES) throw badQuery('size', `must be a whole number from 1 to ${String(MAX_ZONES)}`);
    const { rows, total } = await listRows(store, rowFilterOf(zoneType, undefined, query, routePathOf(request)), page);
    const found = await store.getMany(rows.map(({ name }) => ({ type: 'ZoneInsight', mesh: '', name })));
    const insights = new Map(found.map((row) => [row.name, row]));
    const asked = rows.map(({ name }) => ({ name, insight: insights.get(name)?.spec ?? {} }));
    const known = await progress.of(asked, whileConnected(reply, closing));
    const now = clock.now();
    const items = rows.map(({ name, spec }): Progress => {
      const { spec: insight = {}, status = {} } = insights.get(name) ?? {};
      const zone = { name, isEnabled: spec['enabled'] !== false };
      const sync = zoneSync(zone, { spec: insight, status }, options.lagOf?.(name), now);
      const { instanceId = null, types = null } = known.get(name) ?? {};
      return { name, sync, instanceId, types: types?.map((type) => typeJson(type, now)) ?? null };
    });
    return { total, items, next: nextPage(request, page, total) };
  });
}

function typeJson(progress: TypeProgress, now: Date): NonNullable<Progress['types']>[number] {
  const { type, behind, since, confirmedAt, refused, withheld } = progress;
  return {
    ...{ type, behind, since: since?.toISOString() ?? null },
    oldestMs: since === null ? 0 : Math.max(0, now.getTime() - since.getTime()),
    ...{ confirmedAt: confirmedAt?.toISOString() ?? null, refused, withheld },
  };
}
