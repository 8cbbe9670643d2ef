import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { requireReadable } from './readable-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'meridian-files-'));
const there = join(folder, 'there');
writeFileSync(there, '');

it('accepts readable files and unset keys', async () => {
  await expect(requireReadable({ 'a.file': there, 'b.file': '' })).resolves.toBeUndefined();
});

it('names every key with an unreadable file, in the order of the keys', async () => {
  const files = { 'a.caFile': join(folder, 'none'), 'a.file': there, 'a.tokenFile': folder };
  await expect(requireReadable(files)).rejects.toMatchObject({
    code: 'config',
    message: `a.caFile: ${join(folder, 'none')} cannot be read (ENOENT); a.tokenFile: ${folder} is a folder; give a file`,
  });
});
