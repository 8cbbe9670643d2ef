import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fillEmptyFolder } from './embedded-folder.ts';
import { makePrivateFolder } from './private-folder.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'embedded-folder-'));
  path = join(folder, 'pg');
  await makePrivateFolder(path);
});
afterEach(() => rm(folder, { recursive: true }));

describe('the folder of a new embedded store', () => {
  it('is empty when the work ends in the middle of it, and nothing else is left', async () => {
    const stop = new AbortController();
    const filling = fillEmptyFolder(path, stop.signal);
    const ended = expect(filling).rejects.toThrow('this control plane stops');
    await expect.poll(() => existsSync(join(folder, 'pg.new/PG_VERSION'))).toBe(true);
    stop.abort();
    await ended;
    expect(await readdir(folder, { recursive: true })).toEqual(['pg']);
  });

  it('stays as it is when something is in it', async () => {
    await writeFile(join(path, 'PG_VERSION'), '17');
    await fillEmptyFolder(path, new AbortController().signal);
    expect(await readdir(folder, { recursive: true })).toEqual(['pg', 'pg/PG_VERSION']);
  });
});
