// Makes the certificate authorities of a zone, one for each MeshIdentity, and a MeshTrust of each. Only the leader runs it. The rows
// are few and change rarely, so each change reads all of them.
import { homeZoneOf } from '../../resource/ownership.ts';
import { keyText, type Resource } from '../../resource/types.ts';
import { FeedFollower, type Following } from '../../store/follow-feed.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { authorityRows, identityKeys, pemIn, planIdentity, type IdentityRows } from './plan-identity.ts';

export type IdentitiesOptions = Following & { readonly store: ResourceStore; readonly zone: string };

/** Passes over one MeshIdentity: authority, trust, conditions, and some for other writers. */
const MAX_PASSES = 8;

/** Follows the store until the signal aborts. */
export async function runIdentities(options: IdentitiesOptions, signal: AbortSignal): Promise<void> {
  const follower = new FeedFollower({ ...options, types: ['Mesh', 'MeshIdentity', 'MeshTrust', 'Secret'] });
  await follower.run(() => reconcileIdentities(options), signal);
}

/** Brings the rows of all MeshIdentities of the zone up to date. */
export async function reconcileIdentities(options: IdentitiesOptions): Promise<void> {
  const { store, zone } = options;
  const identities = await store.list({ type: 'MeshIdentity' });
  for (const identity of identities) if (homeZoneOf(identity, zone) === zone) await reconcileIdentity(options, identity);
}

async function reconcileIdentity(options: IdentitiesOptions, identity: Resource): Promise<void> {
  const { store, zone, clock, log } = options;
  const { mesh, name } = identity;
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    const rows = await readRows(store, identity);
    if (rows === null) return;
    const now = clock.now();
    const plan = planIdentity(rows, { zone, now });
    if (plan.needs === 'nothing') return;
    if (plan.needs === 'authority') {
      const { createAuthority } = await import('../../identity/authority.ts');
      const made = authorityRows(identity, await createAuthority(plan.trustDomain, now), now);
      const outcomes = await store.writeAll(made.map((row) => createOf(row)));
      const refused = outcomes.find((outcome) => outcome.result === 'rejected');
      if (refused?.result === 'rejected') return log.warn({ mesh, name, reason: refused.message }, 'an authority was not stored');
      if (outcomes.every((outcome) => 'version' in outcome)) log.info({ mesh, name }, 'made the authority of a MeshIdentity');
      continue;
    }
    // The MeshTrust first: certificates are issued when the conditions say so.
    const writes: Write[] = plan.trust !== null ? [putOf(plan.trust, rows.trust)] : statusOf(rows.identity, plan.status);
    const outcomes = await store.writeBatch(writes);
    const refused = outcomes.find((outcome) => outcome.result === 'rejected');
    if (refused?.result === 'rejected') return log.warn({ mesh, name, reason: refused.message }, 'a MeshIdentity has no rows');
  }
  log.warn(
    { mesh, name, passes: MAX_PASSES },
    'the rows of a MeshIdentity change too often; they are written with the next change',
  );
}

/** Null if the MeshIdentity or its mesh is gone. */
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
  };
}

/** A Secret without a text counts as missing. */
function withPem(row: Resource | undefined): Resource | undefined {
  return row === undefined || pemIn(row) === '' ? undefined : row;
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
