// The rows of the database of a Kuma control plane, or of a Meridian one that took it over. It only reads, and needs no migration.
import { sql } from 'kysely';
import { messageOf, MeridianError } from '../base/errors.ts';
import { isObject, textMapOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Database } from '../store/database.ts';
import type { TakenRow } from './taken-row.ts';

type Row = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly spec: string;
  readonly labels: unknown;
};

/** @throws MeridianError `invalid` for a row whose spec is no JSON object, and for a database without the table */
export async function readTakenRows({ bulk }: Database): Promise<TakenRow[]> {
  const table = await sql<{ found: string | null }>`select to_regclass('resources')::text as found`.execute(bulk);
  if ((table.rows[0]?.found ?? null) === null)
    throw new MeridianError('invalid', 'the database has no table resources: it is none of a Kuma or Meridian control plane');
  // An older table has no column of labels.
  const { rows } = await sql<Row>`
    select type, mesh, name, spec, to_jsonb(resources) -> 'labels' as labels from resources order by type, mesh, name
  `.execute(bulk);
  return rows.map(({ type, mesh, name, spec, labels }) => ({
    type,
    mesh,
    name,
    labels: textMapOf(labels),
    spec: specOf(type, name, spec),
  }));
}

function specOf(type: string, name: string, text: string): JsonObject {
  let spec: unknown;
  try {
    spec = JSON.parse(text === '' ? '{}' : text);
  } catch (cause) {
    throw new MeridianError('invalid', `the spec of ${type} ${name} is no JSON: ${messageOf(cause)}`, { cause });
  }
  if (!isObject(spec)) throw new MeridianError('invalid', `the spec of ${type} ${name} is no JSON object`);
  return spec;
}
