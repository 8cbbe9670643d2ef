// The steps in which proxies lose an identity: the proxies and zones that a step waits for, and its end (decision 59). Pure. Invariants: a
// proxy keeps its certificate until its clients have accepted plain text, or the time of that step is over; an authority stays trusted
// until its last certificate has expired.
import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../../base/compare-text.ts';
import {
  heldOf,
  heldRow,
  withdrawalId,
  type IdentityInForce,
  type WithdrawalProgress,
} from '../../resource/identity-in-force.ts';
import { MAX_NAMED } from '../../resource/identity-rotation.ts';
import { kriOf } from '../../resource/kri.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { parseMeshIdentity, selectsProxy, spiffeIdOf } from '../../resource/mesh-identity.ts';
import { homeZoneOf, isLocal } from '../../resource/ownership.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import { absenceIn } from '../services/absences.ts';
import { dataplaneFacts, selectorOf } from '../services/dataplane-facts.ts';
import type { MeshFacts } from './plan-rotation.ts';

/** The rows of a mesh on which the steps depend. */
export type WithdrawalFacts = Omit<MeshFacts, 'trusts'> & {
  readonly services: readonly Resource[];
  /** The identities in force, by the stored name of the MeshIdentity. */
  readonly inForce: ReadonlyMap<string, { readonly row: Resource; readonly is: IdentityInForce }>;
};

type WithdrawalPlan =
  /** With null, the identity stays as it is. */
  | { readonly next: IdentityInForce | null; readonly progress: WithdrawalProgress; readonly wakeAt: number | null }
  /** `trust` means that all certificates of its authority have ended. */
  | { readonly over: 'alone' | 'trust' };

/**
 * The milliseconds that connected proxies have for a step. A proxy that refuses its configuration must not stop the others for
 * ever.
 */
export const STEP_LIMIT_MS = 600_000;

const NOBODY: WithdrawalProgress = { waiting: 0, waitsFor: [] };

type WithdrawalOptions = {
  readonly zone: string;
  readonly now: Date;
  /** The milliseconds that other zones have to change to plain text; 0 in a zone without others. */
  readonly otherZonesMs: number;
  /** The end of the last certificate of its authority. */
  readonly lastEnd: (identity: Resource) => Date;
};

/** Plans the next step of a withdrawal. @param name the stored name of a MeshIdentity that is in force */
export function planWithdrawal(facts: WithdrawalFacts, name: string, options: WithdrawalOptions): WithdrawalPlan {
  const { zone, now, otherZonesMs } = options;
  const held = facts.inForce.get(name);
  if (held === undefined) return { over: 'alone' };
  const { row, is } = held;
  const stored = facts.identities.find((one) => one.name === name);
  const current = stored === undefined ? null : heldOf(stored);
  const stays = (wakeAt: number | null, progress = NOBODY): WithdrawalPlan => ({ next: null, progress, wakeAt });
  const to = (next: Pick<IdentityInForce, 'step'> & Partial<IdentityInForce>): WithdrawalPlan => ({
    next: { identity: is.identity, services: [], until: '', since: now.toISOString(), ...next },
    progress: NOBODY,
    wakeAt: null,
  });
  const end = (): WithdrawalPlan => {
    if (current !== null) return to({ step: 'held', identity: current });
    if (stored !== undefined) return { over: 'alone' };
    return to({ step: 'trust', until: options.lastEnd(heldRow(row, is)).toISOString() });
  };
  if (is.step === 'trust') {
    if (stored !== undefined) return end();
    return Date.parse(is.until) <= now.getTime() ? { over: 'trust' } : stays(Date.parse(is.until));
  }
  const { changing, without } = losing(facts, heldRow(row, is), zone);
  if (changing.length === 0) {
    const isSame = current !== null && isDeepStrictEqual(current, is.identity);
    return is.step === 'held' && isSame ? stays(null) : end();
  }
  const services = servicesOf(facts.services, without);
  if (is.step === 'held') return to({ step: 'open', services });
  const all = [...new Set([...is.services, ...services])].sort(compareText);
  if (all.length > is.services.length) return to({ step: 'open', services: all });
  const progress = progressOf(facts, zone);
  const notBefore = is.until === '' ? 0 : Date.parse(is.until);
  const limit = Math.max(notBefore, Date.parse(is.since) + STEP_LIMIT_MS);
  const endsAt = progress.waiting === 0 ? notBefore : limit;
  if (endsAt > now.getTime()) return stays(endsAt, progress);
  if (is.step === 'clients') return end();
  return to({ step: 'clients', services: all, until: new Date(now.getTime() + otherZonesMs).toISOString() });
}

