// The ingresses and egresses whose proxies are not connected: no request crosses their zone by them.
import { compareText } from '../base/compare-text.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { describedSubscription, isOnline, subscriptionsOf } from '../resource/online-status.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { textOf } from '../resource/read-json.ts';
import { nameText, type Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { problemOf, type Problem } from './problem.ts';

const KINDS = { ingress: label.listenerZoneIngress, egress: label.listenerZoneEgress } as const;

type Sources = {
  readonly store: Pick<ResourceStore, 'list'>;
  readonly insights: Pick<ProxyInsights, 'of'>;
  readonly zone: string | null;
};

/**
 * A proxy of which nothing is known is no problem: an administrator may have written its Dataplane first. Rejects as the store
 * does.
 */
export async function zoneProxyProblems({ store, insights, zone }: Sources): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const [kind, key] of Object.entries(KINDS)) {
    const rows = await store.list({ type: 'Dataplane', labels: { [key]: 'enabled' } });
    const { rowOf } = await insights.of(rows);
    for (const row of rows) {
      const insight = rowOf(row);
      if (insight !== undefined && !isOnline(insight.spec)) found.push(problemFor(kind, { row, insight }, zone));
    }
  }
  return found.toSorted((a, b) => compareText(a.id, b.id));
}

function problemFor(
  kind: string,
  { row, insight }: Readonly<Record<'row' | 'insight', Resource>>,
  asked: string | null,
): Problem {
  const { type, mesh } = row;
  const zone = homeZoneOf(row, asked ?? '');
  const name = displayNameOf(row);
  const since = textOf(describedSubscription(subscriptionsOf(insight.spec))?.['disconnectTime']) || null;
  const message = `the ${kind} ${name} of mesh ${mesh} in zone ${zone} is not connected: its Envoy has ended, or does not reach its control plane`;
  return problemOf('zoneProxyAway', [kind, nameText(row)], { type, zone, mesh, resources: [name], since, message });
}
