// A MeshIdentity as it is in force in a zone: one Secret beside those of its authority. It outlives the MeshIdentity, so proxies that
// lose it keep their certificates until nothing needs them. Pure. Invariant: what proxies depend on is in the spec, and progress alone is
// in the status.
import { createHash } from 'node:crypto';
import { compareText } from '../base/compare-text.ts';
import { asReady, isMeshIdentityReady } from './mesh-identity.ts';
import { isLocal } from './ownership.ts';
import { IN_FORCE } from './own-secrets.ts';
import { isObject, numberOf, objectOf, textMapOf, textOf } from './read-json.ts';
import { secretObject, secretSpec } from './secret-data.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from './types.ts';

/**
 * `held`: it has the proxies that the MeshIdentity selects.
 * `open`: some proxies lose it. The services of these proxies take plain text too.
 * `clients`: their clients change to plain text, and other zones are not led to them.
 * `trust`: no proxy has it. Its authority stays trusted until the last certificate has ended.
 */
export const WITHDRAWAL_STEPS = ['held', 'open', 'clients', 'trust'] as const;
export type WithdrawalStep = (typeof WITHDRAWAL_STEPS)[number];

/** The parts of a MeshIdentity that decide about its certificates. */
type HeldIdentity = { readonly labels: Labels; readonly spec: JsonObject };

export type IdentityInForce = {
  readonly identity: HeldIdentity;
  readonly step: WithdrawalStep;
  /** The KRIs of the MeshServices of the proxies that lose it, sorted. */
  readonly services: readonly string[];
  /** The time at which the step began, in RFC 3339. */
  readonly since: string;
  /** The step does not end before this time, in RFC 3339; `''` if there is no such time. */
  readonly until: string;
};

/** The number of connected proxies that have not done their part of the step, and the names of the first of them. */
export type WithdrawalProgress = { readonly waiting: number; readonly waitsFor: readonly string[] };

const CHARACTERS = 22;

/** The key of the Secret. @param name the stored name of the MeshIdentity */
export function inForceKey(mesh: string, name: string): ResourceKey {
  return { type: 'Secret', mesh, name: `${name}${IN_FORCE}` };
}

/** The stored name of the MeshIdentity of such a Secret; null for another row. */
export function identityNameOf({ type, name }: Pick<ResourceKey, 'type' | 'name'>): string | null {
  return type === 'Secret' && name.endsWith(IN_FORCE) ? name.slice(0, -IN_FORCE.length) : null;
}

/** Reads a Secret. @returns null for a row that is none, or that another control plane wrote */
export function readInForce(row: Resource): IdentityInForce | null {
  if (identityNameOf(row) === null || !isLocal(row, 'zone')) return null;
  const given = secretObject(row);
  const step = WITHDRAWAL_STEPS.find((known) => known === given['step']);
  const { labels, spec } = objectOf(given['identity']);
  if (step === undefined || !isObject(spec)) return null;
  const services = Array.isArray(given['services']) ? given['services'].map(textOf) : [];
  return {
    identity: { labels: textMapOf(labels), spec },
    ...{ step, services, since: textOf(given['since']), until: textOf(given['until']) },
  };
}

/** The spec of the Secret. */
export function inForceSpec(inForce: IdentityInForce): JsonObject {
  return secretSpec(JSON.stringify(inForce));
}

export function progressOf({ status }: Pick<Resource, 'status'>): WithdrawalProgress {
  const { waiting, waitsFor } = status;
  return { waiting: numberOf(waiting), waitsFor: Array.isArray(waitsFor) ? waitsFor.map(textOf) : [] };
}

/** The parts of a MeshIdentity that are kept; null for one that is not ready. */
export function heldOf(row: Resource): HeldIdentity | null {
  return isMeshIdentityReady(row) ? { labels: row.labels, spec: row.spec } : null;
}

/** The MeshIdentity that an identity in force stands for, as a ready row. @param row the Secret */
export function heldRow(row: Resource, { identity: { labels, spec } }: IdentityInForce): Resource {
  return asReady({ ...row, type: 'MeshIdentity', name: identityNameOf(row) ?? row.name, labels, spec });
}

/** Whether proxies still have the identity, by its rows alone. */
export function givesCertificates({ step }: IdentityInForce): boolean {
  return step !== 'trust';
}

function isWithdrawn({ step }: IdentityInForce): boolean {
  return step === 'open' || step === 'clients';
}

/**
 * The id of what proxies of a mesh are asked to accept. A proxy reports it in its insight when it has done so. It is equal for
 * equal withdrawals in every process, and `''` if they are asked nothing.
 * @param all identities in force, by the stored name of the MeshIdentity
 */
export function withdrawalId(all: ReadonlyMap<string, IdentityInForce>): string {
  const parts = [...all].flatMap(([name, one]) => (isWithdrawn(one) ? [[name, one.step, one.services] as const] : []));
  if (parts.length === 0) return '';
  const text = JSON.stringify(parts.sort(([a], [b]) => compareText(a, b)));
  return createHash('sha256').update(text).digest('base64url').slice(0, CHARACTERS);
}

/** The step in which the TLS of each MeshService is withdrawn, by KRI. */
export function withdrawnServices(all: Iterable<IdentityInForce>): ReadonlyMap<string, 'open' | 'clients'> {
  const found = new Map<string, 'open' | 'clients'>();
  for (const { step, services } of all)
    if (step === 'open' || step === 'clients') for (const kri of services) if (found.get(kri) !== 'clients') found.set(kri, step);
  return found;
}
