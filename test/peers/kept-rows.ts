// The rows of a control plane before and after another one took over: which are gone, made again or changed.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { MERIDIAN, type ControlPlane } from '../support/control-plane.ts';
import { controlPlaneEnv } from '../support/control-plane-env.ts';
import { differences, meaningOf } from './copies.ts';
import { readTable, rowKey, type TableRow } from './table.ts';

/** Rows that the control plane keeps for itself, and that change with its process. */
const OWN = new Set(['Zone', 'ZoneInsight', 'Config', 'MeshInsight', 'ServiceInsight']);

/** `type mesh name` → row that came from the other side. */
export async function synced(plane: ControlPlane): Promise<Map<string, TableRow>> {
  const rows = (await readTable(plane)).filter(({ type }) => !OWN.has(type));
  return new Map(rows.map((row) => [rowKey(row), row]));
}

/**
 * One line for each row that is gone, was made again, lost a label, or means something else. A Kuma zone drops labels of its
 * services from one update and brings them back with the next: labels that come are no difference.
 */
export async function kept(before: readonly Map<string, TableRow>[], planes: readonly ControlPlane[]): Promise<string[]> {
  const found = await Promise.all(
    planes.map(async (plane, index) => {
      const now = await synced(plane);
      return [...(before[index] ?? [])].flatMap(([key, row]) =>
        differences(partsOf(now.get(key), row), partsOf(row, row), `${plane.command} ${key}`),
      );
    }),
  );
  return found.flat();
}

function partsOf(row: TableRow | undefined, before: TableRow): JsonObject {
  if (row === undefined) return {};
  const labels = Object.fromEntries(Object.entries(row.labels).filter(([key]) => key in before.labels));
  return { created: row.created, labels, spec: meaningOf(typeOf(row.type), row.spec) };
}

/** `meridian migrate up`, as a user runs it. */
export async function migrate(database: PostgresConfig): Promise<void> {
  await promisify(execFile)(MERIDIAN, ['migrate', 'up'], { env: { ...process.env, ...controlPlaneEnv(database, 0) } });
}
