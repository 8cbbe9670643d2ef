import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { requireReadable } from './readable-files.ts';

/** A folder with one file. */
function folderOfOne(): { folder: string; there: string } {
  const folder = temporaryFolder();
  const there = join(folder, 'there');
  writeFileSync(there, '');
  return { folder, there };
}

it('accepts readable files and unset keys', async () => {
  const { there } = folderOfOne();
  await expect(requireReadable({ 'a.file': there, 'b.file': '' })).resolves.toBeUndefined();
});

it('names every key with an unreadable file, in the order of the keys', async () => {
  const { folder, there } = folderOfOne();
  const files = { 'a.caFile': join(folder, 'none'), 'a.file': there, 'a.tokenFile': folder };
  await expect(requireReadable(files)).rejects.toMatchObject({
    code: 'config',
    message: `a.caFile: ${join(folder, 'none')} cannot be read (ENOENT); a.tokenFile: ${folder} is a folder; give a file`,
  });
});
