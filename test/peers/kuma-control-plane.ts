// A real Kuma control plane as a process with its own PostgreSQL database, in the place of a Meridian one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { PostgresConfig } from '../../src/store/database.ts';
import { ControlPlane } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KUMA_TEMPLATE, kumaStoreEnv } from './kuma-store.ts';
import { peerProgram } from './peers-folder.ts';

/** The time limit for the orderly end of a process. */
const END_MS = 15_000;

export type KumaOptions = {
  /** By default a clone of the template. */
  readonly database?: PostgresConfig | undefined;
  readonly env?: Readonly<Record<string, string>>;
};

export class KumaControlPlane extends ControlPlane {
  readonly #workDir: string;

  private constructor(
    command: 'global' | 'zone',
    database: PostgresConfig,
    api: number,
    env: Record<string, string>,
    workDir: string,
  ) {
    super(command, database, api, env);
    this.#workDir = workDir;
  }

  /** A global that serves KDS in plaintext. @param kds port */
  static async global(postgresUrl: string, kds: number, options: KumaOptions = {}): Promise<KumaControlPlane> {
    const env = { KUMA_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds), KUMA_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false' };
    return await KumaControlPlane.#create('global', postgresUrl, { ...options, env: { ...env, ...options.env } });
  }

  /** A zone of the global at `kds`, `host:port`; without it, a zone without a global. */
  static async zone(postgresUrl: string, name: string, kds: string | null, options: KumaOptions = {}): Promise<KumaControlPlane> {
    const address = kds === null ? {} : { KUMA_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://${kds}` };
    const env = { KUMA_MULTIZONE_ZONE_NAME: name, ...address };
    return await KumaControlPlane.#create('zone', postgresUrl, { ...options, env: { ...env, ...options.env } });
  }

  static async #create(mode: 'global' | 'zone', postgresUrl: string, { database, env }: KumaOptions): Promise<KumaControlPlane> {
    const workDir = mkdtempSync(join(tmpdir(), 'kuma-'));
    const api = await freePort();
    const diagnostics = String(await freePort());
    const own = {
      KUMA_ENVIRONMENT: 'universal',
      KUMA_MODE: mode,
      KUMA_REPORTS_ENABLED: 'false',
      KUMA_GENERAL_WORK_DIR: workDir,
      KUMA_API_SERVER_HTTPS_ENABLED: 'false',
      KUMA_API_SERVER_HTTP_PORT: String(api),
      KUMA_DIAGNOSTICS_SERVER_PORT: diagnostics,
      // `ready` of the base class asks this one.
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: diagnostics,
      KUMA_DP_SERVER_PORT: String(await freePort()),
      KUMA_INTER_CP_SERVER_PORT: String(await freePort()),
      KUMA_INTER_CP_CATALOG_INSTANCE_ADDRESS: '127.0.0.1',
      KUMA_MONITORING_ASSIGNMENT_SERVER_PORT: String(await freePort()),
      // Tests read the counters of the streams there.
      KUMA_MULTIZONE_GLOBAL_KDS_ZONE_INSIGHT_FLUSH_INTERVAL: '1s',
      KUMA_MULTIZONE_ZONE_KDS_ZONE_INSIGHT_FLUSH_INTERVAL: '1s',
    };
    const where = database ?? (await cloneDatabase(postgresUrl, KUMA_TEMPLATE));
    return new KumaControlPlane(mode, where, api, { ...own, ...kumaStoreEnv(where), ...env }, workDir);
  }

  protected override commandLine(): [string, ...string[]] {
    return [peerProgram(inject('peersFolder'), 'kuma-cp'), 'run'];
  }

  override async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    // A Kuma zone that waits for its global may not end on a signal.
    const deadline = setTimeout(() => this.child?.kill('SIGKILL'), END_MS);
    const code = await super.end(signal).finally(() => clearTimeout(deadline));
    rmSync(this.#workDir, { recursive: true, force: true });
    return code;
  }
}
