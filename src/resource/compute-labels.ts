// Labels on a REST write: which are refused and which the control plane computes (rest-api 2.5, decisions D2).
import type { Violation } from '../base/errors.ts';
import { label } from './labels.ts';
import { policyRole } from './policy-role.ts';
import type { TypeInfo } from './type-registry.ts';
import type { JsonObject, Labels, Mode } from './types.ts';

/** Who writes: the side, its zone, and whether it answers to a global. */
export type Writer = { readonly mode: Mode; readonly zone: string | null; readonly federated: boolean };

type Draft = { readonly displayName: string; readonly mesh: string; readonly labels: Labels; readonly spec: JsonObject };

const NAME = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
const VALUE = new RegExp(`^(${NAME})?$`);
const KEY = new RegExp(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?${NAME}$`);

/** What is wrong with the labels that a caller gave. */
export function refusedLabels(info: TypeInfo, { mesh, labels, spec }: Draft, writer: Writer): Violation[] {
  const violations: Violation[] = [];
  const refuse = (key: string, reason: string): void => void violations.push({ field: `labels[${JSON.stringify(key)}]`, reason });
  for (const [key, value] of Object.entries(labels)) {
    if (!KEY.test(key))
      refuse(key, 'must be a qualified name: an optional DNS prefix and «/», then at most 63 letters, digits, «-», «_», «.»');
    // The display name keeps whatever a resource name may hold.
    if (key !== label.displayName && !VALUE.test(value))
      refuse(key, 'must be a label value: at most 63 letters, digits, «-», «_», «.», starting and ending with a letter or digit');
  }
  const origin = labels[label.origin];
  if (origin !== undefined && origin !== writer.mode) refuse(label.origin, `must be ${writer.mode} here`);
  if (origin === undefined && writer.federated && info.codec.kind === 'json')
    refuse(label.origin, 'must be zone: a zone that has a global says so with every resource it writes');
  const zone = labels[label.zone];
  if (zone !== undefined && writer.mode === 'zone' && zone !== writer.zone)
    refuse(label.zone, `must be ${writer.zone ?? ''}, the name of this zone`);
  if (zone !== undefined && writer.mode === 'global')
    refuse(label.zone, 'must not be set on global: it marks what came from a zone');
  const meshLabel = labels[label.mesh];
  if (meshLabel !== undefined && info.scope === 'Mesh' && meshLabel !== mesh)
    refuse(label.mesh, `must be ${mesh}, the mesh of the resource`);
  const role = labels[label.policyRole];
  if (role !== undefined && info.policy !== null && role !== 'system' && role !== policyRole({ spec, labels })) {
    refuse(label.policyRole, `must be ${policyRole({ spec, labels }) ?? 'left out: the to[] items mix roles'}`);
  }
  return violations;
}

/** The labels that are stored. */
export function computeLabels(info: TypeInfo, { displayName, mesh, labels, spec }: Draft, writer: Writer): Labels {
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
