// The rows of several scopes, without their large columns, in one statement: zones that connect together ask for theirs together.
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from './database.ts';
import { metaColumns, metaOf, type MetaRow } from './resource-row.ts';
import type { MetaQuery, ResourceMeta } from './resource-store.ts';

/** Selects rows that match any of its parts; all rows without parts. */
export type RowScope = Omit<MetaQuery, 'types'>;

/** The number of scopes of one statement: a zone may have many thousand rows. */
export const MAX_SCOPES = 8;

/** @returns the rows of each scope, in the order of the scopes; those of a scope in no particular order */
export async function listMetas(
  db: Kysely<Tables>,
  types: readonly string[],
  scopes: readonly RowScope[],
): Promise<ResourceMeta[][]> {
  // A join with a list of scopes would read all rows of the types: each scope is a select of its own.
  const selects = scopes.map(
    (scope, index) =>
      sql`select ${index}::int as index, ${metaColumns} from resources r where r.type = any(${[...types]}::text[]) ${matching(scope)}`,
  );
  const { rows } = await sql<MetaRow & { readonly index: number }>`${sql.join(selects, sql` union all `)}`.execute(db);
  const found: ResourceMeta[][] = scopes.map(() => []);
  for (const row of rows) found[row.index]?.push(metaOf(row));
  return found;
}

function matching({ labels, namePrefix, owner }: RowScope): RawBuilder<unknown> {
  const either = [
    ...(labels === undefined ? [] : [sql`r.labels @> ${JSON.stringify(labels)}::jsonb`]),
    ...(namePrefix === undefined ? [] : [startsWith(sql`r.name`, namePrefix)]),
    ...(owner === undefined
      ? []
      : [sql`(r.owner_type = ${owner.type} and r.owner_mesh = ${owner.mesh} and r.owner_name = ${owner.name})`]),
  ];
  return either.length === 0 ? sql`` : sql`and (${sql.join(either, sql` or `)})`;
}

/**
 * A condition that uses the index of prefixes also in a plan for all parameters, which knows nothing of the pattern of a LIKE.
 * @param prefix ends with an ASCII character
 */
function startsWith(column: RawBuilder<unknown>, prefix: string): RawBuilder<unknown> {
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  return sql`(${column} ~>=~ ${prefix} and ${column} ~<~ ${end})`;
}
