// From a valid draft and the stored row to the write (rest-api 2.4.6, 2.4.7): computed labels, immutable fields, and the rules of
// single types. Pure.
import { computeLabels } from '../resource/compute-labels.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { isLocal, isNameOfZone, isOfZone, zoneOf } from '../resource/ownership.ts';
import { isClusterWide } from '../resource/stored-name.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { describeKey, type JsonObject, type Labels, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceMeta, Write } from '../store/resource-store.ts';
import { ApiError } from './error-body.ts';
import { labelField, type LabelRules } from './label-rules.ts';
import { INVALID, refuseAll, type Draft } from './resource-draft.ts';

const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

export type ContentWrite = Extract<Write, { op: 'create' | 'update' }>;

/** What a write has to know of the row that is there: its spec only where the control plane computes a part of that. */
export type StoredRow = ResourceMeta & { readonly spec?: JsonObject };

/**
 * A create, or an update of exactly this stored row.
 * @throws ApiError 400 that names the field
 */
export function planWrite(
  { info, key, displayName, labels: given, spec }: Draft,
  stored: StoredRow | undefined,
  rules: LabelRules,
): ContentWrite {
  if (stored !== undefined) {
    requireOwn(info, stored, 'update', rules);
    requireSameNamespace({ info, key, labels: given }, stored);
  }
  const labels = computeLabels(info, { displayName, mesh: key.mesh, labels: given, spec }, rules.writer);
  const zone = stored?.labels[label.zone];
  // On global its own resources belong to no zone: the label is theirs to change.
  const isFree = rules.writer.mode === 'global' && stored?.labels[label.origin] === 'global';
  if (zone !== undefined && labels[label.zone] !== zone && !isFree)
    refuseAll([{ field: labelField(label.zone), reason: `must stay ${zone}, the zone of the stored resource` }]);
  if (info.labelName && !RFC_1035_LABEL.test(displayName)) {
    const reason = 'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63 characters';
    refuseAll([{ field: 'name', reason }], stored === undefined ? 'Failed to create a resource' : 'Failed to update a resource');
  }
  if (stored !== undefined)
    return { op: 'update', key, labels, spec: withComputed(info, spec, stored), expectVersion: stored.version };
  if (info.name === 'Dataplane' && rules.writer.mode === 'zone') requireWorkloadLabel(labels);
  return { op: 'create', key, labels, spec, status: {}, owner: ownerOf(info, key.mesh) };
}

/**
 * A write that needs no stored row: it creates the row, or replaces a row that this control plane owns. If it writes nothing,
 * `planWrite` decides with the stored row whether that is an error. Null where the mesh has to be read.
 * @throws ApiError 400 as `planWrite`
 */
export function planPut(draft: Draft, rules: LabelRules): Write | null {
  const { info, key } = draft;
  // A new Mesh comes with its defaults.
  if (info.name === 'Mesh') return null;
  const create = planWrite(draft, undefined, rules);
  // Where no owner is the mesh, nothing else says that there is one.
  if (info.scope === 'Mesh' && (create.owner ?? null) === null) return null;
  // What is computed is kept, and has to be read for that.
  if (hasComputed(info)) return create;
  const { labels, spec, owner } = create;
  return { op: 'put', key, labels, spec, owner, ownOnly: true };
}

/**
 * What came from the other side by KDS is written there alone. A zone without a global has no other side.
 * @throws ApiError 400
 */
export function requireOwn(info: TypeInfo, stored: ResourceMeta, verb: 'update' | 'delete', rules: LabelRules): void {
  const { mode, federated } = rules.writer;
  if (!rules.checksOrigin || (mode === 'zone' && !federated)) return;
  if (isLocal(stored, mode)) return;
  if (isSquatter(info, stored, rules)) {
    if (verb === 'delete') return;
    const reason = `zone ${zoneOf(stored)} has a resource under this name, which no zone may take: delete it first`;
    throw new ApiError('invalid', INVALID, reason, [{ field: 'name', reason }]);
  }
  const zone = mode === 'global' ? zoneOf(stored) : stored.labels[label.zone];
  const home = zone === undefined ? 'global' : `zone ${zone}`;
  const reason = `this is a copy of a resource of ${home}: ${verb} it there`;
  const field = verb === 'delete' ? `[${JSON.stringify(label.origin)}]` : labelField(label.origin);
  throw new ApiError('invalid', verb === 'delete' ? 'Could not delete a resource' : INVALID, reason, [{ field, reason }]);
}

/**
 * Whether a row on global belongs to a zone and has a name that the zone may not take. No zone can create such a row; it may be
 * older than that rule, or come from another program. Global may delete it, and the zone does not bring it back.
 */
export function isSquatter(info: TypeInfo, stored: ResourceMeta, { writer }: LabelRules): boolean {
  if (writer.mode !== 'global' || info.kds.skipHash || !isOfZone(stored)) return false;
  return !isNameOfZone(stored);
}

/**
 * The resource `x` of namespace `y` and the resource `x.y` without one have one stored name: neither replaces the other.
 * @throws ApiError 400
 */
function requireSameNamespace({ info, key, labels }: Pick<Draft, 'info' | 'key' | 'labels'>, stored: ResourceMeta): void {
  const held = stored.labels[label.namespace] ?? '';
  if (isClusterWide(info) || held === (labels[label.namespace] ?? '')) return;
  const holder =
    held === ''
      ? 'a resource without a namespace'
      : `${JSON.stringify(displayNameOf(stored))} of namespace ${JSON.stringify(held)} (label ${label.namespace})`;
  refuseAll([{ field: 'name', reason: `the stored name ${JSON.stringify(key.name)} is taken by ${holder}; give another name` }]);
}

/** The resource as it will be stored, times and version of the stored one. */
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

function requireWorkloadLabel(labels: Labels): void {
  const workload = labels[label.workload];
  if (workload === undefined || RFC_1035_LABEL.test(workload)) return;
  const reason = 'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63 characters';
  throw new ApiError('bad_request', 'Bad Request', `${labelField(label.workload)}: ${reason}`);
}

/** kds-wire 7: mesh-scoped rows go with their Mesh, except Dataplane and Secret. */
function ownerOf(info: TypeInfo, mesh: string): ResourceKey | null {
  if (info.scope === 'Global' || info.name === 'Dataplane' || info.name === 'Secret') return null;
  return { type: 'Mesh', mesh: '', name: mesh };
}

/** True for a type whose spec the control plane computes in part. */
export function hasComputed(info: TypeInfo): boolean {
  return info.name === 'MeshService';
}

/** Computed fields stay unchanged (D21). A caller may set a first value where there is none. */
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
