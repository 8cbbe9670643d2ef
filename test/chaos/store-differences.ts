// Compares the stores of a fleet row by row: the expected rows of each follow from the others, by the rules of expected-rows.ts.
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, ResourceKey } from '../../src/resource/types.ts';
import { goesDown, goesUp, inZone, onGlobal, SENT_TYPES, type Row } from './expected-rows.ts';

/** The database of a control plane. */
export type Store = {
  readonly query: (text: string, values: unknown[]) => Promise<{ readonly rows: readonly unknown[] }>;
};
export type ZoneStore = { readonly zone: string; readonly store: Store };
/** A zone without a database. */
export type Guest = {
  readonly zone: string;
  /** What it has of its own. */
  readonly own: readonly Row[];
  /** What it was sent: type → name.mesh → version. */
  readonly held: ReadonlyMap<string, ReadonlyMap<string, string>>;
};
export type Stores = { readonly global: Store; readonly zones: readonly ZoneStore[]; readonly guests?: readonly Guest[] };

/** By type, mesh and name. */
type Rows = ReadonlyMap<string, Row>;
type StoredRow = Omit<Row, 'spec'> & { readonly spec: string; readonly syncVersion: string | null };
/** Key of a row → version on the wire. */
type Versions = ReadonlyMap<string, string>;

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

/** One line for each wrong row; none when every store holds exactly the expected rows. */
export async function differences({ global, zones, guests = [] }: Stores): Promise<string[]> {
  const { rows: inGlobal } = await rowsOf(global);
  const wrong: string[] = [];
  const versions = new Map<string, string>();
  const expectedOnGlobal = ownOf(inGlobal);
  const expectedIn = (zone: string, own: ReadonlyMap<string, Row>): Map<string, Row> => {
    const expected = new Map(own);
    for (const row of own.values()) if (goesUp(row)) put(expectedOnGlobal, onGlobal(row, zone));
    for (const row of inGlobal.values()) if (goesDown(row, zone)) put(expected, inZone(row));
    return expected;
  };
  for (const { zone, store } of zones) {
    const stored = await rowsOf(store);
    for (const [key, version] of stored.versions) versions.set(key, version);
    const found = new Map([...stored.rows].map(([key, row]) => [key, withoutOwnStatus(row)]));
    wrong.push(...compare(`zone ${zone}`, expectedIn(zone, ownOf(stored.rows)), found));
  }
  for (const { zone, own, held } of guests) {
    const ownRows = new Map(own.map((row) => [keyOf(row), row]));
    const copies = [...expectedIn(zone, ownRows).values()].filter(({ isCopy }) => isCopy);
    wrong.push(...compareHeld(`zone ${zone}`, copies, held, versions));
  }
  wrong.push(...compare('global', expectedOnGlobal, inGlobal));
  return wrong;
}

/** The versions of a guest are those that a zone with a database has stored for the same rows. */
function compareHeld(where: string, expected: readonly Row[], held: Guest['held'], versions: Versions): string[] {
  const left = new Map([...held].map(([type, resources]) => [type, new Map(resources)]));
  const wrong = expected.flatMap((row) => {
    const { type, name, mesh } = row;
    const version = left.get(type)?.get(`${name}.${mesh}`);
    left.get(type)?.delete(`${name}.${mesh}`);
    const key = keyOf(row);
    if (version === undefined) return [`${where} lacks ${key}`];
    const stored = versions.get(key);
    return stored === undefined || stored === version ? [] : [`${where} has version ${version} of ${key}, not ${stored}`];
  });
  const surplus = [...left].flatMap(([type, resources]) =>
    [...resources.keys()].map((name) => `${where} should not have ${type} ${name}`),
  );
  return [...wrong, ...surplus];
}

async function rowsOf(store: Store): Promise<{ readonly rows: Rows; readonly versions: Versions }> {
  const { rows } = await store.query(
    `select type, mesh, name, coalesce(nullif(labels, 'null'), '{}') as labels, spec, status,
       case when owner_type is not null then json_build_object('type', owner_type, 'mesh', owner_mesh, 'name', owner_name) end as owner,
       sync_version is not null as "isCopy", sync_version as "syncVersion"
     from resources where type = any($1)`,
    [SENT_TYPES],
  );
  const versions = new Map<string, string>();
  const found = new Map<string, Row>();
  for (const { syncVersion, spec, ...row } of rows as readonly StoredRow[]) {
    found.set(keyOf(row), { ...row, spec: JSON.parse(spec) as JsonObject });
    if (syncVersion !== null) versions.set(keyOf(row), syncVersion);
  }
  return { rows: found, versions };
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
