// Compares the stores of a fleet row by row: the rows of each store follow from the rows of the others. The registry and the rules
// decide which types and rows are synced; this file computes names, labels and owners of the synced rows independently.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect, vi } from 'vitest';
import {
  visibilityOf,
  globalConsumes,
  globalReceiveRules,
  globalSendRules,
  zoneConsumes,
  zoneReceiveRules,
  zoneSendRules,
} from '../../src/kds/rules.ts';
import { normalizeSpec } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { completeSpec } from '../../src/resource/schema/complete-spec.ts';
import { typeOf, type TypeInfo } from '../../src/resource/type-registry.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../../src/resource/types.ts';
import { WAIT, type ControlPlane } from '../support/control-plane.ts';
import { makeRow } from '../support/make-row.ts';

type Stores = { readonly global: ControlPlane; readonly zones: readonly ControlPlane[] };
/** By type, mesh and name. */
type Rows = ReadonlyMap<string, Resource>;

/** The policy that most tests write. */
const POLICY = 'MeshTimeout';
/** What may leave a store or come to one; the rows of all other types are nobody else's concern. */
const TYPES = [...new Set([...zoneConsumes, ...globalConsumes].map(({ name }) => name))];
/** Each zone keeps a status of its own on what came from elsewhere: addresses and hostnames. */
const STATUS_OF_THE_ZONE: readonly string[] = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'];
/** What a zone says of references to collectors, on copies too. */
const CONDITIONS_OF_THE_ZONE: readonly string[] = ['MeshAccessLog', 'MeshTrace', 'MeshMetric', 'MeshOpenTelemetryBackend'];
const OWN_STATUS = new Set(['vip', 'vips', 'addresses', 'hostnameGenerators', 'zoneEgress', 'meshServices', 'conditions']);
/** Goes to zones as its public half, under the name of that. */
const ZONE_SIGNING_KEY = 'zone-token-signing-key';
/** Every row that came by KDS has a version of its own; here it counts that there is one. */
const SYNCED = 'synced';
const [ORIGIN, ZONE, DISPLAY, NAMESPACE] = [
  'kuma.io/origin',
  'kuma.io/zone',
  'kuma.io/display-name',
  'k8s.kuma.io/namespace',
] as const;
/** One look reads and hashes every row: less often than a look at one row. */
const WAIT_FOR_ALL = { ...WAIT, interval: 200 };
const MAX_SHOWN = 10;

/** Waits until all stores are in step, then for one more policy to pass, after which they must be so again. */
export async function expectEqualStores(stores: Stores, about = ''): Promise<void> {
  const equal = async (): Promise<void> => expect((await differences(stores)).slice(0, MAX_SHOWN), about).toEqual([]);
  await vi.waitFor(equal, WAIT_FOR_ALL);
  await stores.global.psql.query(
    `insert into resources (name, mesh, type, version, spec) values ($1, 'default', $2, 0, '{"last":true}')`,
    [`last-${randomUUID()}`, POLICY],
  );
  await vi.waitFor(equal, WAIT_FOR_ALL);
}

/** What is wrong now, a line a row; none when every store holds what it must and nothing more. */
export async function differences({ global, zones }: Stores): Promise<string[]> {
  const onGlobal = await rowsOf(global);
  const wrong: string[] = [];
  const names = zones.map(zoneName);
  const expectedOnGlobal = new Map([...onGlobal].filter(([, row]) => !names.some((name) => isOfZone(name, row))));
  for (const zone of zones) {
    const name = zoneName(zone);
    const inZone = await rowsOf(zone);
    const expected = new Map([...inZone].filter(([, row]) => !isOfGlobal(row)));
    for (const row of [...expected.values()].filter((own) => goesUp(name, own))) put(expectedOnGlobal, onceOnGlobal(row, name));
    for (const row of [...onGlobal.values()].filter((any) => goesDown(name, any))) put(expected, onceInZone(row));
    wrong.push(...compare(`zone ${name}`, expected, new Map([...inZone].map(([key, row]) => [key, withoutOwnStatus(row)]))));
  }
  wrong.push(...compare('global', expectedOnGlobal, onGlobal));
  return wrong;
}

/** `version` and `modification_time` of the rows that came by KDS: a row that is written again shows it here. */
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

type StoredRow = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'status' | 'owner' | 'syncVersion'> & {
  readonly spec: string;
};

