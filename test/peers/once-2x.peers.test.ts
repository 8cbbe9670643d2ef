// A Kuma 3 global whose database was one of Kuma 2.x before: what a Kuma zone has from it, it keeps under Meridian.
import { afterEach, beforeEach, expect, inject, it, vi } from 'vitest';
import pg from 'pg';
import { label } from '../../src/resource/labels.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { type OldRow, readOldRows } from '../takeover/old-rows.ts';
import { kept, migrate, synced } from './kept-rows.ts';
import { KUMA_TEMPLATE } from './kuma-store.ts';
import { isOnline, LONG_WAIT, startGlobal, startZone, stopPlane, untilReady } from './mixed-fleet.ts';
import { read } from './rest.ts';
import type { TableRow } from './table.ts';

const postgresUrl = inject('postgresUrl');
let planes: ControlPlane[] = [];

beforeEach(() => {
  planes = [];
});

afterEach(async () => {
  await Promise.all(planes.map(stopPlane));
});

const OF_KUMA_3 = { MERIDIAN_MULTIZONE_GLOBAL_TAKEOVER_RELEASE: '3' };
/** Rows that a Kuma 3 zone refuses from a Kuma global, by display name. */
const REFUSED_BEFORE = ['inbound-only', 'of-a-subset', 'by-name', 'collector', 'allow-all', 'limited', 'old-certificate'];
/** Rows that Kuma 3 reads in another sense than 2.x wrote them, and that Meridian translates. */
const TRANSLATED = ['of-one-dataplane', 'nested'];

it('a Kuma zone keeps its rows when Meridian takes over a database that was one of Kuma 2.x', async () => {
  const kds = await freePort();
  const database = await cloneDatabase(postgresUrl, KUMA_TEMPLATE);
  const rows = readOldRows('once-2.x.yaml');
  await insert(database, rows);
  const kuma = await started(startGlobal('kuma', postgresUrl, kds, database));
  const zone = await started(startZone('kuma', postgresUrl, 'kuma-1', `127.0.0.1:${String(kds)}`));
  await vi.waitFor(async () => expect(await isOnline(kuma, 'kuma-1')).toBe(true), LONG_WAIT);
  const expected = rows.filter(({ type }) => type !== 'TrafficPermission').map(({ name }) => name);
  await vi.waitFor(async () => {
    expect(await missingIn(zone, expected)).toEqual(REFUSED_BEFORE.toSorted());
  }, LONG_WAIT);
  const before = await synced(zone);

  await stopPlane(kuma);
  await migrate(database);
  // No zone of this test says its release, so the rows count as those of 2.x, and nothing is sent.
  const closed = await started(startGlobal('meridian', postgresUrl, kds, database));
  expect((await read(closed, '/_problems'))['items']).toContainEqual(expect.objectContaining({ code: 'takeoverLosses' }));
  expect(await isOnline(closed, 'kuma-1')).toBe(false);
  expect(await kept([before], [zone])).toEqual([]);
  await stopPlane(closed);
  planes = planes.filter((plane) => plane !== closed);

  const ours = await started(startGlobal('meridian', postgresUrl, kds, database, OF_KUMA_3));
  await vi.waitFor(async () => expect(await isOnline(ours, 'kuma-1')).toBe(true), LONG_WAIT);
  // What only Meridian can say in the form of Kuma 3 has arrived, so the zone has compared everything else.
  await vi.waitFor(async () => expect(await missingIn(zone, ['by-name', 'old-certificate'])).toEqual([]), LONG_WAIT);
  const same = new Map([...before].filter(([, row]) => !TRANSLATED.includes(displayName(row))));
  await vi.waitFor(async () => expect(await kept([same], [zone])).toEqual([]), LONG_WAIT);
  const translated = [...(await synced(zone)).values()].filter((row) => TRANSLATED.includes(displayName(row)));
  expect(Object.fromEntries(translated.map((row) => [displayName(row), row.spec]))).toMatchObject({
    'of-one-dataplane': { targetRef: { kind: 'Dataplane', labels: { [label.displayName]: 'web-1' } } },
    nested: { to: [{ default: { hashPolicies: [{ type: 'Header' }] } }] },
  });
});

async function started(starting: Promise<ControlPlane>): Promise<ControlPlane> {
  const plane = await starting;
  planes.push(plane);
  await untilReady(plane);
  return plane;
}

function displayName({ name, labels }: TableRow): string {
  return labels[label.displayName] ?? name;
}

async function missingIn(plane: ControlPlane, names: readonly string[]): Promise<string[]> {
  const there = new Set([...(await synced(plane)).values()].map(displayName));
  return names.filter((name) => !there.has(name)).toSorted();
}

/** Inserts rows as Kuma 2.x wrote them: without labels. */
async function insert({ host, port, user, password, dbName }: PostgresConfig, rows: readonly OldRow[]): Promise<void> {
  const client = new pg.Client({ host, port, user, password, database: dbName });
  await client.connect();
  try {
    for (const { type, mesh, name, spec } of rows) {
      const owner = mesh === '' ? [null, null, null] : [mesh, '', 'Mesh'];
      await client.query(
        `insert into resources (type, mesh, name, version, spec, creation_time, modification_time, owner_name, owner_mesh, owner_type, status)
         values ($1, $2, $3, 0, $4, now(), now(), $5, $6, $7, '{}')`,
        [type, mesh, name, JSON.stringify(spec), ...owner],
      );
    }
  } finally {
    await client.end();
  }
}
