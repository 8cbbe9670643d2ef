// Meridian takes over the tables of a Kuma control plane, and back. The peers keep running.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { controlPlaneEnv } from '../support/control-plane-env.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { MERIDIAN, type ControlPlane } from '../support/control-plane.ts';
import { documentedBlocks } from '../support/documented-blocks.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { inZone, MESH, pathOf, readCorpus, type Document } from './corpus.ts';
import { KUMA_TEMPLATE } from './kuma-store.ts';
import { Kumactl } from './kumactl.ts';
import { isOnline, LONG_WAIT, startGlobal, startZone, stopPlane, untilReady, type Maker } from './mixed-fleet.ts';
import { request, write } from './rest.ts';
import { kept, migrate, synced } from './kept-rows.ts';
import { identityOf, readTable, type TableRow } from './table.ts';

const run = promisify(execFile);
const postgresUrl = inject('postgresUrl');

let planes: ControlPlane[] = [];
let kds: number;
let address: string;

beforeEach(async () => {
  planes = [];
  kds = await freePort();
  address = `127.0.0.1:${String(kds)}`;
});

afterEach(async () => {
  await Promise.all(planes.map(stopPlane));
});

/** Policies that Meridian alone can read as they are stored. */
const OWN_SPELLINGS: readonly (readonly [path: string, body: JsonObject & { readonly name: string }])[] = [
  [
    'meshtimeouts/by-name',
    {
      ...{ type: 'MeshTimeout', mesh: MESH, name: 'by-name' },
      spec: { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: { idleTimeout: '5s' } }] },
    },
  ],
  [
    'meshloadbalancingstrategies/nested',
    {
      ...{ type: 'MeshLoadBalancingStrategy', mesh: MESH, name: 'nested' },
      spec: {
        to: [
          {
            targetRef: { kind: 'MeshService', name: 'cart' },
            default: {
              loadBalancer: { type: 'RingHash', ringHash: { hashPolicies: [{ type: 'Header', header: { name: 'x-user' } }] } },
            },
          },
        ],
      },
    },
  ],
];

function namesOf(rows: ReadonlyMap<string, TableRow>): string[] {
  return [...rows.values()].map(({ name, labels }) => labels[label.displayName] ?? name);
}

