// A secret on disk: readable only for its owner, complete, and it replaces another file only with --force.
import { chmod, chown, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireWritable, writePrivateFile } from './private-file.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-private-file-'));
});
afterEach(() => rm(folder, { recursive: true }));

function at(name: string, replace = false) {
  return { option: '--out', path: join(folder, name), replace };
}

async function modeOf(name: string): Promise<number> {
  return (await stat(join(folder, name))).mode & 0o777;
}

describe('a private file', () => {
  it('has mode 0600 under every umask and holds the text, and no temporary file remains', async () => {
    const before = process.umask(0);
    try {
      await writePrivateFile(at('a'), 'secret');
    } finally {
      process.umask(before);
    }
    expect(await modeOf('a')).toBe(0o600);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('secret');
    expect(await readdir(folder)).toEqual(['a']);
  });

  it('has mode 0644 where it is public', async () => {
    const before = process.umask(0o022);
    try {
      await writePrivateFile({ ...at('cert'), isPublic: true }, 'certificate');
    } finally {
      process.umask(before);
    }
    expect(await modeOf('cert')).toBe(0o644);
  });

  it('replaces a file only with the option', async () => {
    await writeFile(join(folder, 'a'), 'old');
    await chmod(join(folder, 'a'), 0o644);
    await expect(requireWritable(at('a'))).rejects.toThrow('--out: cannot write');
    await expect(writePrivateFile(at('a'), 'new')).rejects.toThrow('--force');
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('old');
    await writePrivateFile(at('a', true), 'new');
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('new');
    expect(await modeOf('a')).toBe(0o600);
    expect(await readdir(folder)).toEqual(['a']);
  });

  it.runIf(process.getuid?.() === 0)('keeps the owner of the file that it replaces', async () => {
    await writeFile(join(folder, 'a'), 'old');
    await chown(join(folder, 'a'), 1234, 4321);
    await writePrivateFile(at('a', true), 'new');
    expect(await stat(join(folder, 'a'))).toMatchObject({ uid: 1234, gid: 4321 });
    expect(await modeOf('a')).toBe(0o600);
  });

  it('is written to the target of a symbolic link', async () => {
    await writeFile(join(folder, 'a'), 'old');
    await symlink('a', join(folder, 'link'));
    await expect(writePrivateFile(at('link'), 'new')).rejects.toThrow('--force');
    await writePrivateFile(at('link', true), 'new');
    expect(await readlink(join(folder, 'link'))).toBe('a');
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('new');
  });

  it('is not written to a folder, a device or a missing folder', async () => {
    await mkdir(join(folder, 'a'));
    await expect(writePrivateFile(at('a', true), 'x')).rejects.toThrow('it is not a file');
    await expect(writePrivateFile({ option: '--out', path: '/dev/null', replace: true }, 'x')).rejects.toThrow(
      'it is not a file',
    );
    await expect(writePrivateFile(at('none/a'), 'x')).rejects.toThrow('ENOENT');
    expect(await readdir(folder)).toEqual(['a']);
  });
});
