// Files that other programs and later launchers read: they see the old content or the new one, never a part.
import { rename, rm, writeFile } from 'node:fs/promises';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../resource/types.ts';

/** Writes JSON with mode 0600, as a whole or not at all. @throws MeridianError `unavailable` */
export async function writeWhole(path: string, content: JsonObject): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  try {
    await writeFile(draft, JSON.stringify(content, null, 1), { mode: 0o600, flag: 'wx' });
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true });
    throw new MeridianError('unavailable', `cannot write ${path}: ${messageOf(cause)}`, { cause });
  }
}
