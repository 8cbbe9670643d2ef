// The stores of a fleet row by row: what each must hold follows from what the others hold, without a look at the rule table.
// What is written on global goes to every zone; what is written in a zone goes to global, and of some types to the other zones.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect, vi } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { WAIT, type ControlPlane } from '../support/control-plane.ts';

type Stores = { readonly global: ControlPlane; readonly zones: readonly ControlPlane[] };

type Labels = Readonly<Record<string, string>>;
type Row = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: unknown;
  readonly status: unknown;
  /** Came by KDS. */
  readonly isSynced: boolean;
};
type Rows = ReadonlyMap<string, Row>;

/** Written on global; the first is the policy that most tests write. */
export const OF_GLOBAL: readonly string[] = [
  ...['MeshTimeout', 'MeshHTTPRoute', 'MeshTCPRoute', 'MeshTLS', 'MeshLoadBalancingStrategy', 'MeshPassthrough'],
  ...['MeshAccessLog', 'MeshTrace', 'MeshFaultInjection', 'MeshRateLimit', 'MeshTrafficPermission', 'MeshHealthCheck'],
  ...['MeshCircuitBreaker', 'MeshRetry', 'MeshMetric', 'MeshProxyPatch', 'MeshExternalService', 'MeshMultiZoneService'],
  ...['MeshIdentity', 'MeshTrust', 'MeshOpenTelemetryBackend'],
];
/** Written in a zone, for all. */
const OF_ZONES_FOR_ALL: readonly string[] = ['MeshService', 'MeshZoneAddress'];
/** Written in a zone, for global alone. */
const OF_ZONES_FOR_GLOBAL: readonly string[] = ['Workload'];
export const OF_ZONES: readonly string[] = [...OF_ZONES_FOR_ALL, ...OF_ZONES_FOR_GLOBAL];
const TYPES = [...OF_GLOBAL, ...OF_ZONES];
/** Each zone keeps a status of its own on what came from elsewhere: addresses and hostnames. */
const STATUS_OF_THE_ZONE: readonly string[] = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'];
const OWN_STATUS = new Set(['vip', 'vips', 'addresses', 'hostnameGenerators', 'zoneEgress', 'meshServices', 'conditions']);
const [POLICY = ''] = OF_GLOBAL;
const [ORIGIN, ZONE, DISPLAY, SYNC] = ['kuma.io/origin', 'kuma.io/zone', 'kuma.io/display-name', 'kuma.io/kds-sync'] as const;
/** One look reads and hashes every row: less often than a look at one row. */
const WAIT_FOR_ALL = { ...WAIT, interval: 200 };
const MOST_SHOWN = 10;

/** Waits until all stores are in step, then for one more policy to pass, after which they must be so again. */
export async function expectEqualStores(stores: Stores, about = ''): Promise<void> {
  const equal = async (): Promise<void> => expect((await differences(stores)).slice(0, MOST_SHOWN), about).toEqual([]);
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
  const expectedOnGlobal = new Map([...onGlobal].filter(([, row]) => !row.isSynced));
  for (const zone of zones) {
    const name = zoneName(zone);
    const inZone = await rowsOf(zone);
    const expected = new Map([...inZone].filter(([, row]) => !row.isSynced));
    for (const row of [...expected.values()].filter(isSent))
      put(expectedOnGlobal, travelled(row, { ...row.labels, [ORIGIN]: 'zone', [ZONE]: name }, row.status));
    for (const row of onGlobal.values())
      if (isSent(row) && isFor(name, row)) put(expected, travelled(row, { ...row.labels, [ORIGIN]: 'global' }, {}));
    wrong.push(...compare(`zone ${name}`, expected, new Map([...inZone].map(([key, row]) => [key, withoutOwnStatus(row)]))));
  }
  wrong.push(...compare('global', expectedOnGlobal, onGlobal));
  return wrong;
}

/** `version` and `modification_time` of the rows that came by KDS: a row that is written again shows it here. */
export async function writesOf(store: ControlPlane): Promise<Map<string, string>> {
  const { rows } = await store.psql.query<{ key: string; written: string }>(
    `select type || '/' || mesh || '/' || name as key, version || ' at ' || modification_time::text as written
     from resources where sync_version is not null and type = any($1)`,
    [TYPES],
  );
  return new Map(rows.map(({ key, written }) => [key, written]));
}

export function zoneName({ env }: ControlPlane): string {
  return env['MERIDIAN_MULTIZONE_ZONE_NAME'] ?? '';
}

async function rowsOf({ psql }: ControlPlane): Promise<Rows> {
  const { rows } = await psql.query<Row & { spec: string }>(
    `select type, mesh, name, coalesce(nullif(labels, 'null'), '{}') as labels, spec, status, sync_version is not null as "isSynced"
     from resources where type = any($1)`,
    [TYPES],
  );
  return new Map(rows.map((row) => [keyOf(row), { ...row, spec: JSON.parse(row.spec) as unknown }]));
}

/** A copy of a service without the status that its zone gives it; one without an address is not done with yet. */
function withoutOwnStatus(row: Row): Row {
  if (!row.isSynced || !STATUS_OF_THE_ZONE.includes(row.type)) return row;
  const given = row.status as Record<string, unknown>;
  if (given['vip'] === undefined && given['vips'] === undefined) return { ...row, status: 'no address yet' };
  const others = Object.entries(given).filter(([key]) => !OWN_STATUS.has(key));
  return { ...row, status: Object.fromEntries(others) };
}

function isSent({ labels }: Row): boolean {
  return labels[SYNC] !== 'disabled';
}

/** A policy of global is for all zones, that of a zone for none of the others; a service for all but its own. */
function isFor(zone: string, { type, labels, isSynced }: Row): boolean {
  if (OF_ZONES_FOR_GLOBAL.includes(type)) return false;
  return OF_GLOBAL.includes(type) ? !isSynced : isSynced && labels[ZONE] !== zone;
}

/** The row as it must be where it arrives. */
function travelled({ type, mesh, name, spec, labels: before }: Row, labels: Labels, status: unknown): Row {
  const displayName = before[DISPLAY] ?? name;
  return {
    type,
    mesh,
    name: hashName({ mesh, name: displayName, zone: labels[ZONE] }),
    labels: { ...labels, [DISPLAY]: displayName },
    spec,
    status,
    isSynced: true,
  };
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

function keyOf({ type, mesh, name }: Row): string {
  return `${type}/${mesh}/${name}`;
}