describe('the tables of a global', () => {
  it('of Kuma are taken over by Meridian and given back, while its zones keep every row', async () => {
    const before = await started(startGlobal('kuma', postgresUrl, kds));
    const zones = [await zoneOf('kuma', 'kuma-1'), await zoneOf('meridian', 'meridian-1')];
    await fill(before, documentsOf('global'), zones);
    const rows = await Promise.all(zones.map(synced));

    await stopPlane(before);
    await migrate(before.database);
    const ours = await started(startGlobal('meridian', postgresUrl, kds, before.database));
    await followedBy(ours, zones, 'under-meridian');
    await vi.waitFor(async () => expect(await kept(rows, zones)).toEqual([]), LONG_WAIT);

    await stopPlane(ours);
    await ours.psql.query(documentedBlocks('kuma-migration.md', 'Back to Kuma', 'sql')[0]);
    const history = await versionsIn(ours);
    await ours.psql.end();
    const again = await started(startGlobal('kuma', postgresUrl, kds, before.database));
    await followedBy(again, zones, 'under-kuma');
    await vi.waitFor(async () => expect(await kept(rows, zones)).toEqual([]), LONG_WAIT);
    for (const document of documentsOf('global'))
      expect.soft((await request(again, 'GET', pathOf(document))).status, pathOf(document)).toBe(200);
    expect(await versionsIn(again)).toEqual(history);
  });

  it('of Meridian are copied to a Kuma with the documented command, while its zones keep every row but the MeshTrusts of others', async () => {
    const ours = await started(startGlobal('meridian', postgresUrl, kds));
    const zones = [await zoneOf('kuma', 'kuma-1'), await zoneOf('meridian', 'meridian-1')];
    await fill(ours, documentsOf('global'), zones);
    const rows = (await Promise.all(zones.map(synced))).map(withoutTrustOfZones);

    await stopPlane(ours);
    const kuma = await started(startGlobal('kuma', postgresUrl, kds, await copyToKuma(ours)));
    await followedBy(kuma, zones, 'under-kuma');
    await vi.waitFor(async () => expect(await kept(rows, zones)).toEqual([]), LONG_WAIT);
    for (const document of documentsOf('global'))
      expect.soft((await request(kuma, 'GET', pathOf(document))).status, pathOf(document)).toBe(200);
  });

  it('of Meridian in spellings of its own are rewritten by the documented command, and no Kuma zone refuses one of them', async () => {
    const ours = await started(startGlobal('meridian', postgresUrl, kds));
    const zone = await zoneOf('kuma', 'kuma-1');
    await write(ours, `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
    for (const [path, body] of OWN_SPELLINGS) await write(ours, `/meshes/${MESH}/${path}`, body);
    const names = OWN_SPELLINGS.map(([, { name }]) => name);
    await vi.waitFor(async () => expect(namesOf(await synced(zone))).toEqual(expect.arrayContaining(names)), LONG_WAIT);
    const rows = await synced(zone);

    await stopPlane(ours);
    const env = { ...process.env, ...controlPlaneEnv(ours.database, 0) };
    await run(MERIDIAN, ['takeover', 'return', '--write'], { env });
    const kuma = await started(startGlobal('kuma', postgresUrl, kds, await copyToKuma(ours)));
    await followedBy(kuma, [zone], 'under-kuma');
    await vi.waitFor(async () => expect(await kept([rows], [zone])).toEqual([]), LONG_WAIT);
    expect(kuma.lastWords()).not.toContain('resource was rejected');
    const { rows: insights } = await kuma.psql.query<{ spec: string }>("select spec from resources where type = 'ZoneInsight'");
    const rejections = insights.flatMap(({ spec }) => [...spec.matchAll(/"responsesRejected": *"([1-9]\d*)"/g)]);
    expect(rejections).toEqual([]);
  });
});

describe('the resources of a global in memory', () => {
  it('of Kuma are exported with the documented profile, with policies and secrets, and applied to Meridian', async () => {
    const [copy] = documentedBlocks('kuma-migration.md', 'From an in-memory store', 'sh');
    const profile = /--profile (\S+)/.exec(copy)?.[1] ?? '';
    const before = await started(startGlobal('kuma', postgresUrl, kds));
    await fill(before, documentsOf('global'), []);
    const kumactl = await Kumactl.of(before);
    const file = join(temporaryFolder(), 'kuma.yaml');
    writeFileSync(file, await kumactl.run('export', '--profile', profile));
    kumactl.close();

    const ours = await started(startGlobal('meridian', postgresUrl, await freePort()));
    await run(MERIDIAN, ['apply', '-f', file, '--address', `http://127.0.0.1:${String(ours.api)}`]);
    for (const document of documentsOf('global'))
      expect.soft((await request(ours, 'GET', pathOf(document))).status, pathOf(document)).toBe(200);
    const keys = [...(await synced(before)).keys()].filter((key) => /signing-key/.test(key));
    const there = await synced(ours);
    expect(keys.filter((key) => !there.has(key))).toEqual([]);
  });
});

describe('the tables of a zone', () => {
  it.each<Maker>(['meridian', 'kuma'])(
    'of Kuma are taken over by Meridian and given back, while a %s global keeps every row',
    async (maker) => {
      const global = await started(startGlobal(maker, postgresUrl, kds));
      await write(global, `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
      const before = await zoneOf('kuma', 'east');
      await fill(before, documentsOf('east'), [global]);
      const rows = [await synced(global)];

      await stopPlane(before);
      await migrate(before.database);
      const ours = await started(startZone('meridian', postgresUrl, 'east', address, before.database));
      await followedBy(ours, [global], 'under-meridian');
      await vi.waitFor(async () => expect(await kept(rows, [global])).toEqual([]), LONG_WAIT);

      await stopPlane(ours);
      // Global knows the store by the id that Meridian has shown, and Kuma shows none.
      if (maker === 'meridian') expect((await request(global, 'POST', '/zones/east/_adopt', { forget: true })).status).toBe(200);
      const again = await started(startZone('kuma', postgresUrl, 'east', address, before.database));
      await followedBy(again, [global], 'under-kuma');
      await vi.waitFor(async () => expect(await kept(rows, [global])).toEqual([]), LONG_WAIT);
    },
  );
});

async function started(starting: Promise<ControlPlane>): Promise<ControlPlane> {
  const plane = await starting;
  planes.push(plane);
  await untilReady(plane);
  return plane;
}

async function zoneOf(maker: Maker, name: string): Promise<ControlPlane> {
  return await started(startZone(maker, postgresUrl, name, address));
}

/** The documents that may be written on `member`: `global` or a zone. */
function documentsOf(member: string): Document[] {
  const side = member === 'global' ? 'global' : 'zone';
  const writable = readCorpus().filter(({ info }) => info.writers === 'both' || info.writers === side);
  return side === 'global' ? writable : writable.map((document) => inZone(document, member));
}

/** Writes the mesh, where it may be, and the documents, and waits until the others have what is for them. */
async function fill(writer: ControlPlane, documents: readonly Document[], others: readonly ControlPlane[]): Promise<void> {
  const mesh = { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] };
  if (writer.command === 'global') await write(writer, `/meshes/${MESH}`, mesh);
  await vi.waitFor(async () => expect((await writer.rows('Mesh')).has(MESH)).toBe(true), LONG_WAIT);
  for (const document of documents) await write(writer, pathOf(document), document.body);
  const travels = ({ info: { kds } }: Document): boolean => (writer.command === 'global' ? kds.globalToZone : kds.zoneToGlobal);
  const names = documents.filter(travels).map(({ info, name }) => `${info.name} ${name}`);
  for (const other of others)
    await vi.waitFor(async () => {
      const there = new Set(
        (await readTable(other))
          .map((row) => identityOf(row).split(' '))
          .map(([type, , , name]) => `${type ?? ''} ${name ?? ''}`),
      );
      expect(names.filter((name) => !there.has(name))).toEqual([]);
    }, LONG_WAIT);
}

/** Writes a new policy and waits until all others have it: by then they have compared everything else. */
async function followedBy(writer: ControlPlane, others: readonly ControlPlane[], name: string): Promise<void> {
  const [document] = documentsOf(writer.command === 'global' ? 'global' : 'east').filter(
    ({ info }) => info.name === 'MeshTimeout',
  );
  if (document === undefined) throw new Error('the corpus has no MeshTimeout');
  const marker = { ...document, name, body: { ...document.body, name } };
  await write(writer, pathOf(marker), marker.body);
  for (const other of others)
    await vi.waitFor(async () => {
      const names = (await readTable(other)).filter(({ type }) => type === 'MeshTimeout').map((row) => identityOf(row));
      expect(
        names.some((identity) => identity.endsWith(` ${name}`)),
        other.lastWords(),
      ).toBe(true);
    }, LONG_WAIT);
  if (writer.command === 'global')
    for (const { env } of others) {
      const zone = env['MERIDIAN_MULTIZONE_ZONE_NAME'] ?? env['KUMA_MULTIZONE_ZONE_NAME'] ?? '';
      await vi.waitFor(async () => expect(await isOnline(writer, zone)).toBe(true), LONG_WAIT);
    }
}

/** A Kuma global keeps the MeshTrusts of zones to itself, so its zones lose those of the others. */
function withoutTrustOfZones(rows: ReadonlyMap<string, TableRow>): Map<string, TableRow> {
  return new Map([...rows].filter(([, { type, labels }]) => !(type === 'MeshTrust' && 'kuma.io/zone' in labels)));
}

/** How many versions the history has. */
async function versionsIn({ psql }: ControlPlane): Promise<number> {
  const { rows } = await psql.query<{ count: number }>('select count(*)::integer as count from meridian_history');
  return rows[0]?.count ?? 0;
}

/** A database of Kuma with the columns that docs/kuma-migration.md names copied from ours. */
async function copyToKuma({ database }: ControlPlane): Promise<PostgresConfig> {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/kuma-migration.md'), 'utf8');
  const columns = /\\copy resources \(([^)]+)\) from/.exec(guide)?.[1] ?? '';
  const kuma = await cloneDatabase(postgresUrl, KUMA_TEMPLATE);
  await copyRows(database, kuma, columns);
  return kuma;
}

async function copyRows(from: PostgresConfig, to: PostgresConfig, columns: string): Promise<void> {
  const clientOf = async ({ host, port, user, password, dbName }: PostgresConfig): Promise<pg.Client> => {
    const client = new pg.Client({ host, port, user, password, database: dbName });
    await client.connect();
    return client;
  };
  const [source, target] = await Promise.all([clientOf(from), clientOf(to)]);
  try {
    const { rows } = await source.query<{ all: string }>(
      `select json_agg(row_to_json(r))::text as all from (select ${columns} from resources) r`,
    );
    await target.query(`insert into resources (${columns}) select ${columns} from json_populate_recordset(null::resources, $1)`, [
      rows[0]?.all,
    ]);
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}
