import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fillEmptyFolder, hasStore } from './embedded-folder.ts';
import { makePrivateFolder } from './private-folder.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'embedded-folder-'));
  path = join(folder, 'pg');
  await makePrivateFolder(path);
});
afterEach(() => rm(folder, { recursive: true }));

// test/store/pglite.test.ts makes a whole one.
describe('the folder of a new embedded store', () => {
  it('is empty when the work ends in the middle of it, and nothing else is left', async () => {
    const stop = new AbortController();
    const filling = fillEmptyFolder(path, stop.signal);
    const ended = expect(filling).rejects.toThrow('this control plane stops');
    await expect.poll(() => existsSync(join(path, 'meridian-new/PG_VERSION'))).toBe(true);
    stop.abort();
    await ended;
    expect(await readdir(folder, { recursive: true })).toEqual(['pg']);
  });

  it('stays as it is when something is in it', async () => {
    await writeFile(join(path, 'PG_VERSION'), '17');
    await fillEmptyFolder(path, new AbortController().signal);
    expect(await readdir(folder, { recursive: true })).toEqual(['pg', 'pg/PG_VERSION']);
  });

  it('has no store before it exists, and is not missing if it cannot be read', async () => {
    expect([await hasStore(path), await hasStore(join(folder, 'none'))]).toEqual([false, false]);
    await writeFile(join(folder, 'file'), '');
    await expect(hasStore(join(folder, 'file'))).rejects.toThrow('ENOTDIR');
  });

  it.each([
    ['before the first move', []],
    ['between two moves', ['base']],
    ['after the last move', ['base', 'global', 'PG_VERSION']],
  ])('is completed when a process ended %s', async (_, moved) => {
    await mkdir(join(path, 'meridian-made/base/1'), { recursive: true });
    await mkdir(join(path, 'meridian-made/global'));
    await writeFile(join(path, 'meridian-made/PG_VERSION'), '17');
    await writeFile(join(path, 'meridian.lock'), '1');
    for (const name of moved) await rename(join(path, 'meridian-made', name), join(path, name));
    await fillEmptyFolder(path, new AbortController().signal);
    expect((await readdir(path, { recursive: true })).toSorted()).toEqual([
      'PG_VERSION',
      'base',
      'base/1',
      'global',
      'meridian.lock',
    ]);
  });
});
