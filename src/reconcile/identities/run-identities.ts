// Creates a certificate authority and a MeshTrust for each MeshIdentity of a zone, rotates authorities on request, and withdraws
// identities in steps. Only the leader runs it. The rows are few and change rarely, so each change reads all of them. Rows of proxies
// change often, and are read only while a step waits for proxies.
import { DatedTasks } from '../../base/dated-tasks.ts';
import { messageOf } from '../../base/errors.ts';
import { isMeshIdentityReady } from '../../resource/mesh-identity.ts';
import { homeZoneOf } from '../../resource/ownership.ts';
import { keyText, type Resource } from '../../resource/types.ts';
import { FeedFollower, type Following, type Hints } from '../../store/follow-feed.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { authorityRows, identityKeys, planIdentity, validityWake, type IdentityRows } from './plan-identity.ts';
import { secretText } from '../../resource/secret-data.ts';
import { answerOtherZones } from './other-zones.ts';
import { meshFactsOf, stepRotation } from './rotate-authority.ts';
import { withdrawIdentities } from './withdraw-identity.ts';

type IdentitiesOptions = Following & {
  readonly store: ResourceStore;
  readonly zone: string;
  /** The milliseconds that the proxies of other zones have to accept a MeshTrust; 0 in a zone without others. */
  readonly otherZonesMs: number;
};

/** The number of passes over one MeshIdentity: authority, trust, conditions, and some for other writers. */
const MAX_PASSES = 12;
/** Types that change often. They are followed only while a step waits for proxies. */
const PROXY_TYPES = ['Dataplane', 'DataplaneInsight', 'MeshService'];
/** Milliseconds until a failed look at a rotation is repeated. */
const RETRY_MS = 5_000;

/** Follows the store until the signal aborts. */
export async function runIdentities(options: IdentitiesOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  const types = ['Mesh', 'MeshIdentity', 'MeshTrust', 'Secret', ...PROXY_TYPES];
  const follower = new FeedFollower({ ...options, types });
  let changes: Changes = { count: 0, wakeAt: null };
  const tasks = new DatedTasks(clock);
  let cancel = (): void => undefined;
  let turn: Promise<void> = Promise.resolve();
  const pass = async (): Promise<void> => {
    cancel();
    changes = await reconcileIdentities(options);
    const { wakeAt } = changes;
    if (wakeAt === null || signal.aborted) return;
    cancel = tasks.plan(wakeAt, () => void inTurn().catch(retry));
  };
  const inTurn = async (): Promise<void> => {
    const next = turn.then(pass);
    turn = next.catch(() => undefined);
    await next;
  };
  const retry = (error: unknown): void => {
    log.warn({ reason: messageOf(error) }, 'a rotation or withdrawal could not go on; retry in 5 s');
    cancel = clock.after(RETRY_MS, () => void inTurn().catch(retry));
  };
  await follower
    .run(async (hints) => {
      if (changes.count > 0 || !isOfProxies(hints)) await inTurn();
    }, signal)
    .finally(() => cancel());
}

/**
 * The number of open rotations, withdrawals and answers to other zones, and the time of the next check, in milliseconds since
 * 1970.
 */
type Changes = { readonly count: number; readonly wakeAt: number | null };

/** Brings the rows of all MeshIdentities of the zone up to date. */
export async function reconcileIdentities(options: IdentitiesOptions): Promise<Changes> {
  const { store, zone } = options;
  const identities = await store.list({ type: 'MeshIdentity' });
  let count = 0;
  const wakes: number[] = [];
  for (const identity of identities) {
    if (homeZoneOf(identity, zone) !== zone) continue;
    const { isChanging, wakeAts } = await reconcileIdentity(options, identity);
    if (isChanging) count += 1;
    wakes.push(...wakeAts);
  }
  const withdrawals = await withdrawIdentities(options);
  const answers = await answerOtherZones(options, (mesh) => meshFactsOf(store, mesh));
  wakes.push(...withdrawals.wakeAts, ...answers.wakeAts);
  return { count: count + withdrawals.count + answers.count, wakeAt: wakes.length === 0 ? null : Math.min(...wakes) };
}

