// Finds the Envoy to run: the one that the caller names, else one on PATH, else the one that `install-envoy` put into the home folder.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { MeridianError } from '../base/errors.ts';
import { ENVOY_VERSION } from './envoy-release.ts';

type FoundEnvoy = {
  readonly path: string;
  /** What named it, for people. */
  readonly from: string;
};

type Env = Readonly<Record<string, string | undefined>>;

type EnvoySearch = {
  /** The value of `--envoy`. */
  readonly option?: string | undefined;
  readonly env: Env;
  /** Folder of the user; that of this process if left out. */
  readonly home?: string;
};

/** The sentence that says what to do without an Envoy. */
export const NO_ENVOY = 'there is no Envoy on this machine; `meridian dataplane install-envoy` gets one';

/** The same for a proxy that runs as a user of its own. @param user a name or a number */
export function noEnvoyFor(user: string): string {
  return `there is no Envoy that the user ${user} can run; \`sudo -H -u ${user} meridian dataplane install-envoy\` gets one, or --envoy names one`;
}

/** The file of the installed Envoy, whether it exists or not. */
export function installedEnvoy(home: string = homedir()): string {
  return join(home, '.meridian', 'envoy', ENVOY_VERSION, 'envoy');
}

/**
 * The first Envoy of: the option, MERIDIAN_ENVOY, PATH, the home folder. Null if there is none.
 * @throws MeridianError `config` for an option or a variable that names no program
 */
export async function findEnvoy({ option, env, home }: EnvoySearch): Promise<FoundEnvoy | null> {
  for (const [from, path = ''] of [
    ['--envoy', option],
    ['MERIDIAN_ENVOY', env['MERIDIAN_ENVOY']],
  ] as const) {
    if (path === '') continue;
    // As a shell reads it: a name without a slash is looked up on PATH.
    const found = path.includes('/') ? await programAt(resolve(path)) : await onPath(path, env);
    if (found !== null) return { path: found, from };
    throw new MeridianError('config', `${from}: ${path} is not a program that this user can run`);
  }
  const found = await onPath('envoy', env);
  if (found !== null) return { path: found, from: 'PATH' };
  const installed = await programAt(installedEnvoy(home));
  return installed === null ? null : { path: installed, from: '`meridian dataplane install-envoy`' };
}

async function onPath(name: string, env: Env): Promise<string | null> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    // An empty entry would be the current folder.
    const found = folder === '' ? null : await programAt(join(folder, name));
    if (found !== null) return found;
  }
  return null;
}

/** The path, if it is a file that this user can execute. */
async function programAt(path: string): Promise<string | null> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? path : null;
  } catch {
    return null;
  }
}
