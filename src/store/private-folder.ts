// Only its owner may access the folder of an embedded store: it holds signing keys and secrets.
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MeridianError } from '../base/errors.ts';

/** The mode bits of the group and of all others. */
const OF_OTHERS = 0o077;

/**
 * Creates the folder and its missing parents for this user only.
 * @throws MeridianError `config` with the command to run, if the folder exists and other users have any access
 */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await mkdir(path, { recursive: true, mode: 0o700 });
  // Windows has no mode bits.
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & OF_OTHERS) === 0) return;
  const bits = (mode & 0o777).toString(8).padStart(4, '0');
  throw new MeridianError(
    'config',
    `store.embedded.path: other users of this machine may use ${path}, which holds signing keys and secrets (its mode is ${bits}); ` +
      `run: chmod -R go= ${JSON.stringify(path)}`,
  );
}
