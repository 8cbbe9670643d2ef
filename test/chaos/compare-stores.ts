// Compares the stores of a fleet row by row: the expected rows of each follow from the others, by the rules of expected-rows.ts.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect, vi } from 'vitest';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { WAIT, type ControlPlane } from '../support/control-plane.ts';
import { goesDown, goesUp, inZone, onGlobal, SENT_TYPES, type Row } from './expected-rows.ts';

type Stores = { readonly global: ControlPlane; readonly zones: readonly ControlPlane[] };
/** By type, mesh and name. */
type Rows = ReadonlyMap<string, Row>;

/** The policy that most tests write. */
const POLICY = 'MeshTimeout';
/** Each zone has its own status on synced rows: addresses and hostnames. */
const STATUS_OF_THE_ZONE: readonly string[] = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'];
/** The conditions of a zone about references to collectors and about its authorities, also on copies. */
const CONDITIONS_OF_THE_ZONE: readonly string[] = [
  'MeshAccessLog',
  'MeshTrace',
  'MeshMetric',
  'MeshOpenTelemetryBackend',
  'MeshIdentity',
];
const OWN_STATUS = new Set(['vip', 'vips', 'addresses', 'hostnameGenerators', 'zoneEgress', 'meshServices', 'conditions']);
/** One comparison reads and hashes every row, so it polls less often than a check of one row. */
const WAIT_FOR_ALL = { ...WAIT, interval: 200 };
const MAX_SHOWN = 10;

/** Waits until all stores are in step, then for one more policy, after which they must be in step again. */
export async function expectEqualStores(stores: Stores, about = ''): Promise<void> {
  const equal = async (): Promise<void> => expect((await differences(stores)).slice(0, MAX_SHOWN), about).toEqual([]);
  await vi.waitFor(equal, WAIT_FOR_ALL);
  await stores.global.psql.query(
    `insert into resources (name, mesh, type, version, spec) values ($1, 'default', $2, 0, '{"last":true}')`,
    [`last-${randomUUID()}`, POLICY],
  );
  await vi.waitFor(equal, WAIT_FOR_ALL);
}

/** One line for each wrong row; none when every store holds exactly the expected rows. */
export async function differences({ global, zones }: Stores): Promise<string[]> {
  const inGlobal = await rowsOf(global);
  const wrong: string[] = [];
  const expectedOnGlobal = ownOf(inGlobal);
  for (const zone of zones) {
    const name = zoneName(zone);
    const stored = await rowsOf(zone);
    const expected = ownOf(stored);
    for (const row of stored.values()) if (goesUp(row)) put(expectedOnGlobal, onGlobal(row, name));
    for (const row of inGlobal.values()) if (goesDown(row, name)) put(expected, inZone(row));
    wrong.push(...compare(`zone ${name}`, expected, new Map([...stored].map(([key, row]) => [key, withoutOwnStatus(row)]))));
  }
  wrong.push(...compare('global', expectedOnGlobal, inGlobal));
  return wrong;
}

/** `version` and `modification_time` of the rows that came by KDS: a rewritten row differs here. */
export async function writesOf(store: ControlPlane): Promise<Map<string, string>> {
  const { rows } = await store.psql.query<{ key: string; written: string }>(
    `select type || '/' || mesh || '/' || name as key, version || ' at ' || modification_time::text as written
     from resources where sync_version is not null`,
  );
  return new Map(rows.map(({ key, written }) => [key, written]));
}

export function zoneName({ env }: ControlPlane): string {
  return env['MERIDIAN_MULTIZONE_ZONE_NAME'] ?? '';
}

async function rowsOf({ psql }: ControlPlane): Promise<Rows> {
  const { rows } = await psql.query<Omit<Row, 'spec'> & { readonly spec: string }>(
    `select type, mesh, name, coalesce(nullif(labels, 'null'), '{}') as labels, spec, status,
       case when owner_type is not null then json_build_object('type', owner_type, 'mesh', owner_mesh, 'name', owner_name) end as owner,
       sync_version is not null as "isCopy"
     from resources where type = any($1)`,
    [SENT_TYPES],
  );
  return new Map(rows.map((row) => [keyOf(row), { ...row, spec: JSON.parse(row.spec) as JsonObject }]));
}

/** The rows that were written in the store itself. */
function ownOf(rows: Rows): Map<string, Row> {
  return new Map([...rows].filter(([, { isCopy }]) => !isCopy));
}

/** A copy of a service without the status of its zone. A copy without an address is not complete yet. */
function withoutOwnStatus(row: Row): Row {
  const { isCopy, type, status } = row;
  if (!isCopy || !(STATUS_OF_THE_ZONE.includes(type) || CONDITIONS_OF_THE_ZONE.includes(type))) return row;
  if (STATUS_OF_THE_ZONE.includes(type) && status['vip'] === undefined && status['vips'] === undefined)
    return { ...row, status: { is: 'without an address yet' } };
  return { ...row, status: Object.fromEntries(Object.entries(status).filter(([key]) => !OWN_STATUS.has(key))) };
}

function compare(where: string, expected: Rows, found: Rows): string[] {
  const missing = [...expected.keys()].filter((key) => !found.has(key)).map((key) => `${where} lacks ${key}`);
  const surplus = [...found.keys()].filter((key) => !expected.has(key)).map((key) => `${where} should not have ${key}`);
  const other = [...expected]
    .filter(([key, row]) => found.has(key) && !isDeepStrictEqual(found.get(key), row))
    .map(([key, row]) => `${where} has ${JSON.stringify(found.get(key))} for ${key}, not ${JSON.stringify(row)}`);
  return [...missing, ...surplus, ...other];
}

function put(rows: Map<string, Row>, row: Row): void {
  rows.set(keyOf(row), row);
}

function keyOf({ type, mesh, name }: ResourceKey): string {
  return `${type}/${mesh}/${name}`;
}
