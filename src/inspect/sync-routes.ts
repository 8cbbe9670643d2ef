// `GET …/{name}/_sync`: why a zone has or lacks a resource.
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import { about, component } from '../api/route-config.ts';
import type { SendRules } from '../kds/rules.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { explainInZone, explainOnGlobal, type KnownZone } from './explain-sync.ts';

const explained = about('Inspect', 'The zones that get the resource, and the rule that decides', {
  answer: component('SyncExplanation'),
});

export function addSyncRoutes(app: FastifyInstance, { options, store, service, callers }: ApiContext, rules: SendRules): void {
  for (const info of resourceTypes) {
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      app.get<{ Params: { mesh?: string; name: string } }>(`${prefix}/${path}/:name/_sync`, explained, async (request) => {
        const { mesh = '', name } = request.params;
        callers.requireMay(info, request);
        const row = await service.get(info, mesh, name);
        return options.zone === null
          ? explainOnGlobal(rules, row, await zonesOf(store))
          : explainInZone(rules, row, options.zone);
      });
    }
  }
}

async function zonesOf(store: ResourceStore): Promise<KnownZone[]> {
  const [zones, insights] = await Promise.all([store.list({ type: 'Zone' }), store.list({ type: 'ZoneInsight' })]);
  const statuses = new Map(insights.map(({ name, status }) => [name, status]));
  return zones
    .map(({ name, spec }) => ({ name, isEnabled: spec['enabled'] !== false, insight: statuses.get(name) ?? {} }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
