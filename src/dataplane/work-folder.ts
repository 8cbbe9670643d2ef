// The folder of a proxy: its bootstrap, which holds the token, and Envoy's sockets. Invariant: one launcher uses it at a time, and no
// Envoy that a killed launcher left runs beside a new one.
import { createHash, randomBytes } from 'node:crypto';
import { link, lstat, mkdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { JsonObject } from '../resource/types.ts';
import { envoysOf } from './left-envoys.ts';
import { writeWhole } from './write-whole.ts';

/** A path of a socket has 104 bytes on macOS, 108 on Linux, with a zero at the end. */
const MAX_SOCKET_PATH = 103;
/** The longest name of a socket in the folder. */
const LONGEST_SOCKET = 'kuma-envoy-admin.sock';
const LOCK = 'run.sock';
const CONFIG = 'bootstrap.json';
const TOKEN = 'token.json';
const NAMES = 'names.json';
/** Earlier versions wrote it. */
const OLD_PID = 'envoy.pid';
const END_MS = 10_000;

type Context = { readonly clock: Clock; readonly log: Logger };

/**
 * The folder of a proxy of which none was named: in the home folder, or in that of temporary files where the path would be too long for
 * a socket.
 */
export function defaultWorkFolder(mesh: string, name: string, home: string = homedir()): string {
  const usual = join(home, '.meridian', 'dataplane', `${mesh}.${name}`);
  if (fitsSockets(usual)) return usual;
  const short = createHash('sha256').update(usual).digest('hex').slice(0, 16);
  return join(tmpdir(), `meridian-dataplane-${short}`);
}

function fitsSockets(folder: string): boolean {
  return Buffer.byteLength(join(folder, LONGEST_SOCKET)) <= MAX_SOCKET_PATH;
}

export class WorkFolder {
  /** Absolute, without links. */
  readonly path: string;
  /** As it was named, and absolute. */
  readonly #given: string;
  readonly #lock: Server;

  private constructor(path: string, given: string, lock: Server) {
    this.path = path;
    this.#given = given;
    this.#lock = lock;
  }

  /**
   * Makes the folder for this user alone, takes it, and ends an Envoy that was left in it.
   * @throws MeridianError `config` when another launcher uses it, when it belongs to another user or others may write to it, or when the
   * path is too long for a socket
   */
  static async open(folder: string, { clock, log }: Context): Promise<WorkFolder> {
    const given = resolve(folder);
    const { path, lock } = await takeFolder(given).catch((cause: unknown) => {
      if (cause instanceof MeridianError) throw cause;
      throw new MeridianError('config', `--work-dir: cannot use ${given}: ${messageOf(cause)}`, { cause });
    });
    if (lock === null)
      throw new MeridianError(
        'config',
        `--work-dir: another \`meridian dataplane run\` uses ${path}; stop it, or give this one a folder of its own`,
      );
    const opened = new WorkFolder(path, given, lock);
    await endAbandoned(new Set([opened.configFile, join(given, CONFIG)]), { clock, log });
    return opened;
  }

  get configFile(): string {
    return join(this.path, CONFIG);
  }

  /** The secret with the token, which Envoy reads again when it changes. */
  get tokenFile(): string {
    return join(this.path, TOKEN);
  }

  /** The last names of the proxy. The file stays when the folder is closed: the next launcher answers them until the zone sends its own. */
  get namesFile(): string {
    return join(this.path, NAMES);
  }

  async writeBootstrap(bootstrap: JsonObject): Promise<void> {
    await writeWhole(this.configFile, bootstrap);
  }

  async writeToken(secret: JsonObject): Promise<void> {
    await writeWhole(this.tokenFile, secret);
  }

  /** Removes what this launcher wrote, but for the names, and the folder if nothing else is in it. */
  async close(): Promise<void> {
    for (const name of [CONFIG, TOKEN, OLD_PID, LONGEST_SOCKET]) await rm(join(this.path, name), { force: true });
    // Node removes the file of the lock.
    await new Promise((done) => this.#lock.close(done));
    // Not the folder behind a link: the next launcher follows the link.
    await rmdir(this.#given).catch(() => undefined);
  }
}

/** Makes and locks the folder. @returns its path without links, as another launcher may name it; no lock while that one uses it */
async function takeFolder(given: string): Promise<{ readonly path: string; readonly lock: Server | null }> {
  requireShort(given);
  await makePrivate(given);
  const path = await realpath(given);
  requireShort(path);
  return { path, lock: await takeLock(join(path, LOCK)) };
}

function requireShort(path: string): void {
  if (!fitsSockets(path))
    throw new MeridianError('config', `--work-dir: ${path} is too long for the path of a socket; name a shorter one`);
}

/** A launcher that was killed leaves its Envoy, which still listens on the ports of the Dataplane. */
async function endAbandoned(configFiles: ReadonlySet<string>, { clock, log }: Context): Promise<void> {
  const began = clock.elapsed();
  const known = new Set<number>();
  for (;;) {
    const left = await envoysOf(configFiles);
    if (left.length === 0) return;
    for (const pid of left) {
      if (!known.has(pid)) log.warn({ pid }, 'an earlier run was killed and left its Envoy; ending it');
      known.add(pid);
      signalTo(pid, clock.elapsed() - began > END_MS ? 'SIGKILL' : 'SIGTERM');
    }
    await clock.sleep(100);
  }
}

/** The owner of the folder can replace the bootstrap, and so decide what Envoy does as this user. */
async function makePrivate(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const folder = await stat(path);
  // The path may be a link, which its owner can change.
  for (const { uid } of [await lstat(path), folder])
    if (uid !== (process.getuid?.() ?? uid))
      throw new MeridianError(
        'config',
        `--work-dir: ${path} belongs to another user (uid ${String(uid)}); name a folder of this user, or one that does not exist yet`,
      );
  if ((folder.mode & 0o022) !== 0)
    throw new MeridianError('config', `--work-dir: other users may write to ${path}; run: chmod go-w ${JSON.stringify(path)}`);
}

/** A socket that listens as long as this process lives; null while another process has it. */
async function takeLock(path: string): Promise<Server | null> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const server = await listen(path);
    if (server !== null) return server;
    if (await answers(path)) return null;
    await removeStale(path);
  }
  return null;
}

/** Removes the socket of a killed process. Another launcher may have taken its place since it was looked at: that one is put back. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  await rename(path, aside).catch(() => undefined);
  if (await answers(aside)) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function listen(path: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy());
  return await new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(null) : fail(error)));
    server.listen(path, () => done(server.unref()));
  });
}

async function answers(path: string): Promise<boolean> {
  const socket = createConnection(path);
  return await new Promise((done) => {
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  }).then((is) => {
    socket.destroy();
    return is === true;
  });
}

function signalTo(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
