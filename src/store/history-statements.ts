// The statements on the history table. Triggers write the history (migrations/0007_history.sql); a control plane reads it and removes
// versions beyond the limits.
import { readJson } from '../base/long-lists.ts';
import { sql, type Kysely } from 'kysely';
import type { JsonObject, Labels, ResourceKey } from '../resource/types.ts';
import type { Database, Tables } from './database.ts';
import type { ExportQuery, HistoryBounds, PruneProgress, ResourceVersion, Trimmed, VersionQuery } from './history-store.ts';
import { canExist, parseObject } from './resource-row.ts';

/** The number of versions that one step of a removal considers. */
const CONSIDERED = 500;
/**
 * The number of versions that one step counts for the limit of a resource: its cost grows with the resources among them, so a
 * large step is cheaper. The embedded database runs in this process, which waits for each statement.
 */
const COUNTED: Readonly<Record<Database['kind'], number>> = { postgres: 20_000, embedded: CONSIDERED };
const MAX_NUMBERS = 1_000;

type VersionRow = {
  readonly id: string;
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly version: number;
  readonly row_version: number;
  readonly action: ResourceVersion['action'];
  readonly author: string | null;
  readonly via: ResourceVersion['via'];
  readonly restored: number | null;
  readonly written: string;
  readonly labels: string;
  readonly spec: string | null;
};

const columns = sql`h.id::text as id, h.type, h.mesh, h.name, h.version, h.row_version, h.action, h.author, h.via, h.restored,
  h.written_at::text as written, h.labels::text as labels, h.spec`;

const isOf = ({ type, mesh, name }: ResourceKey) => sql`h.name = ${name} and h.mesh = ${mesh} and h.type = ${type}`;

export async function readVersions(db: Kysely<Tables>, { key, before, limit }: VersionQuery): Promise<ResourceVersion[]> {
  if (!canExist(key)) return [];
  const { rows } = await sql<VersionRow>`select ${columns} from meridian_history h
    where ${isOf(key)} ${before === undefined ? sql`` : sql`and h.version < ${before}`}
    order by h.version desc limit ${limit}`.execute(db);
  return rows.map(versionOf);
}

export async function readVersionNumbers(db: Kysely<Tables>, key: ResourceKey): Promise<number[]> {
  if (!canExist(key)) return [];
  const { rows } = await sql<{ version: number }>`select h.version from meridian_history h where ${isOf(key)}
    order by h.version desc limit ${MAX_NUMBERS}`.execute(db);
  return rows.map(({ version }) => version);
}

export async function readVersionsAfter(
  db: Kysely<Tables>,
  { after, upTo, limit, types }: ExportQuery,
): Promise<ResourceVersion[]> {
  const { rows } = await sql<VersionRow>`select ${columns} from meridian_history h
    where h.id > ${after} and h.id <= ${upTo} and h.type = any(${[...types]}::text[]) order by h.id limit ${limit}`.execute(db);
  return rows.map(versionOf);
}

/** Runs one step, as `pruneVersions` of the store does. */
export async function pruneVersions(
  { bulk: db, kind }: Pick<Database, 'bulk' | 'kind'>,
  { versions, replacedBefore }: HistoryBounds,
  { counted, aged }: PruneProgress,
): Promise<PruneProgress> {
  const last = sql<{ up_to: string | null }>`select max(id)::text as up_to from (
    select id from meridian_history where id > ${counted} order by id limit ${COUNTED[kind]}) considered`;
  const upTo = (await last.execute(db)).rows[0]?.up_to ?? null;
  if (upTo !== null)
    // Compute the bound of each resource first: in the condition of the deletion it would be computed for each version.
    await sql`with bounds as materialized (
        select k.type, k.mesh, k.name, b.version
        from (select distinct type, mesh, name from meridian_history where id > ${counted} and id <= ${upTo}) k
        cross join lateral (select o.version from meridian_history o where o.name = k.name and o.mesh = k.mesh and o.type = k.type
          order by o.version desc offset ${versions} limit 1) b)
      delete from meridian_history h using bounds b
      where h.name = b.name and h.mesh = b.mesh and h.type = b.type and h.version <= b.version`.execute(db);
  const until = replacedBefore.toISOString();
  const { rows } = await sql<{ id: string; is_old: boolean }>`
    select id::text as id, written_at < ${until}::timestamptz at time zone 'utc' as is_old
    from meridian_history where id > ${aged} order by id limit ${CONSIDERED}`.execute(db);
  const firstYoung = rows.find(({ is_old: isOld }) => !isOld);
  // The step goes up to the first young version, also over those that are gone: the next step does not search them again.
  const agedUpTo = firstYoung === undefined ? rows.at(-1)?.id : String(Number(firstYoung.id) - 1);
  if (rows[0]?.is_old === true)
    // Each version was replaced when the next one was written.
    await sql`delete from meridian_history h using meridian_history n
      where n.id > ${aged} and n.id <= ${agedUpTo} and h.name = n.name and h.mesh = n.mesh and h.type = n.type
        and (h.version < n.version or (h.id = n.id and h.action = 'deleted'))`.execute(db);
  return { counted: Number(upTo ?? counted), aged: Number(agedUpTo ?? aged) };
}

export async function countVersions(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*)::text as count from meridian_history`.execute(db);
  return Number(rows[0]?.count);
}

/** Runs one step, as `trimVersions` of the store does. */
export async function trimVersions(db: Kysely<Tables>, after: number, most: number): Promise<Trimmed> {
  const { rows } = await sql<{ up_to: string | null; removed: number }>`
    with considered as materialized (
      select h.id, h.type, h.mesh, h.name, h.version, h.action from meridian_history h where h.id > ${after}
      order by h.id limit ${CONSIDERED}
    ), gone as (
      delete from meridian_history h where h.id in (
        select c.id from considered c where c.action = 'deleted' or exists (select from meridian_history n
          where n.name = c.name and n.mesh = c.mesh and n.type = c.type and n.version > c.version)
        order by c.id limit ${most})
      returning h.id
    )
    select (select max(id)::text from considered) as up_to, (select count(*)::int from gone) as removed`.execute(db);
  const [row] = rows;
  return { upTo: Number(row?.up_to ?? after), removed: row?.removed ?? 0 };
}

function versionOf({ id, row_version: rowVersion, written, labels, spec, ...row }: VersionRow): ResourceVersion {
  return {
    ...row,
    id: Number(id),
    rowVersion,
    time: new Date(`${written.replace(' ', 'T')}Z`),
    labels: parseObject(labels) as Labels,
    spec: spec === null || spec === '' ? null : (readJson(spec) as JsonObject | null),
  };
}
