// Stores the state in force of each MeshIdentity, and moves its withdrawal by one step at a time (decision 59). Each step is one
// transaction, which fails if the row has changed since it was read.
import { certificatesIn } from '../../identity/trust-bundles.ts';
import {
  heldRow,
  identityNameOf,
  inForceKey,
  inForceSpec,
  progressOf,
  readInForce,
  type IdentityInForce,
} from '../../resource/identity-in-force.ts';
import { otherAuthorities, readRotation, type Rotation } from '../../resource/identity-rotation.ts';
import { kriOf } from '../../resource/kri.ts';
import { homeZoneOf } from '../../resource/ownership.ts';
import { IN_FORCE } from '../../resource/own-secrets.ts';
import { objectOf, objectsOf } from '../../resource/read-json.ts';
import { keyText, type JsonObject, type Resource, type ResourceKey } from '../../resource/types.ts';
import type { ResourceStore, Write, WriteOutcome } from '../../store/resource-store.ts';
import { newRow } from '../computed-row.ts';
import { askingLabels } from './other-zones.ts';
import { identityKeys } from './plan-identity.ts';
import { secretText } from '../../resource/secret-data.ts';
import { lastEnd } from './plan-rotation.ts';
import { beginInForce, dependsOnProxies, planWithdrawal, type WithdrawalFacts } from './plan-withdrawal.ts';
import type { RotationOptions } from './rotate-authority.ts';

/** The number of open withdrawals, and the time of the next check, in milliseconds since 1970. */
type Withdrawals = { readonly count: number; readonly wakeAts: readonly number[] };

/** The number of steps of all MeshIdentities of a mesh in one pass, and some for other writers. */
const MAX_PASSES = 12;

/** Updates the states in force of all meshes. */
export async function withdrawIdentities(options: RotationOptions): Promise<Withdrawals> {
  const { store, zone } = options;
  const stored = await store.list({ type: 'MeshIdentity' });
  const secrets = await store.list({ type: 'Secret', nameContains: IN_FORCE });
  const meshes = new Set([
    ...stored.filter((row) => homeZoneOf(row, zone) === zone).map(({ mesh }) => mesh),
    ...secrets.filter((row) => readInForce(row) !== null).map(({ mesh }) => mesh),
  ]);
  const found = await store.getMany([...meshes].map((name) => ({ type: 'Mesh', mesh: '', name })));
  const all: Withdrawals[] = [];
  for (const { name } of found) all.push(await withdrawIn(options, name));
  return { count: all.reduce((sum, { count }) => sum + count, 0), wakeAts: all.flatMap(({ wakeAts }) => wakeAts) };
}

async function withdrawIn(options: RotationOptions, mesh: string): Promise<Withdrawals> {
  const { log } = options;
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    const facts = await factsOf(options.store, mesh);
    const { steps, ...waiting } = plan(options, facts, mesh);
    if (steps.length === 0) return waiting;
    const outcomes: WriteOutcome[] = [];
    for (const step of steps) outcomes.push(...(await options.store.writeAll(step)));
    const refused = outcomes.find((outcome) => outcome.result === 'rejected');
    if (refused?.result !== 'rejected') continue;
    log.warn({ mesh, reason: refused.message }, 'the state in force of a MeshIdentity was not stored');
    return waiting;
  }
  log.warn({ mesh, passes: MAX_PASSES }, 'the withdrawal of an identity changes too often; it continues with the next change');
  return { count: 1, wakeAts: [] };
}

/** The writes of each step are one transaction. */
type Plan = Withdrawals & { readonly steps: readonly (readonly Write[])[] };

function plan(options: RotationOptions, facts: Facts, mesh: string): Plan {
  const { zone, clock, otherZonesMs, log } = options;
  const now = clock.now();
  const steps: Write[][] = [];
  const wakeAts: number[] = [];
  let count = 0;
  for (const identity of facts.identities) {
    const begun = facts.inForce.has(identity.name) || homeZoneOf(identity, zone) !== zone ? null : beginInForce(identity, now);
    if (begun !== null) steps.push([created(mesh, identity.name, begun, now)]);
  }
  for (const [name, { row, is }] of facts.inForce) {
    const planned = planWithdrawal(facts, name, { zone, now, otherZonesMs, lastEnd: (one) => lastEndOf(facts, one, now) });
    if ('over' in planned) {
      log.info({ mesh, name }, 'the withdrawal of an identity is over');
      steps.push([deleted(row), ...(planned.over === 'trust' ? withoutTrust(facts, heldRow(row, is)) : [])]);
      continue;
    }
    const { next, progress, wakeAt } = planned;
    if (next !== null) {
      if (next.step !== is.step) log.info({ mesh, name, step: next.step, services: next.services.length }, WORDS[next.step]);
      steps.push([replaced(row, next, progress)]);
    } else if (is.step !== 'held') {
      count += 1;
      if (wakeAt !== null) wakeAts.push(wakeAt);
      const before = progressOf(row);
      if (before.waiting !== progress.waiting || before.waitsFor.join() !== progress.waitsFor.join())
        steps.push([replaced(row, is, progress)]);
    }
  }
  return { count, wakeAts, steps };
}

