// Files for secrets: only their owner can read them, and they are written atomically. So are the certificates beside them, which all can read.
import { chown, link, lstat, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { MeridianError, messageOf } from '../../base/errors.ts';

export type PrivateFile = {
  /** The option that named the file, for errors. */
  readonly option: string;
  readonly path: string;
  /** Whether an existing file is replaced. */
  readonly replace: boolean;
  /** Whether every user of the machine may read it: a certificate, not its key. */
  readonly isPublic?: boolean;
};

const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o644;

/**
 * Call this before the secret is created: an issued token that cannot be written is lost.
 * @throws MeridianError `invalid` that names the option, if the file must not be written
 */
export async function requireWritable({ option, path, replace }: PrivateFile): Promise<void> {
  const found = await lstat(await targetOf(path)).catch(() => null);
  if (found === null) return;
  if (!found.isFile()) throw refusal(option, path, 'it is not a file');
  if (!replace) throw refusal(option, path, 'the file exists; --force replaces it');
}

/**
 * Writes the text with mode 0600, or 0644 where it is public. A reader sees the old file or the new one, never a part. A replaced file keeps its owner, who may
 * be the user of a control plane. A symbolic link stays, and its target is written.
 * @throws MeridianError `invalid` that names the option, if the file cannot or must not be written
 */
export async function writePrivateFile(file: PrivateFile, text: string): Promise<void> {
  await requireWritable(file);
  const target = await targetOf(file.path);
  const draft = `${target}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: file.isPublic === true ? PUBLIC_MODE : PRIVATE_MODE, flag: 'wx' });
    await keepOwner(draft, target);
    // `link` fails if another process has created the file since.
    await (file.replace ? rename(draft, target) : link(draft, target));
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why = code === 'EEXIST' ? 'the file exists; --force replaces it' : messageOf(cause);
    throw refusal(file.option, file.path, why, cause);
  } finally {
    await rm(draft, { force: true });
  }
}

async function keepOwner(draft: string, target: string): Promise<void> {
  const [now, before] = await Promise.all([lstat(draft), lstat(target).catch(() => null)]);
  if (before !== null && (before.uid !== now.uid || before.gid !== now.gid)) await chown(draft, before.uid, before.gid);
}

async function targetOf(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}

function refusal(option: string, path: string, why: string, cause?: unknown): MeridianError {
  return new MeridianError('invalid', `${option}: cannot write ${path}: ${why}`, { cause });
}
