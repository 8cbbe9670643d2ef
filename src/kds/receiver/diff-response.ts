// Computes the changes of a response to the store: incoming resources compared with the stored rows (kds-wire 6.2). Pure.
// Invariants: a row out of scope is never touched; a row that equals the incoming resource is not written.
import { isDeepStrictEqual } from 'node:util';
import type { Steps } from '../../base/steps.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import { nameText, type Resource, type ResourceKey } from '../../resource/types.ts';
import type { ResourceMeta, Write } from '../../store/resource-store.ts';
import type { Incoming } from './incoming.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';
import type { ReceiveRules } from '../protocol/rules.ts';

/** A write whose row was read before: no `put`. */
export type SyncWrite = Exclude<Write, { readonly op: 'put' }>;

/** The part of a response that is not stored yet. Keys are `nameText`. */
export type Work = {
  readonly incoming: ReadonlyMap<string, Incoming>;
  readonly removed: ReadonlyMap<string, ResourceKey>;
  /** It is set at the end of a full state: rows in scope that are neither in `except` nor of these meshes are deleted. */
  readonly prune: { readonly except: ReadonlySet<string>; readonly heldMeshes: ReadonlySet<string> } | null;
};

export type PlanInput = Pick<Work, 'incoming'> & {
  readonly info: TypeInfo;
  readonly rules: ReceiveRules;
  /** The stored rows of the incoming resources. */
  readonly stored: ReadonlyMap<string, Resource>;
  /** The rows that the peer no longer has. */
  readonly gone: readonly ResourceMeta[];
  /** Whether an equal row with another version is written, because the peer resumes by versions (D29). */
  readonly exactVersions: boolean;
};

/**
 * Computes the writes and the refusals. A resource is refused if a row out of scope has its name and the rules keep it, or if its labels do not allow the
 * name of a new row. An existing row keeps its name even if its labels change: peers lose labels for one update. One step handles one
 * row.
 */
export function* planWrites(input: PlanInput): Steps<{ writes: SyncWrite[]; refusals: NackedResource[] }> {
  const { info, rules, incoming, stored, gone } = input;
  const writes: SyncWrite[] = [];
  const refusals: NackedResource[] = [];
  for (const [text, resource] of incoming) {
    yield;
    const { name, mesh, labels, spec, status, version } = resource;
    const key = { type: info.name, mesh, name };
    const row = stored.get(text);
    const content = { key, labels, spec, syncVersion: version, ...(rules.status === 'take' && { status: status ?? {} }) };
    if (row === undefined) {
      const misnamed = misnamedResource(info, rules, resource);
      if (misnamed === null) writes.push({ op: 'create', ...content, owner: rules.ownerOnCreate });
      else refusals.push(misnamed);
    } else if (!rules.inScope(row, info) && !rules.replaces(row, info))
      refusals.push(nackedResource(info.name, key, `resource already exists, it belongs to ${rules.holderOf(row)}`));
    else if (!isEqual(row, resource, input)) writes.push({ op: 'update', ...content, expectVersion: row.version });
  }
  for (const { type, mesh, name, version, ...row } of gone) {
    yield;
    if (incoming.has(nameText({ mesh, name })) || !rules.inScope({ name, ...row }, info)) continue;
    writes.push({ op: 'delete', key: { type, mesh, name }, expectVersion: version });
  }
  return { writes, refusals };
}

/** The refusal of a new resource that has another name than its labels say; null for a good one. A stored one keeps its name (decision 25). */
export function misnamedResource(info: TypeInfo, rules: ReceiveRules, resource: Incoming): NackedResource | null {
  const required = rules.requiredName(resource, info);
  if (required === null || required === resource.name) return null;
  const reason = `name: must be ${JSON.stringify(required)}, the hash of its mesh, display name, zone and namespace`;
  return nackedResource(info.name, resource, reason);
}

/** Equal versions mean equal content: a trigger clears the version of a row on an edit (D29). */
function isEqual(row: Resource, incoming: Incoming, { rules, exactVersions }: PlanInput): boolean {
  const sameContent = (): boolean => isDeepStrictEqual(row.labels, incoming.labels) && isDeepStrictEqual(row.spec, incoming.spec);
  if (row.syncVersion !== incoming.version && (exactVersions || !sameContent())) return false;
  return rules.status === 'keep' || isDeepStrictEqual(row.status, incoming.status ?? {});
}