/** The state in force of a MeshIdentity that is ready and was not in force before; null for others. */
export function beginInForce(identity: Resource, now: Date): IdentityInForce | null {
  const held = heldOf(identity);
  return held === null ? null : { identity: held, step: 'held', services: [], since: now.toISOString(), until: '' };
}

type Losing = {
  /** The Dataplanes that lose this identity. */
  readonly changing: readonly Resource[];
  /** The Dataplanes among them that have no other identity. */
  readonly without: readonly Resource[];
};

/** Finds the Dataplanes that lose an identity. @param held the MeshIdentity as it is in force */
function losing({ identities, dataplanes }: WithdrawalFacts, held: Resource, zone: string): Losing {
  const ours = identities.filter((row) => homeZoneOf(row, zone) === zone);
  const gives = givesTo(held, zone);
  const [same, all] = [
    ours.filter(({ name }) => name === held.name).map((row) => givesTo(row, zone)),
    ours.map((row) => givesTo(row, zone)),
  ];
  const changing = dataplanes.filter(({ labels }) => gives(labels) && !same.some((given) => given(labels)));
  return { changing, without: changing.filter(({ labels }) => !all.some((given) => given(labels))) };
}

/** Whether a MeshIdentity gives a Dataplane of these labels a SPIFFE ID. */
function givesTo(row: Resource, zone: string): (labels: Labels) => boolean {
  const identity = parseMeshIdentity(row);
  return (labels) => selectsProxy(identity, labels) && spiffeIdOf(identity, labels, row.mesh, zone) !== null;
}

/** KRIs of the MeshServices of this zone that select one of these Dataplanes, sorted. */
function servicesOf(services: readonly Resource[], dataplanes: readonly Resource[]): string[] {
  const facts = dataplanes.map(dataplaneFacts);
  return services
    .filter((service) => isLocal(service, 'zone') && facts.some(selectorOf(service)))
    .flatMap((service) => kriOf(service) ?? [])
    .sort(compareText);
}

/** The progress of connected proxies with an identity in their step. */
function progressOf({ identities, inForce, dataplanes, insights }: WithdrawalFacts, zone: string): WithdrawalProgress {
  const asked = withdrawalId(new Map([...inForce].map(([name, { is }]) => [name, is])));
  const held = [...inForce.values()].flatMap(({ row, is }) => (is.step === 'trust' ? [] : [heldRow(row, is)]));
  const gives = [...identities.filter((row) => homeZoneOf(row, zone) === zone), ...held].map((row) => givesTo(row, zone));
  const running = new Map(insights.filter(isRunning).map((insight) => [insight.name, insight]));
  const waits = dataplanes.filter(({ name, labels }) => {
    const insight = running.get(name);
    if (insight === undefined || !gives.some((given) => given(labels))) return false;
    return textOf(objectOf(insight.status['tls'])['withdrawal']) !== asked;
  });
  const names = waits.map(displayNameOf).sort(compareText);
  return { waiting: names.length, waitsFor: names.slice(0, MAX_NAMED) };
}

/** A proxy whose stream ended with its control plane goes on with what it has. */
function isRunning(insight: Resource): boolean {
  return absenceIn(insight)?.isLost !== false;
}

/** Whether the plan depends on the proxies and services of the mesh. @param stored the MeshIdentity, if there is one */
export function dependsOnProxies({ step, identity }: IdentityInForce, stored: Resource | undefined): boolean {
  if (step !== 'held') return step !== 'trust';
  const current = stored === undefined ? null : heldOf(stored);
  return current === null || !isDeepStrictEqual(current, identity);
}
