// Services of a zone with their inputs, and the writes of a plan: for the tests of the view.
import { makeRow } from '../../../test/support/make-row.ts';
import { inForceSpec } from '../../resource/identity-in-force.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { planServices } from './plan-services.ts';
import type { ServicesView } from './services-view.ts';

export const MINUTE = 60_000;
export const local = { 'kuma.io/origin': 'zone' };
export const online = { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] };
export const inbound = [{ port: 80, name: 'http', tags: { 'kuma.io/service': 'generated' } }];
export const backends: JsonObject = { selector: { dataplaneLabels: { matchLabels: { app: 'backend' } } }, ports: [{ port: 80 }] };

export const service = (name: string, labels: Labels, spec: JsonObject): Resource =>
  makeRow('MeshService', name, { labels: { ...local, ...labels }, spec });

export const rows = {
  mesh: makeRow('Mesh', 'default'),
  generator: makeRow('HostnameGenerator', 'local', {
    labels: local,
    spec: { selector: { meshService: { matchLabels: { team: 'a' } } }, template: '{{ .DisplayName }}.local' },
  }),
  dataplane: makeRow('Dataplane', 'backend-1', { labels: { app: 'backend' }, spec: { networking: { inbound } } }),
  insight: makeRow('DataplaneInsight', 'backend-1', { spec: online }),
  identity: makeRow('MeshIdentity', 'identity', {
    spec: { selector: { dataplane: { matchLabels: {} } }, spiffeID: { path: '/a' } },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }),
  selecting: service('selecting', { team: 'a' }, backends),
  other: service('other', { team: 'b' }, { ...backends, selector: { dataplaneLabels: { matchLabels: { app: 'other' } } } }),
  external: makeRow('MeshExternalService', 'external', { labels: local, spec: { match: { port: 443 } } }),
  multiZone: makeRow('MeshMultiZoneService', 'global', {
    spec: { selector: { meshService: { matchLabels: { team: 'a' } } } },
    syncVersion: 'v1',
  }),
};

const HELD = { labels: {}, spec: { selector: { dataplane: { matchLabels: { app: 'other' } } } } };
export const inForce = makeRow('Secret', 'identity-in-force', {
  labels: {},
  spec: inForceSpec({ identity: HELD, step: 'held', services: [], since: '', until: '' }),
});

/**
 * Plans at `now` in milliseconds, gives the view what was written, and returns the names of the rows that were written.
 * @param date differs from `now` if somebody has set the date
 */
export function plannedRows(view: ServicesView, now: number, date = now): string[] {
  const { writes } = planServices(view, { now: new Date(date), elapsed: now, graceMs: MINUTE });
  for (const write of writes)
    if (write.op === 'put') view.accept({ ...write.row, version: write.row.version + 1 });
    else view.remove(write.before);
  return writes.map((write) => (write.op === 'put' ? write.row.name : `no ${write.before.name}`)).sort();
}
