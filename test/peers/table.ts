// The table of a control plane, read with SQL. Kuma and Meridian have the same table.
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';

export type TableRow = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly version: number;
  /** The creation time in the format of PostgreSQL. */
  readonly created: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  readonly status: JsonObject;
};

/** Every row. */
export async function readTable({ psql }: ControlPlane): Promise<TableRow[]> {
  const { rows } = await psql.query<Omit<TableRow, 'spec' | 'labels'> & { spec: string; labels: Labels | null }>(
    'select type, mesh, name, version, creation_time::text as created, labels, spec, status from resources order by type, mesh, name',
  );
  return rows.map((row) => ({ ...row, labels: row.labels ?? {}, spec: JSON.parse(row.spec) as JsonObject }));
}

/** The identity of a row on every control plane: type, mesh, zone (empty for global) and display name. */
export function identityOf({ type, mesh, name, labels }: TableRow): string {
  return [type, mesh, labels[label.zone] ?? '', labels[label.displayName] ?? name].join(' ');
}

export function rowKey({ type, mesh, name }: TableRow): string {
  return [type, mesh, name].join(' ');
}