const WORDS: Readonly<Record<IdentityInForce['step'], string>> = {
  held: 'a MeshIdentity is in force',
  open: 'proxies lose an identity: their services take plain text too',
  clients: 'proxies lose an identity: their clients change to plain text',
  trust: 'no proxy has the identity: its authority is trusted until the last certificate has ended',
};

type Facts = WithdrawalFacts & { readonly trusts: readonly Resource[]; readonly secrets: readonly Resource[] };

async function factsOf(store: ResourceStore, mesh: string): Promise<Facts> {
  const list = async (type: string): Promise<Resource[]> => await store.list({ type, mesh });
  const [identities = [], secrets = [], trusts = []] = await Promise.all(['MeshIdentity', 'Secret', 'MeshTrust'].map(list));
  const inForce = new Map<string, { row: Resource; is: IdentityInForce }>();
  for (const row of secrets) {
    const [name, is] = [identityNameOf(row), readInForce(row)];
    if (name !== null && is !== null) inForce.set(name, { row, is });
  }
  const rows = { identities, secrets, trusts, inForce };
  const isNeeded = [...inForce].some(([name, { is }]) =>
    dependsOnProxies(
      is,
      identities.find((one) => one.name === name),
    ),
  );
  if (!isNeeded) return { ...rows, dataplanes: [], insights: [], services: [] };
  const [dataplanes = [], insights = [], services = []] = await Promise.all(
    ['Dataplane', 'DataplaneInsight', 'MeshService'].map(list),
  );
  return { ...rows, dataplanes, insights, services };
}

/**
 * The end of the last certificate that an authority of the identity has signed. The one before a rotation may have signed the
 * last.
 */
function lastEndOf({ insights, secrets }: Facts, identity: Resource, now: Date): Date {
  const end = lastEnd(identity, insights, now);
  const rotation = rotationOf(secrets, identity);
  if (rotation?.is?.step !== 'renew') return end;
  const previousEnd = new Date(rotation.is.until);
  return previousEnd > end ? previousEnd : end;
}

type StoredRotation = { readonly row: Resource; readonly is: Rotation | null };

function rotationOf(secrets: readonly Resource[], identity: Resource): StoredRotation | null {
  const row = rowWith(secrets, identityKeys(identity).rotation);
  return row === undefined ? null : { row, is: readRotation(row) };
}

/**
 * The MeshTrust without the authorities of an identity, and no rotation: this one alone names the next authority or the previous one. The
 * Secrets of the authority stay, for a MeshIdentity of this name.
 */
function withoutTrust({ trusts, secrets }: Facts, identity: Resource): Write[] {
  const keys = identityKeys(identity);
  const [certificate, trust] = [rowWith(secrets, keys.certificate), rowWith(trusts, keys.trust)];
  const rotation = rotationOf(secrets, identity);
  const ended = rotation === null ? [] : [deleted(rotation.row)];
  if (trust === undefined || objectOf(trust.status['origin'])['kri'] !== kriOf(identity)) return ended;
  const own = [...(certificate === undefined ? [] : [secretText(certificate)]), ...otherAuthorities(rotation?.is ?? null)];
  const certificates = certificatesIn(own.map((value) => ({ pem: { value } })));
  const caBundles = objectsOf(trust.spec['caBundles']).filter((bundle) => !holdsOnly(bundle, certificates));
  if (caBundles.length === 0) return [...ended, deleted(trust)];
  const { type, mesh, name, labels, spec, version } = trust;
  const content = { key: { type, mesh, name }, labels: askingLabels(labels, false), spec: { ...spec, caBundles } };
  return [...ended, { op: 'update', ...content, expectVersion: version }];
}

function rowWith(rows: readonly Resource[], key: ResourceKey): Resource | undefined {
  return rows.find((row) => keyText(row) === keyText(key));
}

function created(mesh: string, name: string, inForce: IdentityInForce, now: Date): Write {
  const { owner } = newRow(inForceKey(mesh, name), now);
  return { op: 'create', key: inForceKey(mesh, name), labels: {}, spec: inForceSpec(inForce), status: {}, owner };
}

function replaced({ type, mesh, name, labels, version }: Resource, next: IdentityInForce, status: object): Write {
  const content = { key: { type, mesh, name }, labels, spec: inForceSpec(next), status: { ...status } };
  return { op: 'update', ...content, expectVersion: version };
}

function deleted({ type, mesh, name, version }: Resource): Write {
  return { op: 'delete', key: { type, mesh, name }, expectVersion: version };
}

/** A text without a certificate was not made here. */
function holdsOnly(bundle: JsonObject, own: readonly string[]): boolean {
  const held = certificatesIn([bundle]);
  return held.length > 0 && held.every((pem) => own.includes(pem));
}
