// From a valid draft and the stored row to the write (rest-api 2.4.6, 2.4.7): ownership, versions, immutable fields, and the rules of
// single types. Pure.
import { displayNameOf, label } from '../resource/labels.ts';
import { fixedZoneOf, isLocal, isNameOfZone, isOfZone, sourceZoneOf, zoneNamed, zoneOf } from '../resource/ownership.ts';
import { isClusterWide, RFC_1035_LABEL, RFC_1035_REASON } from '../resource/stored-name.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { describeKey, type JsonObject, type Mode, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceMeta } from '../store/resource-store.ts';
import { isTagOf, type EntityTag } from '../http/entity-tag.ts';
import { ApiError } from '../http/error-body.ts';
import { hasComputed, INVALID, labelField, refuseAll, type ContentWrite, type Draft, type WriteRules } from './write-checks.ts';

/** The part of the stored row that a write needs: all of it if the control plane computes a part of the spec, or with `If-Match`. */
export type StoredRow = ResourceMeta & { readonly spec?: JsonObject; readonly creationTime?: Date };

/**
 * The ETags that a caller accepts (`If-Match`); With `any` the resource must exist, with `none` it must not (`If-None-Match`);
 * null is no condition.
 */
export type Precondition = readonly EntityTag[] | 'any' | 'none' | null;

/**
 * Plans a create, or an update of exactly this stored row.
 * @throws ApiError 400 that names the field
 */
export function planWrite(draft: Draft, stored: StoredRow | undefined, rules: WriteRules): ContentWrite {
  const { info, key, labels, spec, owner } = draft;
  if (stored === undefined) {
    refuseAll(draft.nameFaults, 'Failed to create a resource');
    if (info.name === 'Dataplane' && rules.writer.mode === 'zone') requireWorkloadLabel(labels[label.workload]);
    return { op: 'create', key, labels, spec, status: {}, owner };
  }
  requireOwn(info, stored, 'update', rules);
  requireSameNamespace(draft, stored);
  const zone = fixedZoneOf(stored, rules.writer.mode);
  if (zone !== undefined && zoneNamed(labels) !== zone)
    refuseAll([{ field: labelField(label.zone), reason: `must stay ${zone}, the zone of the stored resource` }]);
  refuseAll(draft.nameFaults, 'Failed to update a resource');
  const expected = { expectVersion: stored.version, expectCreation: stored.creationTime };
  return { op: 'update', key, labels, spec: withComputed(info, spec, stored), ...expected };
}

/** Requires the ETag of the caller. @throws ApiError 409 if the stored row has another one */
export function requireMatch(
  key: ResourceKey,
  stored: Pick<StoredRow, 'version' | 'creationTime'> | undefined,
  wanted: Precondition,
): void {
  if (wanted === null) return;
  if (wanted === 'none') {
    if (stored === undefined) return;
    throw conflict(key, 'If-None-Match is given and the resource exists; read it');
  }
  if (stored === undefined) throw conflict(key, 'If-Match is given and the resource does not exist');
  if (wanted === 'any') return;
  if (wanted.some((tag) => isTagOf(tag, stored))) return;
  const { version } = stored;
  const isAnother = wanted.some((tag) => tag.version === version);
  const reason = isAnother ? 'it was deleted and created again' : `its version is ${String(version)}, not the one of If-Match`;
  throw conflict(key, `${reason}; read it again`);
}

/**
 * Refuses a change of a synced row, which can be changed only on its own side. A zone without a global has no other side.
 * @throws ApiError 400
 */
export function requireOwn(info: TypeInfo, stored: ResourceMeta, verb: 'update' | 'delete', rules: WriteRules): void {
  const { mode, federated } = rules.writer;
  if (!rules.checksOrigin || (mode === 'zone' && !federated)) return;
  if (isLocal(stored, mode)) return;
  if (isSquatter(info, stored, rules)) {
    if (verb === 'delete') return;
    const reason = `zone ${zoneOf(stored)} has a resource under this name, which no zone may take: delete it first`;
    throw new ApiError('invalid', INVALID, reason, [{ field: 'name', reason }]);
  }
  const reason = `this is a copy of a resource of ${homeOf(stored, mode)}: ${verb} it there`;
  const field = verb === 'delete' ? `[${JSON.stringify(label.origin)}]` : labelField(label.origin);
  throw new ApiError('invalid', verb === 'delete' ? 'Could not delete a resource' : INVALID, reason, [{ field, reason }]);
}

/** `global`, or `zone east`: the control plane that a copy comes from. */
export function homeOf(stored: ResourceMeta, mode: Mode): string {
  const zone = sourceZoneOf(stored, mode);
  return zone === undefined ? 'global' : `zone ${zone}`;
}

/**
 * Whether a row on global belongs to a zone and has a name that the zone may not use. No zone can create such a row, but it may be
 * older than the rule, or come from another program. Global may delete it, and the zone does not send it again.
 */
export function isSquatter(info: TypeInfo, stored: ResourceMeta, { writer }: WriteRules): boolean {
  if (writer.mode !== 'global' || info.kds.skipHash || !isOfZone(stored)) return false;
  return !isNameOfZone(stored);
}

/**
 * Refuses a replacement across namespaces: the resource `x` of namespace `y` and the resource `x.y` without a namespace have the
 * same stored name.
 * @throws ApiError 400
 */
function requireSameNamespace({ info, key, given }: Draft, stored: ResourceMeta): void {
  const held = stored.labels[label.namespace] ?? '';
  if (isClusterWide(info) || held === (given[label.namespace] ?? '')) return;
  const holder =
    held === ''
      ? 'a resource without a namespace'
      : `${JSON.stringify(displayNameOf(stored))} of namespace ${JSON.stringify(held)} (label ${label.namespace})`;
  refuseAll([{ field: 'name', reason: `the stored name ${JSON.stringify(key.name)} is taken by ${holder}; give another name` }]);
}

/** The resource as it will be stored, with the times and version of the stored one. */
export function resultOf({ key, labels, spec }: ContentWrite, stored: Resource | undefined): Resource {
  const nothing = {
    status: {},
    version: 0,
    creationTime: new Date(0),
    modificationTime: new Date(0),
    owner: null,
    syncVersion: null,
  };
  return { ...(stored ?? nothing), ...key, labels, spec };
}

export function conflict(key: ResourceKey, reason: string): ApiError {
  return new ApiError('conflict', 'Conflict', `resource conflict: ${describeKey(key)}${reason === '' ? '' : `: ${reason}`}`);
}

function requireWorkloadLabel(workload: string | undefined): void {
  if (workload === undefined || RFC_1035_LABEL.test(workload)) return;
  throw new ApiError('bad_request', 'Bad Request', `${labelField(label.workload)}: ${RFC_1035_REASON}`);
}

/** Keeps computed fields unchanged (D21). A caller may set a missing one. */
function withComputed(info: TypeInfo, spec: JsonObject, stored: StoredRow): JsonObject {
  if (!hasComputed(info)) return spec;
  if (stored.spec === undefined)
    throw new Error(`the stored spec of ${describeKey(stored)} is needed to keep its computed fields`);
  const { spec: before } = stored;
  const kept = ['state', 'identities', 'zoneIngress'].flatMap((key) => {
    const value = before[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...spec, ...Object.fromEntries(kept) };
}
