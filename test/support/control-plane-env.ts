// The environment of a control plane's process, for the tests and the benchmarks.
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { PostgresConfig } from '../../src/store/database.ts';

/** Its database and the port of its API. */
export function controlPlaneEnv({ host, port, user, password, dbName }: PostgresConfig, api: number): Record<string, string> {
  return {
    MERIDIAN_STORE_TYPE: 'postgres',
    MERIDIAN_STORE_POSTGRES_HOST: host,
    MERIDIAN_STORE_POSTGRES_PORT: String(port),
    MERIDIAN_STORE_POSTGRES_USER: user,
    MERIDIAN_STORE_POSTGRES_PASSWORD: password,
    MERIDIAN_STORE_POSTGRES_DB_NAME: dbName,
    MERIDIAN_API_SERVER_HTTP_PORT: String(api),
    // Proxies of a test ask for the port.
    MERIDIAN_DP_SERVER_PORT: '0',
    MERIDIAN_GENERAL_WORK_DIR: process.env['TEST_WORK_FOLDER'] ?? join(tmpdir(), `meridian-bench-${String(userInfo().uid)}`),
    // Several share the machine. Tests that need HTTPS or tokens enable them.
    MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'none',
  };
}

/** A global with plaintext KDS. @param kds port */
export function globalEnv(kds: number): Record<string, string> {
  return {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kds),
    MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_ENABLED: 'false',
    // Zones of a test that connect to one replica stay there.
    MERIDIAN_MULTIZONE_GLOBAL_KDS_SHARING_ENABLED: 'false',
  };
}

/** @param kdsAddress `host:port` of the plaintext KDS of a global */
export function zoneEnv(name: string, kdsAddress: string): Record<string, string> {
  return { MERIDIAN_MULTIZONE_ZONE_NAME: name, MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpc://${kdsAddress}` };
}
