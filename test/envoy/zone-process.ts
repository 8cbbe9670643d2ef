// A zone as a process, on its own or with a global, on PostgreSQL or with an embedded store, as one process or several replicas. Files
// of one worker share one that is on its own; each has a mesh of its own in it. A zone with an embedded store takes three times the CPU
// of one on PostgreSQL: only tests of that store have one.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, vi } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import type { PostgresConfig } from '../../src/store/database.ts';
import { endWithTest } from '../support/children.ts';
import { controlPlaneEnv, globalEnv, zoneEnv } from '../support/control-plane-env.ts';
import { MERIDIAN } from '../support/control-plane.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

/** Which control plane a process is. */
type Role = {
  readonly name: string;
  readonly command: 'global' | 'zone';
  readonly env: Readonly<Record<string, string>>;
  /** Null: an embedded store. */
  readonly database: PostgresConfig | null;
};

type Ports = { readonly api: number; readonly diagnostics: number; readonly proxies: number };

export class ZoneProcess {
  readonly name: string;
  readonly #role: Role;
  readonly #ports: Ports;
  /** Of the port for proxies of each replica, its own first. */
  readonly urls: readonly string[];
  readonly #folder: string;
  /** Path of the embedded store; null on PostgreSQL. */
  readonly #store: string | null;
  #child: ChildProcess | null = null;

  private constructor(role: Role, ports: Ports, folder: string, store: string | null, others: readonly string[]) {
    this.name = role.name;
    this.#role = role;
    this.#ports = ports;
    this.#folder = folder;
    this.#store = store;
    this.urls = [`https://localhost:${String(ports.proxies)}`, ...others];
  }

  /** Starts a zone without a global and waits until it is ready. It ends with the process of the test, or by `stop`. */
  static async start(store: 'postgres' | 'embedded' = 'postgres'): Promise<ZoneProcess> {
    const database = store === 'postgres' ? await newDatabase() : null;
    return await ZoneProcess.#startRole({ name: 'east', command: 'zone', env: {}, database });
  }

  /** Starts replicas of one zone without a global, which have a certificate together. They end as one of `start` does. */
  static async startReplicas(name: string, count: number, database: PostgresConfig): Promise<ZoneProcess[]> {
    const { certPem, keyPem } = await createSelfSigned('server', ['localhost'], new Date());
    const [folder, ports] = [await newFolder(), await Promise.all(Array.from({ length: count }, freePorts))];
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    await Promise.all([writeFile(files.cert, certPem), writeFile(files.key, keyPem)]);
    const env = { MERIDIAN_DP_SERVER_TLS_CERT_FILE: files.cert, MERIDIAN_DP_SERVER_TLS_KEY_FILE: files.key };
    const urls = ports.map(({ proxies }) => `https://localhost:${String(proxies)}`);
    const replicas = await Promise.all(
      ports.map(async (own, at) => {
        const role: Role = { name, command: 'zone', env, database };
        return new ZoneProcess(role, own, await newFolder(), null, urls.toSpliced(at, 1));
      }),
    );
    await Promise.all(replicas.map((replica) => replica.restart()));
    return replicas;
  }

  /**
   * Starts a global and its zones, each on a database of its own. They end with the process of the test, or by `stop`.
   * @param envOfZones more variables of the zones
   */
  static async startFleet(zones: readonly string[], envOfZones: Readonly<Record<string, string>> = {}): Promise<ZoneProcess[]> {
    const kds = await freePort();
    const env = { ...globalEnv(kds), MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'none' };
    const ofZone = (name: string): Omit<Role, 'database'> => ({
      ...{ name, command: 'zone' },
      env: { ...zoneEnv(name, `127.0.0.1:${String(kds)}`), ...envOfZones },
    });
    const roles = [{ name: 'global', command: 'global' as const, env }, ...zones.map(ofZone)];
    return await Promise.all(roles.map(async (role) => ZoneProcess.#startRole({ ...role, database: await newDatabase() })));
  }

  static async #startRole(role: Role): Promise<ZoneProcess> {
    const store = role.database === null ? await embeddedFolder() : null;
    const zone = new ZoneProcess(role, await freePorts(), await newFolder(), store, []);
    await zone.restart();
    return zone;
  }

  /** PEM of the certificate of the port for proxies. */
  async ca(): Promise<string> {
    const given = this.#role.env['MERIDIAN_DP_SERVER_TLS_CERT_FILE'];
    return await readFile(given ?? join(this.#folder, this.name, 'dp-server/cert.pem'), 'utf8');
  }

  async restart(): Promise<void> {
    await this.stop();
    const { api, diagnostics, proxies } = this.#ports;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MERIDIAN_'));
    const { command, env: own, database } = this.#role;
    const args = [
      ...[command, 'run', '--log-level', 'silent', '--diagnostics-port', String(diagnostics), '--api-port', String(api)],
      ...(command === 'zone' ? ['--name', this.name] : []),
      ...(this.#store === null ? [] : ['--store-path', this.#store]),
    ];
    const env = {
      ...Object.fromEntries(inherited),
      ...(database !== null && controlPlaneEnv(database, api)),
      ...own,
      MERIDIAN_GENERAL_WORK_DIR: this.#folder,
      MERIDIAN_DP_SERVER_PORT: String(proxies),
      MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
      MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
    };
    this.#child = endWithTest(spawn(MERIDIAN, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }));
    await vi.waitFor(async () => expect(await this.#isReady()).toBe(true));
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Of its REST API, for commands. */
  get address(): string {
    return `http://127.0.0.1:${String(this.#ports.api)}`;
  }

  /** @throws Error with the answer of the API when it is no success */
  async send(method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<void> {
    const url = `http://127.0.0.1:${String(this.#ports.api)}${path}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${String(answer.status)} ${text}`);
  }

  /** A resource as the API gives it. */
  async read(path: string): Promise<JsonObject> {
    const answer = await fetch(`http://127.0.0.1:${String(this.#ports.api)}${path}`);
    if (!answer.ok) throw new Error(`GET ${path}: ${String(answer.status)}`);
    return (await answer.json()) as JsonObject;
  }

  /** The bytes of an answer, also of a refusal. */
  async text(path: string): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${String(this.#ports.api)}${path}`)).text();
  }

  /** Its own metrics; `''` while it does not answer. */
  async metrics(): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${String(this.#ports.diagnostics)}/metrics`).catch(() => null);
    return (await answer?.text()) ?? '';
  }

  /** Whether it does the work that one replica does for all. */
  async isLeader(): Promise<boolean> {
    return /^leader(\{[^}]*\})? 1$/m.test(await this.metrics());
  }

  async #isReady(): Promise<boolean> {
    const { status } = await fetch(`http://127.0.0.1:${String(this.#ports.diagnostics)}/ready`).catch(() => ({ status: 0 }));
    return status === 200;
  }
}

async function freePorts(): Promise<Ports> {
  return { api: await freePort(), diagnostics: await freePort(), proxies: await freePort() };
}

async function newDatabase(): Promise<PostgresConfig> {
  return await cloneDatabase(inject('postgresUrl'));
}

/** It goes with the run. */
async function newFolder(): Promise<string> {
  return await mkdtemp(join(inject('embeddedFolder'), 'zone-'));
}

let shared: Promise<ZoneProcess> | undefined;

/** The zone of this worker, which all its files share. */
export async function sharedZone(): Promise<ZoneProcess> {
  return await (shared ??= ZoneProcess.start());
}
