import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lockFolder } from './folder-lock.ts';

/** The lock, and that of an earlier version, from the folder above. */
const FILES = ['pg/meridian.lock', 'pg.lock'];

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-lock-'));
  path = join(folder, 'pg');
  await mkdir(path);
});

afterEach(async () => rm(folder, { recursive: true }));

it('one of many concurrent callers gets the lock, and another one after its release', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(path)));
  const given = tries.filter((one) => one.status === 'fulfilled');
  expect(given).toHaveLength(1);
  await given[0]?.value();
  const unlock = await lockFolder(path);
  await unlock();
  expect([await readdir(folder), await readdir(path)]).toEqual([['pg'], []]);
});

it('the lock is released also where a person has removed its files', async () => {
  const unlock = await lockFolder(path);
  for (const file of FILES) await rm(join(folder, file));
  await unlock();
  await (
    await lockFolder(path)
  )();
});

/** Tries to lock on command, prints the result, and stays until its input ends. */
const CONTENDER = `
  const { lockFolder } = await import(process.argv[1]);
  process.stdout.write('r');
  process.stdin.once('data', () => lockFolder(process.argv[2]).then(() => process.stdout.write('1'), () => process.stdout.write('0')));
`;

it('exactly one process takes over an abandoned lock', async () => {
  for (let round = 0; round < 4; round += 1) {
    const left = join(folder, `pg-${String(round)}`);
    await mkdir(left);
    await writeFile(join(left, 'meridian.lock'), '4194303');
    const module = join(import.meta.dirname, 'folder-lock.ts');
    const contenders = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', CONTENDER, module, left]),
    );
    await Promise.all(contenders.map(({ stdout }) => once(stdout, 'data')));
    const answers = contenders.map(async ({ stdout, stdin }) => {
      const answer = once(stdout, 'data') as Promise<Buffer[]>;
      stdin.write('go');
      return String((await answer)[0]);
    });
    expect((await Promise.all(answers)).filter((answer) => answer === '1')).toHaveLength(1);
    for (const { stdin } of contenders) stdin.end();
    await Promise.all(contenders.map((contender) => once(contender, 'exit')));
  }
});

it('the lock file names its process as soon as it exists', async () => {
  const looks: string[] = [];
  const look = async (): Promise<void> => {
    while (looks.length === 0) {
      const text = await readFile(join(path, 'meridian.lock'), 'utf8').catch(() => null);
      if (text !== null) looks.push(text);
    }
  };
  const looking = look();
  const unlock = await lockFolder(path);
  await looking;
  expect(looks[0]).toContain(String(process.pid));
  await unlock();
});

it.each(FILES)('a lock with our own process id is taken over, as after the restart of a container: %s', async (file) => {
  await writeFile(join(folder, file), `${String(process.pid)} ${hostname()}`);
  const unlock = await lockFolder(path);
  await expect(lockFolder(path)).rejects.toMatchObject({ code: 'config' });
  await unlock();
});

it.each([
  ['our own process id', String(process.pid)],
  ['the id of no process', '4194303'],
])('a lock of another container with %s is not taken over', async (_, pid) => {
  for (const file of FILES) {
    await writeFile(join(folder, file), `${pid} another-container`);
    await expect(lockFolder(path)).rejects.toThrow(/another-container.*remove/);
    expect(await readFile(join(folder, file), 'utf8')).toBe(`${pid} another-container`);
    await rm(join(folder, file));
  }
  expect([await readdir(folder), await readdir(path)]).toEqual([['pg'], []]);
  await (
    await lockFolder(path)
  )();
});
