// A row of the `resources` table as statements return it, and its conversion to a Resource.
import { sql } from 'kysely';
import { readJson } from '../base/long-lists.ts';
import { isStorable } from '../resource/storable-text.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceMeta } from './resource-store.ts';

/** A row without its large columns. */
export type MetaRow = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly version: number;
  readonly labels: string | null;
  readonly owner_type: string | null;
  readonly owner_mesh: string | null;
  readonly owner_name: string | null;
  readonly sync_version: string | null;
  readonly modified: string;
};

/** JSON and times are unparsed text. */
export type Row = MetaRow & {
  readonly spec: string | null;
  readonly status: string | null;
  readonly created: string;
};

export const keyColumns = sql`r.type, r.mesh, r.name`;

/** The columns of an `MetaRow`, of the table `r`. */
export const metaColumns = sql`${keyColumns}, r.version, r.labels::text as labels,
  r.owner_type, r.owner_mesh, r.owner_name, r.sync_version, r.modification_time::text as modified`;

/** The columns of a `Row`, of the table `r`. */
export const columns = sql`${metaColumns}, r.spec, r.status::text as status, r.creation_time::text as created`;

export function metaOf(row: MetaRow): ResourceMeta {
  const { type, mesh, name, version, sync_version: syncVersion } = row;
  const labels = parseObject(row.labels) as Labels;
  return { type, mesh, name, version, labels, owner: ownerOf(row), syncVersion, modificationTime: utc(row.modified) };
}

export function resourceOf(row: Row): Resource {
  return {
    ...metaOf(row),
    spec: parseObject(row.spec),
    status: parseObject(row.status),
    creationTime: utc(row.created),
  };
}

function ownerOf({ owner_type: type, owner_mesh: mesh, owner_name: name }: MetaRow): ResourceKey | null {
  return type === null ? null : { type, mesh: mesh ?? '', name: name ?? '' };
}

/** NULL, JSON null and the empty text of old rows are read as an empty object. */
export function parseObject(text: string | null): JsonObject {
  if (text === null || text === '') return {};
  return (readJson(text) as JsonObject | null) ?? {};
}

/** A `timestamp` without zone is UTC here (kds-wire 7). A Date has milliseconds: further digits are cut. */
export function utc(text: string): Date {
  return new Date(`${text.replace(' ', 'T')}Z`);
}

/** `creationTime` as a `timestamp`, for a comparison with `createdMs`; null for no condition. */
export function timestampOf(creationTime: Date | undefined): string | null {
  return creationTime?.toISOString().slice(0, -1) ?? null;
}

/** The time of creation of row `r`, as a Date has it. */
export const createdMs = `date_trunc('milliseconds', r.creation_time)`;

/** Whether a row can have this key. A statement with another key fails. */
export function canExist({ type, mesh, name }: ResourceKey): boolean {
  return isStorable(type) && isStorable(mesh) && isStorable(name);
}
