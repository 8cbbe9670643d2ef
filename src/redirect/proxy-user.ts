// The user of a proxy. Invariant: a redirected proxy never runs as another user, because its own connections would come back to it.
import { chown, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MeridianError } from '../base/errors.ts';
import { userNumber } from './machine-facts.ts';
import { runProgram } from './run-program.ts';
import type { RedirectSettings } from './settings.ts';

type User = {
  /** Its number where it has no name. */
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  /** Null for a number that no user of /etc/passwd has. */
  readonly home: string | null;
};

/**
 * The user whose connections are not redirected.
 * @throws MeridianError `config` when this process is neither of this user nor of root, which can become it
 */
export async function proxyUser({ kumaDPUser }: Pick<RedirectSettings, 'kumaDPUser'>): Promise<User> {
  const user = await userOf(Number(await userNumber(kumaDPUser)));
  const own = process.getuid?.() ?? 0;
  if (own === user.uid || own === 0) return user;
  throw new MeridianError(
    'config',
    `--transparent-proxy: this process has the uid ${String(own)}, and connections of uid ${String(user.uid)} are not redirected: run it as that user, or as root`,
  );
}

/** Makes this process one of the user: its groups, and its home folder in HOME. */
export function becomeUser(user: User): void {
  if (process.getuid?.() === user.uid) return;
  process.setgroups?.([...user.groups]);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  if (user.home !== null) process.env['HOME'] = user.home;
}

/** Makes a folder that does not exist yet, for its user alone; folders above it that are made belong to the user, too. Root does this for a user that may not write beside it. */
export async function makeUserFolder(path: string, { uid, gid }: User): Promise<void> {
  if ((await stat(path).catch(() => null)) !== null) return;
  const first = (await mkdir(dirname(path), { recursive: true })) ?? path;
  await mkdir(path, { mode: 0o700 });
  for (let made = path; made.length >= first.length; made = dirname(made)) await chown(made, uid, gid);
}

async function userOf(uid: number): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const [name = String(uid), , , gid = String(uid), , home = null] = lines.find((fields) => fields[2] === String(uid)) ?? [];
  const groups =
    (await runProgram('id', ['-G', String(uid)]))?.stdout
      .trim()
      .split(' ')
      .filter((text) => text !== '') ?? [];
  return { name, uid, gid: Number(gid), groups: groups.length > 0 ? groups.map(Number) : [Number(gid)], home };
}