function isOfProxies({ types, keys }: Hints): boolean {
  return types.every((type) => PROXY_TYPES.includes(type)) && keys.every(({ type }) => PROXY_TYPES.includes(type));
}

/** Whether a rotation of its authority waits, and the times of the next checks, in milliseconds since 1970. */
type Reconciled = { readonly isChanging: boolean; readonly wakeAts: readonly number[] };

const AT_REST: Reconciled = { isChanging: false, wakeAts: [] };

async function reconcileIdentity(options: IdentitiesOptions, identity: Resource): Promise<Reconciled> {
  const { store, zone, clock, log } = options;
  const { mesh, name } = identity;
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    const rows = await readRows(store, identity);
    if (rows === null) return AT_REST;
    const now = clock.now();
    const plan = planIdentity(rows, { zone, now });
    if (plan.needs === 'nothing') {
      const wakeAts = [validityWake(rows, now)];
      const isChanging = rows.rotation !== undefined && isMeshIdentityReady(rows.identity);
      const step = isChanging ? await stepRotation(options, rows) : null;
      if (step?.then === 'again') continue;
      if (step !== null) wakeAts.push(step.wakeAt);
      return { isChanging, wakeAts: wakeAts.filter((at) => at !== null) };
    }
    if (plan.needs === 'authority') {
      const { createAuthority } = await import('../../identity/authority.ts');
      const made = authorityRows(identity, await createAuthority(plan.trustDomain, now), now);
      const outcomes = await store.writeAll(made.map((row) => createOf(row)));
      const refused = outcomes.find((outcome) => outcome.result === 'rejected');
      if (refused?.result === 'rejected') {
        log.warn({ mesh, name, reason: refused.message }, 'an authority was not stored');
        return AT_REST;
      }
      if (outcomes.every((outcome) => 'version' in outcome)) log.info({ mesh, name }, 'made the authority of a MeshIdentity');
      continue;
    }
    // Write the MeshTrust first: certificates are issued when the conditions say so.
    const writes: Write[] = plan.trust !== null ? [putOf(plan.trust, rows.trust)] : statusOf(rows.identity, plan.status);
    const outcomes = await store.writeBatch(writes);
    const refused = outcomes.find((outcome) => outcome.result === 'rejected');
    if (refused?.result === 'rejected') {
      log.warn({ mesh, name, reason: refused.message }, 'a MeshIdentity has no rows');
      return AT_REST;
    }
  }
  log.warn(
    { mesh, name, passes: MAX_PASSES },
    'the rows of a MeshIdentity change too often; they are written with the next change',
  );
  return AT_REST;
}

/** Returns null if the MeshIdentity or its mesh is gone. */
async function readRows(store: ResourceStore, { type, mesh, name }: Resource): Promise<IdentityRows | null> {
  const keys = {
    identity: { type, mesh, name },
    ...identityKeys({ type, mesh, name }),
    mesh: { type: 'Mesh', mesh: '', name: mesh },
  };
  const found = new Map((await store.getMany(Object.values(keys))).map((row) => [keyText(row), row]));
  const identity = found.get(keyText(keys.identity));
  if (identity === undefined || !found.has(keyText(keys.mesh))) return null;
  return {
    identity,
    certificate: withPem(found.get(keyText(keys.certificate))),
    key: withPem(found.get(keyText(keys.key))),
    trust: found.get(keyText(keys.trust)),
    rotation: found.get(keyText(keys.rotation)),
  };
}

/** A Secret without a text counts as missing. */
function withPem(row: Resource | undefined): Resource | undefined {
  return row === undefined || secretText(row) === '' ? undefined : row;
}

function createOf({ type, mesh, name, labels, spec, status, owner }: Resource): Write {
  return { op: 'create', key: { type, mesh, name }, labels, spec, status, owner };
}

function putOf(row: Resource, before: Resource | undefined): Write {
  if (before === undefined) return createOf(row);
  const { type, mesh, name, labels, spec, status, syncVersion } = row;
  return { op: 'update', key: { type, mesh, name }, labels, spec, status, syncVersion, expectVersion: before.version };
}

function statusOf(identity: Resource, status: Resource['status'] | null): Write[] {
  return status === null ? [] : [putOf({ ...identity, status }, identity)];
}
