// A zone with a PostgreSQL database, for the golden folders: a process, or in this one. Rows are written with SQL.
import { vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config.ts';
import { createLogger } from '../../src/base/log.ts';
import type { Resource, ResourceKey } from '../../src/resource/types.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { run } from '../../src/zone/run.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import type { CaseZone } from './case-folder.ts';
import { inOrder, WRITTEN, ZONE, type GivenRow } from './zone-under-test.ts';

/** The wire version is set separately from the content: the trigger that marks drift would clear it (D29). */
const PUT_SQL = `
  insert into resources (type, mesh, name, version, labels, spec, status, sync_version, creation_time)
  values ($1, $2, $3, 0, coalesce($4::jsonb, '{}'), coalesce($5::text, '{}'), coalesce($6::jsonb, '{}'), '-', coalesce($7::timestamptz, to_timestamp(0)))
  on conflict (name, mesh, type) do update set
    version = resources.version + 1, sync_version = '-',
    labels = coalesce($4::jsonb, resources.labels), spec = coalesce($5::text, resources.spec),
    status = coalesce($6::jsonb, resources.status), creation_time = coalesce($7::timestamptz, resources.creation_time)`;
const OLD_VERSION_SQL = `select sync_version from resources where type = $1 and mesh = $2 and name = $3`;
const VERSION_SQL = `update resources set sync_version = $4 where type = $1 and mesh = $2 and name = $3`;
const DELETE_SQL = `delete from resources where type = $1 and mesh = $2 and name = $3`;

export class RealZone implements CaseZone {
  readonly #process: ControlPlane;
  readonly #store: ResourceStore;
  readonly #isProcess: boolean;
  /** Of a zone in this process. */
  #stop: (() => Promise<void>) | null = null;

  private constructor(controlPlane: ControlPlane, store: ResourceStore, isProcess: boolean) {
    this.#process = controlPlane;
    this.#store = store;
    this.#isProcess = isProcess;
  }

  /**
   * An empty zone without a global; it is not started yet.
   * @param isProcess needed to kill it; a zone in this process takes a fifth of the CPU to start
   */
  static async create(postgresUrl: string, isProcess: boolean): Promise<RealZone> {
    const database = await cloneDatabase(postgresUrl);
    const controlPlane = new ControlPlane('zone', database, await freePort(), {
      MERIDIAN_MULTIZONE_ZONE_NAME: ZONE,
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      MERIDIAN_DEFAULTS_SKIP_TENANT_RESOURCES: 'true',
      MERIDIAN_LOG_LEVEL: 'error',
    });
    await controlPlane.psql.connect();
    return new RealZone(controlPlane, await openStore(database, { clock: systemClock, log: createLogger('silent') }), isProcess);
  }

  async start(): Promise<void> {
    if (this.#isProcess) this.#process.start();
    const ended = this.#isProcess ? [] : [this.#startHere()];
    const answers = vi.waitFor(async () => {
      if (this.#isProcess) this.#process.assertRunning();
      if (!(await this.#process.answers())) throw new Error('does not answer');
    }, WAIT);
    await Promise.race([answers, ...ended]);
  }

  /** Runs a zone as a process does with these variables. Rejects when it fails. */
  async #startHere(): Promise<void> {
    const { config } = loadConfig({ mode: 'zone', env: this.#process.env, flags: {}, file: undefined });
    const stop = new AbortController();
    const ended = run(config, { clock: systemClock, log: createLogger('error'), signal: stop.signal });
    this.#stop = async () => {
      stop.abort();
      await ended;
    };
    await ended;
  }

  async restart(): Promise<void> {
    if (!this.#isProcess) throw new Error('a zone of this process cannot be killed');
    await this.#process.end('SIGKILL');
    await this.start();
  }

  async close(): Promise<void> {
    await this.#stop?.();
    await this.#process.end('SIGTERM');
    await this.#process.psql.end();
    await this.#store.close();
  }

  wait(): Promise<void> {
    return Promise.reject(new Error('a real process has the time of the machine'));
  }

  async putAll(rows: readonly GivenRow[]): Promise<void> {
    const { psql } = this.#process;
    await psql.query('begin');
    for (const { type, mesh, name, labels, spec, status, syncVersion, created } of rows) {
      const key = [type, mesh, name];
      const [before] = (await psql.query<{ sync_version: string | null }>(OLD_VERSION_SQL, key)).rows;
      const json = [labels, spec, status].map((part) => (part === undefined ? null : JSON.stringify(part)));
      await psql.query(PUT_SQL, [...key, ...json, created ?? null]);
      await psql.query(VERSION_SQL, [...key, syncVersion ?? before?.sync_version ?? null]);
    }
    await psql.query('commit');
  }

  async deleteAll(keys: readonly ResourceKey[]): Promise<void> {
    const { psql } = this.#process;
    await psql.query('begin');
    for (const { type, mesh, name } of keys) await psql.query(DELETE_SQL, [type, mesh, name]);
    await psql.query('commit');
  }

  async services(): Promise<Resource[]> {
    const lists = await Promise.all(WRITTEN.map((type) => this.#store.list({ type })));
    return inOrder(lists.flat());
  }
}
