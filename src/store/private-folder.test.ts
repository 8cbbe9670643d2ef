// The access rules for the folder of an embedded store.
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePrivateFolder } from './private-folder.ts';

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'private-folder-'))));
afterEach(() => rm(root, { recursive: true }));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('the folder of an embedded store', () => {
  it('is created for its owner only, with its parent folders', async () => {
    await makePrivateFolder(join(root, 'work/global/pg'));
    for (const path of ['work', 'work/global', 'work/global/pg']) expect(await modeOf(join(root, path)), path).toBe(0o700);
    await makePrivateFolder(join(root, 'work/global/pg'));
  });

  it.each([0o755, 0o750, 0o701, 0o770, 0o777])('is refused when others may use it (%o)', async (mode) => {
    const path = join(root, 'pg');
    await makePrivateFolder(path);
    await chmod(path, mode);
    await expect(makePrivateFolder(path)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining(`run: chmod -R go= "${path}"`) as string,
    });
    await expect(makePrivateFolder(path)).rejects.toThrow(`(its mode is 0${mode.toString(8)})`);
    expect(await modeOf(path)).toBe(mode);
    await chmod(path, 0o700);
    await makePrivateFolder(path);
  });
});
