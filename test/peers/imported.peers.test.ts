// A Kuma zone moves from a global with the rows of a real Kubernetes global to a Meridian global into which the dump was imported. The old
// global is played by a Kuma global on Universal with the same rows, because a Kuma 3 does not run one on Kubernetes.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, expect, inject, it, vi } from 'vitest';
import { importPlan } from '../../src/import/import-plan.ts';
import { displayNameOf } from '../../src/resource/labels.ts';
import { isClusterWide, storedNameOf } from '../../src/resource/stored-name.ts';
import { findType } from '../../src/resource/type-registry.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { rowOfKubernetes } from '../../src/takeover/read-dump.ts';
import type { TakenRow } from '../../src/takeover/taken-row.ts';
import { dumpedObjects, DUMP_FILES } from '../import/kubernetes-global.ts';
import { MERIDIAN, type ControlPlane } from '../support/control-plane.ts';
import { controlPlaneEnv } from '../support/control-plane-env.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { kept, synced } from './kept-rows.ts';
import { KUMA_TEMPLATE } from './kuma-store.ts';
import { isOnline, LONG_WAIT, startGlobal, startZone, stopPlane, untilReady } from './mixed-fleet.ts';
import type { TableRow } from './table.ts';

const run = promisify(execFile);
const postgresUrl = inject('postgresUrl');
const ZONE = 'east';
/** It would create generators of its own beside those of the rows. */
const NO_DEFAULTS = { KUMA_DEFAULTS_SKIP_HOSTNAME_GENERATORS: 'true' };
const objects = dumpedObjects();
const KINDS = new Map([[ZONE, '3.x'] as const, ['west', '3.x'] as const]);
const every = importPlan(objects, { accept: [], kinds: KINDS });

let planes: ControlPlane[] = [];

afterEach(async () => {
  await Promise.all(planes.map(stopPlane));
  planes = [];
});

it('a Kuma zone keeps every row that the check lists as unchanged, and gets the others as it says', async () => {
  const kds = await freePort();
  const address = `127.0.0.1:${String(kds)}`;
  const old = await cloneDatabase(postgresUrl, KUMA_TEMPLATE);
  await insert(old, rowsOfGlobal());
  const kuma = await started(startGlobal('kuma', postgresUrl, kds, old, NO_DEFAULTS));
  const zone = await started(startZone('kuma', postgresUrl, ZONE, address));
  await vi.waitFor(async () => expect(await isOnline(kuma, ZONE)).toBe(true), LONG_WAIT);
  await vi.waitFor(
    async () => expect(await namesIn(zone)).toEqual(expect.arrayContaining(['dots.in.name', 'hg', 'same'])),
    LONG_WAIT,
  );
  const before = await synced(zone);

  const database = await cloneDatabase(postgresUrl);
  const kinds = [...new Set(every.losses.map(({ kind }) => kind))].join(',');
  const args = [...DUMP_FILES.flatMap((file) => ['-f', file]), '--zone', `${ZONE}=3.x`, '--zone', 'west=3.x'];
  await run(MERIDIAN, ['import', 'kuma-kubernetes', ...args, '--accept', kinds || 'none'], {
    env: { ...process.env, ...controlPlaneEnv(database, 0) },
  });
  await stopPlane(kuma);
  planes = planes.filter((plane) => plane !== kuma);
  const ours = await started(startGlobal('meridian', postgresUrl, kds, database));
  await vi.waitFor(async () => expect(await isOnline(ours, ZONE)).toBe(true), LONG_WAIT);
  await vi.waitFor(async () => expect(await namesIn(zone)).toContain('mesh-timeout-all-m3-inbound'), LONG_WAIT);

  const [view] = every.zones;
  if (view === undefined) throw new Error('the plan has no view of a zone');
  const differing = new Set([...view.changed, ...view.removed].map(({ type, name }) => `${type} ${name}`));
  const same = new Map([...before].filter(([, row]) => !differing.has(`${row.type} ${displayNameOf(row)}`)));
  expect(same.size).toBeGreaterThan(25);
  await vi.waitFor(async () => expect(await kept([same], [zone])).toEqual([]), LONG_WAIT);
  const names = await namesIn(zone);
  expect(names).toEqual(expect.arrayContaining(view.added.map(({ name }) => name)));
  expect(view.removed.filter(({ name }) => names.includes(name))).toEqual([]);
});

async function started(starting: Promise<ControlPlane>): Promise<ControlPlane> {
  const plane = await starting;
  planes.push(plane);
  await untilReady(plane);
  return plane;
}

async function namesIn(plane: ControlPlane): Promise<string[]> {
  return [...(await synced(plane)).values()].map((row: TableRow) => displayNameOf(row));
}

/** The rows that the Kubernetes global wrote, under the names that they have on Universal. */
function rowsOfGlobal(): TakenRow[] {
  const own = new Set(every.rows.map(({ type }) => type));
  return objects.flatMap((object) => {
    const row = rowOfKubernetes(object);
    const info = row === null ? undefined : findType(row.type);
    if (row === null || info === undefined || info.isInsight || !own.has(row.type) || row.labels['kuma.io/origin'] === 'zone')
      return [];
    const namespace = isClusterWide(info) || info.kds.skipHash ? '' : (row.labels['k8s.kuma.io/namespace'] ?? '');
    const name = storedNameOf({ displayName: displayNameOf(row), namespace });
    return name.length > 253 ? [] : [{ ...row, name }];
  });
}

/** Owners come first. */
async function insert({ host, port, user, password, dbName }: PostgresConfig, rows: readonly TakenRow[]): Promise<void> {
  const client = new pg.Client({ host, port, user, password, database: dbName });
  await client.connect();
  try {
    for (const { type, mesh, name, spec, labels } of rows.toSorted(
      (a, b) => Number(b.type === 'Mesh') - Number(a.type === 'Mesh'),
    )) {
      const owner = mesh === '' || type === 'Secret' ? [null, null, null] : [mesh, '', 'Mesh'];
      await client.query(
        `insert into resources (type, mesh, name, version, spec, creation_time, modification_time, owner_name, owner_mesh, owner_type, labels, status)
         values ($1, $2, $3, 0, $4, now(), now(), $5, $6, $7, $8, '{}')`,
        [type, mesh, name, JSON.stringify(spec), ...owner, JSON.stringify(labels)],
      );
    }
  } finally {
    await client.end();
  }
}
