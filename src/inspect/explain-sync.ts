// Whether a resource goes to each zone, under which name, and the rule that decided: the sender's own rules, asked out loud.
// Invariant: nothing is decided here that the sender decides otherwise; the answer holds while a zone is cut off too. Pure.
import { feature } from '../kds/features.ts';
import { visibilityOf, globalSendRules, zoneSendRules, type Decision, type SendRules } from '../kds/rules.ts';
import { metaOf } from '../policy/inspect-meta.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { kriOf } from '../resource/kri.ts';
import { label } from '../resource/labels.ts';
import { policyRole } from '../resource/policy-role.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Resource } from '../resource/types.ts';

/** A zone as global knows it; `insight` is the status of its ZoneInsight, which lists the sync problems. */
export type KnownZone = { readonly name: string; readonly isEnabled: boolean; readonly insight: JsonObject };

/** On global: `{resource, storedName, kri, role?, from: 'global', targets[]}` with one target a zone. */
export function explainOnGlobal(resource: Resource, zones: readonly KnownZone[]): JsonObject {
  const info = typeOf(resource.type);
  const rules = globalSendRules();
  const decision = decisionOf(rules, info, resource);
  const name = decision.visibility.to === 'nobody' ? null : wireNameOf(rules, info, resource);
  const targets = zones.map((zone) => {
    const verdict = verdictFor(zone.name, decision, zones);
    const problem = verdict.isSent ? problemOf(zone, info, name) : null;
    return { ...targetOf(zone.name, verdict, decision, name), ...(problem !== null && { problem }) };
  });
  return { ...headOf(resource, info), from: 'global', targets };
}

/** In a zone: the same with `from: <zone>` and two targets: global, and what global then does for the other zones. */
export function explainInZone(resource: Resource, zone: string): JsonObject {
  const info = typeOf(resource.type);
  const up = zoneSendRules({ zone });
  const decision = decisionOf(up, info, resource);
  const name = decision.visibility.to === 'nobody' ? null : wireNameOf(up, info, resource);
  const toGlobal = targetOf('global', { isSent: name !== null, reason: decision.because }, decision, name);
  if (name === null) return { ...headOf(resource, info), from: zone, targets: [toGlobal] };
  const down = globalSendRules();
  const received = {
    ...resource,
    ...up.map(resource, info),
    status: resource.status,
    owner: { type: 'Zone', mesh: '', name: zone },
  };
  const onward = decisionOf(down, info, received);
  const isSent = onward.visibility.to !== 'nobody';
  const onwardName = isSent ? wireNameOf(down, info, received) : null;
  const onwardTarget = targetOf('other zones', { isSent, reason: onward.because }, onward, onwardName);
  return { ...headOf(resource, info), from: zone, targets: [toGlobal, onwardTarget] };
}

type Verdict = { readonly isSent: boolean; readonly reason: string };

/** Types that never travel (kds-wire 3) are no business of the filter. */
function decisionOf(rules: SendRules, info: TypeInfo, resource: Resource): Decision {
  if (rules.types.includes(info)) return visibilityOf(rules, resource);
  const way = rules.from === 'global' ? 'to zones' : 'to global';
  return { visibility: { to: 'nobody' }, because: `the type ${info.name} is not synced ${way}` };
}

function verdictFor(zone: string, { visibility, because }: Decision, zones: readonly KnownZone[]): Verdict {
  if (visibility.to !== 'others') return { isSent: visibility.to === 'all', reason: because };
  if (visibility.zone === zone) return { isSent: false, reason: 'it comes from this zone, which has the original' };
  const home = zones.find(({ name }) => name === visibility.zone);
  if (home !== undefined && !home.isEnabled)
    return { isSent: false, reason: `zone ${visibility.zone}, from which it comes, is disabled` };
  return { isSent: true, reason: because };
}

function targetOf(to: string, { isSent, reason }: Verdict, { visibility }: Decision, name: string | null): JsonObject {
  const needs = isSent && visibility.to !== 'nobody' ? visibility.feature : undefined;
  return { to, isSent, name: isSent ? name : null, reason, ...(needs !== undefined && { needs: needsOf(needs) }) };
}

/** Every Meridian peer has these; of older Kuma zones only some. */
function needsOf(name: string): string {
  return name === feature.producerPolicyFlow || name === feature.hostnameGeneratorMultiZone
    ? `a zone with the capability ${name}; one without it is not sent this`
    : `the capability ${name}`;
}

/** The wire name. A resource that cannot be encoded is reported by its own name. */
function wireNameOf(rules: SendRules, info: TypeInfo, resource: Resource): string {
  try {
    return rules.map(resource, info).name;
  } catch {
    return resource.name;
  }
}

/** What of the last responses this zone refused, or could not be given. */
function problemOf({ insight }: KnownZone, info: TypeInfo, name: string | null): JsonObject | null {
  const found = objectsOf(insight['syncProblems']).find(({ stream, type, resources }) => {
    if (stream !== 'globalToZone' || type !== info.name) return false;
    const named = Array.isArray(resources) ? resources.map(textOf) : [];
    // No name: nothing of the type is sent.
    return named.length === 0 || named.some((wireName) => wireName.slice(0, wireName.lastIndexOf('.')) === name);
  });
  return found === undefined ? null : { kind: found['kind'] ?? '', message: found['message'] ?? '' };
}

function headOf(resource: Resource, info: TypeInfo): JsonObject {
  const kri = kriOf(resource);
  const written = resource.labels[label.policyRole] ?? 'system';
  // Kuma's reading counts where it can carry a policy over (D9).
  const computed = policyRole(resource, written === 'producer' ? 'kuma' : 'own');
  return {
    resource: metaOf(resource),
    storedName: resource.name,
    ...(kri !== null && { kri }),
    // The sender computes the role again and believes the label only if both agree (kds-wire 5.2.5a).
    ...(info.policy !== null && { role: { label: written, computed } }),
  };
}
