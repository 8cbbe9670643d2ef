// Which labels a REST write may carry (rest-api 2.5, D6). What the control plane computes is in src/resource.
import { collectViolations, type Refuse, type Violation } from '../base/violations.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { label } from '../resource/labels.ts';
import { policyRole } from '../resource/policy-role.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';

/** `checksOrigin` is off with `multizone.zone.disableOriginLabelValidation`. */
export type LabelRules = { readonly writer: ControlPlaneIdentity; readonly checksOrigin: boolean };

const NAME = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';
const VALUE = new RegExp(`^(${NAME})?$`);
const KEY = new RegExp(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?${NAME}$`);
const KEY_REASON = 'must be a qualified name: an optional DNS prefix and «/», then at most 63 letters, digits, «-», «_», «.»';
const VALUE_REASON =
  'must be a label value: at most 63 letters, digits, «-», «_», «.», starting and ending with a letter or digit';

/** Characters of a key in a field: a prefix, a slash and a name. */
const MAX_KEY = 317;

type Given = { readonly mesh: string; readonly labels: Labels; readonly spec: JsonObject };

/** What is wrong with the labels that a caller gave, up to a bound. */
export function refusedLabels(info: TypeInfo, given: Given, rules: LabelRules): Violation[] {
  return collectViolations((refuse) => checkLabels(info, given, rules, (key, reason) => refuse(labelField(key), reason)));
}

function checkLabels(info: TypeInfo, { mesh, labels, spec }: Given, rules: LabelRules, refuse: Refuse): void {
  for (const [key, value] of Object.entries(labels)) {
    if (!KEY.test(key)) refuse(key, KEY_REASON);
    // The display name may hold every character of a resource name.
    if (key !== label.displayName && !VALUE.test(value)) refuse(key, VALUE_REASON);
  }
  const origin = labels[label.origin];
  const originReason = refusedOrigin(info, origin, rules);
  if (originReason !== null) refuse(label.origin, originReason);
  const { mode, zone } = rules.writer;
  if (mode === 'zone' && origin !== 'global') {
    const zoneLabel = labels[label.zone];
    if (zoneLabel !== undefined && zoneLabel !== zone) refuse(label.zone, `must be ${zone ?? ''}, the name of this zone`);
    const meshLabel = labels[label.mesh];
    if (meshLabel !== undefined && info.scope === 'Mesh' && meshLabel !== mesh)
      refuse(label.mesh, `must be ${mesh}, the mesh of the resource`);
  }
  const role = labels[label.policyRole];
  const computed = policyRole({ spec, labels });
  if (role !== undefined && info.policy !== null && role !== 'system' && role !== computed)
    refuse(label.policyRole, `must be ${computed ?? 'left out: the to[] items mix roles'}`);
}

/** Why an origin label, given or stored, does not allow this control plane to write; null when it does. */
export function refusedOrigin(info: TypeInfo, origin: string | undefined, { writer, checksOrigin }: LabelRules): string | null {
  if (origin !== undefined && origin !== 'global' && origin !== 'zone') return `must be ${writer.mode} here`;
  if (!checksOrigin) return null;
  if (writer.mode === 'global') return origin === undefined || origin === 'global' ? null : 'must be global here';
  if (!writer.federated || info.codec.kind !== 'json' || origin === 'zone') return null;
  return origin === undefined
    ? 'must be zone: a zone that has a global says so with every resource it writes'
    : 'must be zone here';
}

/** The field of a label in a list of violations. */
export function labelField(key: string): string {
  return `labels[${JSON.stringify(key.length > MAX_KEY ? `${key.slice(0, MAX_KEY)}…` : key)}]`;
}
