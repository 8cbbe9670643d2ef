// The labels that the control plane computes on a REST write (rest-api 2.5, D2). src/api decides which labels are refused.
import { label } from './labels.ts';
import { policyRole } from './policy-role.ts';
import type { TypeInfo } from './type-registry.ts';
import type { JsonObject, Labels, Mode } from './types.ts';

/** The control plane that writes: its mode, its zone, and whether it is connected to a global. */
export type ControlPlaneIdentity = { readonly mode: Mode; readonly zone: string | null; readonly federated: boolean };

type Draft = { readonly displayName: string; readonly mesh: string; readonly labels: Labels; readonly spec: JsonObject };

/** The labels that are stored. */
export function computeLabels(info: TypeInfo, { displayName, mesh, labels, spec }: Draft, writer: ControlPlaneIdentity): Labels {
  const computed: Record<string, string> = { ...labels, [label.displayName]: displayName, [label.origin]: writer.mode };
  if (info.scope === 'Mesh') computed[label.mesh] ??= mesh;
  if (writer.mode === 'zone' && writer.zone !== null && (info.writers === 'zone' || info.writers === 'both')) {
    computed[label.zone] ??= writer.zone;
    computed[label.env] ??= 'universal';
  }
  if (info.policy !== null && labels[label.namespace] !== undefined) {
    const role = policyRole({ spec, labels });
    if (role !== null) computed[label.policyRole] = role;
  }
  if (info.name === 'Dataplane') {
    for (const [key, type, section] of ZONE_PROXIES) {
      if (hasListener(spec, type, section)) computed[key] = 'enabled';
      else Reflect.deleteProperty(computed, key);
    }
    Reflect.deleteProperty(computed, label.proxyType);
  }
  return computed;
}

const ZONE_PROXIES = [
  [label.listenerZoneIngress, 'ZoneIngress', 'zoneIngress'],
  [label.listenerZoneEgress, 'ZoneEgress', 'zoneEgress'],
] as const;

function hasListener(spec: JsonObject, type: string, section: string): boolean {
  const networking = spec['networking'];
  if (typeof networking !== 'object' || networking === null || Array.isArray(networking)) return false;
  const listeners = Array.isArray(networking['listeners']) ? networking['listeners'] : [];
  const isOfType = (item: unknown): boolean => typeof item === 'object' && item !== null && (item as JsonObject)['type'] === type;
  return networking[section] !== undefined || listeners.some(isOfType);
}
