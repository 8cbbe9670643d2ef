// Whether each zone gets a resource, its name there, and the rule that decides, from the rules of the sender.
// Invariant: the result equals the decision of the sender, also while a zone is disconnected. Pure.
import type { Answer } from '../answers/answers.ts';
import { messageOf } from '../base/errors.ts';
import {
  reasonHidden,
  type Viewer,
  visibilityOf,
  globalSendRules,
  type Decision,
  type SendRules,
} from '../kds/protocol/rules.ts';
import { feature } from '../kds/protocol/features.ts';
import { NO_GLOBAL } from '../kds/client/global-link.ts';
import type { DeliveryNow } from '../kds/sender/delivery.ts';
import { metaOf } from '../policy/inspect-view.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { kriOf } from '../resource/kri.ts';
import { label } from '../resource/labels.ts';
import { policyRole } from '../resource/policy-role.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import { ANY_ZONE, type ZoneProfile } from '../resource/zone-profile.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ZoneSync } from '../zone-status/zone-sync.ts';

type Explanation = Answer<'SyncExplanation'>;

/**
 * The present state of a peer.
 * @property delivery what it has of the resource; undefined if its stream is not in this process, and no other one answers
 * @property at the replica with its stream, as far as known; `''` otherwise
 */
export type LivePeer = {
  readonly sync: ZoneSync;
  readonly delivery: DeliveryNow | undefined;
  readonly at: string;
  /** The last version that the peer has confirmed to this process, as far as known. */
  readonly confirmed?: { readonly version: number; readonly at: Date } | undefined;
};

/** A zone on global; `insight` is the status of its ZoneInsight, which lists the sync problems. Without `live` the rules alone answer. */
export type KnownZone = {
  readonly name: string;
  readonly profile: ZoneProfile;
  readonly insight: JsonObject;
  readonly live?: LivePeer;
};

/** This zone. @property live the connection to global; left out where it is not known */
type OwnZone = { readonly name: string; readonly hasGlobal: boolean; readonly live?: LivePeer | undefined };

/** The answer of a global: `{resource, storedName, kri, role?, from: 'global', targets[]}` with one target for each zone. */
export function explainOnGlobal(rules: SendRules, resource: Resource, zones: readonly KnownZone[]): Explanation {
  const info = typeOf(resource.type);
  const decision = decisionOf(rules, info, resource);
  const profiles = new Map(zones.map(({ name, profile }) => [name, profile]));
  const profileOf = (zone: string): ZoneProfile => profiles.get(zone) ?? ANY_ZONE;
  const targets = zones.map((zone) => {
    const verdict = verdictFor(decision, { zone: zone.name, features: featuresOf(zone), profileOf });
    const problem = verdict.isSent ? problemOf(zone, info, decision.name) : null;
    const target = { ...targetOf(zone.name, verdict, decision), ...(problem !== null && { problem }) };
    const { live } = zone;
    if (live === undefined) return target;
    const state = verdict.isSent ? { state: stateOf(resource, live, problem) } : {};
    return { ...target, zone: live.sync, ...state, ...(verdict.isSent && confirmedBy(live, resource)) };
  });
  return { ...headOf(resource, info), from: 'global', ...withoutLabels(resource, info, rules, decision), targets };
}

/**
 * The answer of a zone: the same with `from: <zone>` and two targets: global, and the other zones by the rules of global. The
 * zone does not know the `labels.skipPrefixes` of global, so the second target assumes none. A zone without a global has one
 * target, to which it sends nothing.
 */
export function explainInZone(rules: SendRules, resource: Resource, { name, hasGlobal, live }: OwnZone): Explanation {
  const info = typeOf(resource.type);
  const up = hasGlobal ? decisionOf(rules, info, resource) : neverSent(NO_GLOBAL);
  const head = { ...headOf(resource, info), from: name, ...withoutLabels(resource, info, rules, up) };
  const toGlobal = {
    ...targetOf('global', { isSent: up.name !== null, reason: up.because }, up),
    ...(live !== undefined && up.name !== null && { state: stateOf(resource, live, null), ...confirmedBy(live, resource) }),
  };
  if (up.name === null) return { ...head, targets: [toGlobal] };
  const owner = { type: 'Zone', mesh: '', name };
  const received = { ...resource, ...rules.map(resource, info), status: resource.status, owner };
  const onward = decisionOf(globalSendRules(), info, received);
  const toOthers = targetOf('other zones', { isSent: onward.name !== null, reason: onward.because }, onward);
  return { ...head, targets: [toGlobal, toOthers] };
}

/** A decision of the sender, with the wire name; null for a resource that it never sends. */
type Named = Decision & { readonly name: string | null };

/** A zone's capabilities are unknown here. A zone that has a Mesh without being a member lacks the capability that membership needs. */
function featuresOf({ live }: KnownZone): Viewer['features'] {
  return live?.delivery?.state === 'acknowledged' ? new Set() : null;
}

type Verdict = { readonly isSent: boolean; readonly reason: string };

function neverSent(because: string): Named {
  return { visibility: { to: 'none' }, because, name: null };
}

function decisionOf(rules: SendRules, info: TypeInfo, resource: Resource): Named {
  // The filter does not cover types that are never synced (kds-wire 3).
  if (!rules.types.includes(info))
    return neverSent(`the type ${info.name} is not synced ${rules.from === 'global' ? 'to zones' : 'to global'}`);
  const decision = visibilityOf(rules, resource);
  if (decision.visibility.to === 'none') return { ...decision, name: null };
  try {
    return { ...decision, name: rules.map(resource, info).name };
  } catch (error) {
    return neverSent(messageOf(error));
  }
}

