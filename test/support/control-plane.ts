// Runs `bin/meridian` as a process with its own PostgreSQL database, which tests read with SQL. The last printed lines are kept, so
// that a test can report why the process ended.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, inject, vi } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { endWithTest } from './children.ts';
import { controlPlaneEnv, globalEnv, zoneEnv } from './control-plane-env.ts';
import { freePort } from './free-port.ts';
import { cloneDatabase } from './postgres-database.ts';
import { Psql } from './psql.ts';
import { WAIT as WAIT_IN_PROCESS } from './wait.ts';

/** The timeout of every test, with a longer interval: each poll costs this process, the control plane and its database. */
export const WAIT = { ...WAIT_IN_PROCESS, interval: 50 };

/** The command as a user runs it, from its sources. */
export const MERIDIAN_OF_USERS = join(import.meta.dirname, '../../bin/meridian');
/** The command: of the built program in projects that start many processes (built-program.ts), else as a user runs it. */
export const MERIDIAN = inject('builtProgram') ?? MERIDIAN_OF_USERS;
/** The number of kept lines of a process: a stack and the lines before it. */
const KEPT_LINES = 60;

export class ControlPlane {
  readonly command: 'global' | 'zone';
  readonly database: PostgresConfig;
  readonly env: Record<string, string>;
  readonly api: number;
  readonly psql: Psql;
  /** The path of the command. */
  program = MERIDIAN;
  child: ChildProcess | undefined;
  /** Keeps the output and does not print it: for tests that cause failures on purpose. */
  isQuiet = false;
  #lines: string[] = [];

  constructor(command: 'global' | 'zone', database: PostgresConfig, api: number, env: Record<string, string>) {
    this.command = command;
    this.database = database;
    this.api = api;
    const { host, port, user, password, dbName } = database;
    this.env = { ...controlPlaneEnv(database, api), MERIDIAN_LOG_LEVEL: 'warn', ...env };
    this.psql = new Psql({ host, port, user, password, database: dbName });
  }

  /** @param output `inherit` prints its stderr, unless it is quiet; with `pipe` the caller reads `child.stdout` */
  start(output: 'inherit' | 'pipe' = 'inherit'): void {
    const [program, ...args] = this.commandLine();
    const env = { ...process.env, ...this.env };
    const child = endWithTest(spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => this.#keep(bytes.toString()));
    if (output === 'inherit' && !this.isQuiet) child.stderr.on('data', (bytes: Buffer) => process.stderr.write(bytes));
    this.child = child;
  }

  /** The program and its arguments. */
  protected commandLine(): [string, ...string[]] {
    return [this.program, this.command, 'run'];
  }

  /** False once the process has ended. */
  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The name of the process, its end if it has ended, and its last lines since the first start. */
  lastWords(): string {
    const { command, env, child } = this;
    const name = [command, env['MERIDIAN_MULTIZONE_ZONE_NAME'] ?? ''].join(' ').trim();
    const ended = child?.signalCode ?? child?.exitCode ?? 'was not started';
    const state = this.isRunning ? 'runs' : `is gone (${String(ended)})`;
    return `${name} ${state}; the last it said:\n${this.#lines.join('\n')}`;
  }

  /** @throws Error with its last lines when the process has ended */
  assertRunning(about = ''): void {
    if (!this.isRunning) throw new Error([about, this.lastWords()].filter((text) => text !== '').join(': '));
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }

  async put(path: string, body: Record<string, unknown>): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${String(this.api)}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.status;
  }

  /** Status of `/ready`, 0 without an answer; needs a diagnostics port in `env`. */
  async ready(): Promise<number> {
    return await fetch(`http://127.0.0.1:${this.env['MERIDIAN_DIAGNOSTICS_SERVER_PORT'] ?? ''}/ready`).then(
      ({ status }) => status,
      () => 0,
    );
  }

  async answers(): Promise<boolean> {
    return await fetch(`http://127.0.0.1:${String(this.api)}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  #keep(text: string): void {
    const lines = text.split('\n').filter((line) => line !== '');
    this.#lines = [...this.#lines, ...lines].slice(-KEPT_LINES);
  }

  /** Rows of a type, read with SQL: name → [mesh, labels, spec]. */
  async rows(
    type: string,
  ): Promise<Map<string, { mesh: string; labels: Record<string, string>; spec: unknown; status: unknown }>> {
    const { rows } = await this.psql.query<{
      name: string;
      mesh: string;
      labels: Record<string, string>;
      spec: string;
      status: unknown;
    }>('select name, mesh, labels, spec, status from resources where type = $1', [type]);
    return new Map(
      rows.map(({ name, mesh, labels, spec, status }) => [name, { mesh, labels, spec: JSON.parse(spec) as unknown, status }]),
    );
  }
}

/** Starts a second replica of a global, without zones of its own, and waits until it answers. Its caller ends it. */
export async function startSecondGlobal(first: ControlPlane): Promise<ControlPlane> {
  const second = new ControlPlane('global', first.database, await freePort(), {
    ...globalEnv(await freePort()),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
  });
  second.isQuiet = true;
  second.start();
  await vi.waitFor(async () => expect(await second.answers()).toBe(true), WAIT);
  return second;
}

export type Fleet = {
  readonly global: ControlPlane;
  /** One for each name in `startFleet`, in this order. */
  readonly zones: readonly ControlPlane[];
  /** Address of the KDS port, `127.0.0.1:port`. */
  readonly kds: string;
  /** Ends every process and every psql. */
  readonly stop: () => Promise<void>;
};

export type FleetOptions = {
  /** The address that zones connect to, from the port of global: for example that of a proxy. */
  readonly kdsAddress?: (port: number) => string;
  /** By default each is a clone of the template. @param member `global`, or the name of a zone */
  readonly databaseOf?: (member: string) => Promise<PostgresConfig>;
  readonly env?: Record<string, string>;
  /** Additional variables for one member. */
  readonly envOf?: (member: string) => Record<string, string>;
  readonly isQuiet?: boolean;
};

/**
 * Starts a global and zones, plaintext KDS, and waits until all are ready.
 */
export async function startFleet(postgresUrl: string, zoneNames: readonly string[], options: FleetOptions = {}): Promise<Fleet> {
  const kds = await freePort();
  const { kdsAddress = (port) => `127.0.0.1:${String(port)}`, env = {}, envOf = () => ({}), isQuiet = false } = options;
  const { databaseOf = () => cloneDatabase(postgresUrl) } = options;
  const global = new ControlPlane('global', await databaseOf('global'), await freePort(), {
    ...globalEnv(kds),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    ...env,
    ...envOf('global'),
  });
  const zones: ControlPlane[] = [];
  for (const name of zoneNames) {
    const memberEnv = {
      ...zoneEnv(name, kdsAddress(kds)),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      ...env,
      ...envOf(name),
    };
    zones.push(new ControlPlane('zone', await databaseOf(name), await freePort(), memberEnv));
  }
  const members = [global, ...zones];
  for (const member of members) member.isQuiet = isQuiet;
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.end('SIGTERM')));
    await Promise.all(members.map((member) => member.psql.end()));
  };
  try {
    for (const member of members) {
      await member.psql.connect();
      member.start();
    }
    await vi.waitFor(async () => {
      // A process that has ended is reported below, without waiting.
      for (const member of members)
        if (member.isRunning && (await member.ready()) !== 200) throw new Error(`is not ready: ${member.lastWords()}`);
    }, WAIT);
    for (const member of members) member.assertRunning();
  } catch (error) {
    await stop();
    throw error;
  }
  return { global, zones, kds: `127.0.0.1:${String(kds)}`, stop };
}