async function rowsOf({ psql }: ControlPlane): Promise<Rows> {
  const { rows } = await psql.query<StoredRow>(
    `select type, mesh, name, coalesce(nullif(labels, 'null'), '{}') as labels, spec, status,
       case when owner_type is not null then json_build_object('type', owner_type, 'mesh', owner_mesh, 'name', owner_name) end as owner,
       case when sync_version is not null then $2 end as "syncVersion"
     from resources where type = any($1)`,
    [TYPES, SYNCED],
  );
  return new Map(
    rows.map((row) => [keyOf(row), makeRow(row.type, row.name, { ...row, spec: JSON.parse(row.spec) as JsonObject })]),
  );
}

/** A copy of a service without the status that its zone gives it; one without an address is not done with yet. */
function withoutOwnStatus(row: Resource): Resource {
  const { syncVersion, type, status } = row;
  if (syncVersion === null || !(STATUS_OF_THE_ZONE.includes(type) || CONDITIONS_OF_THE_ZONE.includes(type))) return row;
  if (STATUS_OF_THE_ZONE.includes(type) && status['vip'] === undefined && status['vips'] === undefined)
    return { ...row, status: { is: 'without an address yet' } };
  return { ...row, status: Object.fromEntries(Object.entries(status).filter(([key]) => !OWN_STATUS.has(key))) };
}

/** Whether the row is in global because the zone has it. */
function isOfZone(zone: string, row: Resource): boolean {
  const info = typeOf(row.type);
  return globalConsumes.includes(info) && globalReceiveRules(zone, { hashedNames: true }).inScope(row, info);
}

/** Whether the row is in a zone because global has it. */
function isOfGlobal(row: Resource): boolean {
  const info = typeOf(row.type);
  return zoneConsumes.includes(info) && zoneReceiveRules().inScope(row, info);
}

function goesUp(zone: string, row: Resource): boolean {
  return globalConsumes.includes(typeOf(row.type)) && visibilityOf(zoneSendRules({ zone }), row).visibility.to !== 'nobody';
}

function goesDown(zone: string, row: Resource): boolean {
  if (!zoneConsumes.includes(typeOf(row.type))) return false;
  const { visibility } = visibilityOf(globalSendRules(), row);
  return visibility.to === 'all' || (visibility.to === 'others' && visibility.zone !== zone);
}

/** What global holds of a row of a zone: it goes with the Zone. */
function onceOnGlobal(row: Resource, zone: string): Resource {
  const labels = { ...row.labels, [ORIGIN]: 'zone', [ZONE]: zone };
  return arrived(row, { labels, status: row.status, owner: { type: 'Zone', mesh: '', name: zone } });
}

function onceInZone(row: Resource): Resource {
  const info = typeOf(row.type);
  const content = { labels: { ...row.labels, [ORIGIN]: 'global' }, status: {}, owner: null };
  if (info.name !== 'GlobalSecret' || !row.name.startsWith(ZONE_SIGNING_KEY)) return arrived(row, content);
  return { ...arrived(row, content), ...globalSendRules().map(row, info), status: {} };
}

type Arrived = { readonly labels: Labels; readonly status: JsonObject; readonly owner: ResourceKey | null };

/** The row as it must be where it arrives. */
function arrived({ type, mesh, name, spec, labels: before }: Resource, { labels, ...content }: Arrived): Resource {
  const info: TypeInfo = typeOf(type);
  // A row that psql wrote travels with the defaults of its schema.
  const written = { mesh, spec: completeSpec(type, normalizeSpec(info, spec)), syncVersion: SYNCED, ...content };
  if (info.kds.skipHash) return makeRow(type, name, { ...written, labels });
  const displayName = before[DISPLAY] ?? name;
  const hashed = hashName({ mesh, name: displayName, zone: labels[ZONE], namespace: labels[NAMESPACE] });
  return makeRow(type, hashed, { ...written, labels: { ...labels, [DISPLAY]: displayName } });
}

function compare(where: string, expected: Rows, found: Rows): string[] {
  const missing = [...expected.keys()].filter((key) => !found.has(key)).map((key) => `${where} lacks ${key}`);
  const surplus = [...found.keys()].filter((key) => !expected.has(key)).map((key) => `${where} should not have ${key}`);
  const other = [...expected]
    .filter(([key, row]) => found.has(key) && !isDeepStrictEqual(found.get(key), row))
    .map(([key, row]) => `${where} has ${JSON.stringify(found.get(key))} for ${key}, not ${JSON.stringify(row)}`);
  return [...missing, ...surplus, ...other];
}

function put(rows: Map<string, Resource>, row: Resource): void {
  rows.set(keyOf(row), row);
}

function keyOf({ type, mesh, name }: ResourceKey): string {
  return `${type}/${mesh}/${name}`;
}