function verdictFor({ visibility, because }: Named, viewer: Viewer): Verdict {
  const hidden = visibility.to === 'none' ? because : reasonHidden(visibility, viewer);
  return { isSent: hidden === null, reason: hidden ?? because };
}

function targetOf(to: string, { isSent, reason }: Verdict, { visibility, name }: Named): Explanation['targets'][number] {
  const needs = isSent && visibility.to !== 'none' ? visibility.feature : undefined;
  return { to, isSent, name: isSent ? name : null, reason, ...(needs !== undefined && { needs: needsOf(needs) }) };
}

type State = NonNullable<Explanation['targets'][number]['state']>;

/** The present state of a resource that the rules send. @param problem of the insight; it counts if no stream answers */
function stateOf(
  resource: Resource,
  { sync, delivery, at }: LivePeer,
  problem: Explanation['targets'][number]['problem'] | null,
): State {
  const isAway = !['online', 'lagging'].includes(sync.connection);
  if (isAway) return { kind: sync.connection === 'refused' ? 'turnedAway' : 'away', since: sync.since, reason: sync.reason };
  switch (delivery?.state) {
    case 'acknowledged':
      return { kind: 'inSync', version: resource.version, since: delivery.since?.toISOString() ?? null, reason: '' };
    case 'pending':
      return {
        kind: 'pending',
        since: later(delivery.since, resource.modificationTime),
        reason: 'the last change is not confirmed yet',
      };
    case 'refused':
    case 'withheld':
      return { kind: delivery.state, since: null, reason: delivery.reason ?? '' };
    case 'hidden':
      return { kind: 'withheld', since: null, reason: 'the peer lacks the capability that the resource needs' };
    case undefined:
      return elsewhere(resource.type, sync, at, problem ?? null);
  }
}

/** A peer that has the last change has this version of the row, since then at the latest. */
function confirmedBy(
  { delivery, confirmed }: LivePeer,
  { version }: Resource,
): Pick<Explanation['targets'][number], 'confirmed'> {
  if (confirmed !== undefined) return { confirmed: { version: confirmed.version, at: confirmed.at.toISOString() } };
  if (delivery?.state !== 'acknowledged' || delivery.since === null) return {};
  return { confirmed: { version, at: delivery.since.toISOString() } };
}

/** The stream is in another replica that does not answer or is not asked, and so its insight alone tells. */
function elsewhere(
  type: string,
  { pending, since }: ZoneSync,
  at: string,
  problem: Explanation['targets'][number]['problem'] | null,
): State {
  if (problem?.kind === 'withheld') return { kind: 'withheld', since: null, reason: problem.message };
  if (problem !== null && problem !== undefined) return { kind: 'refused', since: null, reason: problem.message };
  if (pending.includes(type)) return { kind: 'pending', since, reason: 'the last changes of the type are not confirmed yet' };
  return { kind: 'unknown', since: null, reason: `its stream is not in this replica${at === '' ? '' : `: ask instance ${at}`}` };
}

function later(since: Date | null, changed: Date): string | null {
  return since === null ? null : new Date(Math.max(since.getTime(), changed.getTime())).toISOString();
}

/** The labels that the rules leave out, such as those of `labels.skipPrefixes`. */
function withoutLabels(
  resource: Resource,
  info: TypeInfo,
  rules: SendRules,
  { name }: Named,
): Pick<Explanation, 'withoutLabels'> {
  if (name === null) return {};
  const sent = rules.map(resource, info).labels;
  const left = Object.keys(resource.labels).filter((key) => sent[key] === undefined);
  return left.length === 0 ? {} : { withoutLabels: left };
}

/** Every Meridian peer has these; older Kuma zones may lack some. */
function needsOf(name: string): string {
  return name === feature.producerPolicyFlow || name === feature.hostnameGeneratorMultiZone
    ? `a zone with the capability ${name}; one without it is not sent this`
    : `the capability ${name}`;
}

/** The resources of the last responses that this zone refused, or that were withheld from it. */
function problemOf({ insight }: KnownZone, info: TypeInfo, name: string | null): { kind: string; message: string } | null {
  const found = objectsOf(insight['syncProblems']).find(({ stream, type, resources }) => {
    if (stream !== 'globalToZone' || type !== info.name) return false;
    const named = Array.isArray(resources) ? resources.map(textOf) : [];
    // A problem without names means that nothing of the type is sent.
    return named.length === 0 || named.some((wireName) => wireName.slice(0, wireName.lastIndexOf('.')) === name);
  });
  return found === undefined ? null : { kind: textOf(found['kind']), message: textOf(found['message']) };
}

function headOf(resource: Resource, info: TypeInfo): Omit<Explanation, 'from' | 'targets'> {
  const kri = kriOf(resource);
  const written = resource.labels[label.policyRole] ?? 'system';
  // Kuma's reading also counts, because it can make a policy cross zones (D9).
  const computed = policyRole(resource, written === 'producer' ? 'kuma' : 'own');
  return {
    resource: metaOf(resource),
    storedName: resource.name,
    ...(kri !== null && { kri }),
    // The sender computes the role again, and the label counts only if both are equal (kds-wire 5.2.5a).
    ...(info.policy !== null && { role: { label: written, computed } }),
  };
}
