// How many proxies a MeshService has and how they are (policies 9.3, status.dataplaneProxies and spec.state).
import { objectsOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';

export type ProxyCounts = {
  /** Selected Dataplanes that have inbounds. */
  readonly total: number;
  /** Of these, those with an online insight. */
  readonly connected: number;
  /** Of these, those with a Ready inbound for every port: its port or name equals targetPort. */
  readonly healthy: number;
};

/**
 * @param spec of the MeshService
 * @param selected the Dataplanes that it selects
 */
export function countProxies(
  spec: JsonObject,
  selected: readonly DataplaneFacts[],
  isOnline: (dataplane: string) => boolean,
): ProxyCounts {
  const targets = objectsOf(spec['ports']).map(({ port, targetPort }) => targetPort ?? port);
  const counts = { total: 0, connected: 0, healthy: 0 };
  for (const { name, inbounds } of selected) {
    if (inbounds.length === 0) continue;
    counts.total += 1;
    if (isOnline(name)) counts.connected += 1;
    const isServed = (target: unknown): boolean =>
      inbounds.some((inbound) => inbound.state === 'Ready' && (inbound.port === target || inbound.name === target));
    if (targets.every(isServed)) counts.healthy += 1;
  }
  return counts;
}
