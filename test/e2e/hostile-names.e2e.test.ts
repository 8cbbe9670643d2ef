// Names with special characters of SQL or of the wire are synced like any other. Names with special characters of paths or terminals
// are not synced, and delay nothing else.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { hasMesh } from '../chaos/steady-writes.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

const NAMES = ['a.b', 'a..b', '50_', 'default.', '-x', 'Ü', 'null', '__proto__'];
/** Names that REST refuses, and only psql can write. */
const REFUSED = ['a/b', `"x'`, '../../x', '50%_\\', '$1; --', ' ', '', 'ü\u2028', 'a\nb', '\u0001', '\u202ex'];

/** A type, where it is written, and the name of its copy on the other side; secrets travel under their own (kds-wire 3). */
type Case = {
  readonly type: string;
  readonly mesh: string;
  readonly from: 'global' | 'east';
  readonly nameOfCopy: (name: string) => string;
  readonly specOf: (n: number) => object;
};

const same = (name: string): string => name;
const cases: readonly Case[] = [
  { type: 'Secret', mesh: 'default', from: 'global', nameOfCopy: same, specOf: secret },
  { type: 'GlobalSecret', mesh: '', from: 'global', nameOfCopy: same, specOf: secret },
  ...[
    { type: 'MeshTimeout', from: 'global' as const, zone: undefined },
    { type: 'Workload', from: 'east' as const, zone: 'east' },
  ].map(({ type, from, zone }) => ({
    ...{ type, mesh: 'default', from, specOf: (n: number) => ({ n }) },
    nameOfCopy: (name: string) => hashName({ mesh: 'default', name, zone }),
  })),
];

function secret(n: number): object {
  return { data: Buffer.from(String(n)).toString('base64') };
}

describe.each(cases)('a $type', ({ type, mesh, from, nameOfCopy, specOf }) => {
  let fleet: Fleet;
  let here: ControlPlane;
  let there: ControlPlane;
  const written = new Map<string, number>();

  beforeAll(async () => {
    fleet = await theFleet();
    const east = fleet.zones[0] as ControlPlane;
    [here, there] = from === 'global' ? [fleet.global, east] : [east, fleet.global];
  });

  async function write(name: string, n: number): Promise<void> {
    written.set(name, n);
    await here.psql.query(
      `insert into resources (type, mesh, name, version, spec) values ($1, $2, $3, 0, $4)
       on conflict (name, mesh, type) do update set spec = excluded.spec`,
      [type, mesh, name, JSON.stringify(specOf(n))],
    );
  }

  async function remove(name: string): Promise<void> {
    written.delete(name);
    await here.psql.query(`delete from resources where type = $1 and mesh = $2 and name = $3`, [type, mesh, name]);
  }

  /** The copies, by the name of the original that each must be of. */
  async function copies(): Promise<Record<string, unknown>> {
    const nameOf = new Map(NAMES.map((name) => [nameOfCopy(name), name]));
    const rows = [...(await there.rows(type))].filter(([name, row]) => nameOf.has(name) && row.mesh === mesh);
    return Object.fromEntries(rows.map(([name, { spec }]) => [nameOf.get(name) ?? '', spec]));
  }

  async function expectCopies(): Promise<void> {
    const expected = Object.fromEntries([...written].map(([name, n]) => [name, specOf(n)]));
    await expect.poll(copies, WAIT).toEqual(expected);
  }

  /** Waits until the zone has counted the proxies of each Workload, and global has the count: the write of a person is then the last. */
  async function expectComputed(): Promise<void> {
    if (type !== 'Workload') return;
    const uncounted = async (): Promise<string[]> => {
      const [mine, theirs] = [await here.rows(type), await there.rows(type)];
      return [...written.keys()].filter((name) => {
        const counts = [mine.get(name)?.status, theirs.get(nameOfCopy(name))?.status];
        return counts.some((status) => (status as JsonObject | null | undefined)?.['dataplaneProxies'] === undefined);
      });
    };
    await expect.poll(uncounted, WAIT).toEqual([]);
  }

  it('with any valid name is created, changed and removed on the other side', async () => {
    for (const name of NAMES) await write(name, 1);
    await expectCopies();
    await expectComputed();
    for (const name of NAMES) await write(name, 2);
    await expectCopies();
    for (const name of NAMES) {
      await remove(name);
      await expectCopies();
    }
  });

  it('with an impossible name is not sent, and the others are', async () => {
    for (const name of REFUSED) await write(name, 1);
    for (const name of NAMES) await write(name, 1);
    for (const name of REFUSED) written.delete(name);
    await expectCopies();
    const copied = [...(await there.rows(type)).keys()];
    expect(copied.filter((name) => REFUSED.map(nameOfCopy).includes(name))).toEqual([]);
    for (const name of [...REFUSED, ...NAMES]) await remove(name);
    await expectCopies();
  });

  it('with any valid name is resumed: changes are written, removals are applied, other rows stay unchanged', async () => {
    for (const name of NAMES) await write(name, 3);
    await expectCopies();
    await expectComputed();
    const kept = NAMES.filter((_, index) => index % 3 === 2);
    const versions = async (): Promise<unknown> => {
      const query = `select name, version from resources where type = $1 and name = any($2) order by name`;
      return (await there.psql.query(query, [type, kept.map(nameOfCopy)])).rows;
    };
    const before = await versions();
    const east = fleet.zones[0] as ControlPlane;
    await east.end('SIGKILL');
    for (const [index, name] of NAMES.entries())
      if (index % 3 === 0) await write(name, 4);
      else if (index % 3 === 1) await remove(name);
    east.start();
    await expectCopies();
    expect(await versions()).toEqual(before);
    for (const name of NAMES) await remove(name);
    await expectCopies();
  });
});

let started: Promise<Fleet> | undefined;

/** One for all types. */
function theFleet(): Promise<Fleet> {
  started ??= startFleet(inject('postgresUrl'), ['east'], { isQuiet: true }).then(async (fleet) => {
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
    return fleet;
  });
  return started;
}

afterAll(async () => (await started)?.stop());
