// The PostgreSQL database of a Kuma control plane. The global setup of the tests uses it, too: it can inject nothing.
import type { PostgresConfig } from '../../src/store/database.ts';

/** Name of the database that `kuma-cp migrate up` has prepared. */
export const KUMA_TEMPLATE = 'kuma_template';

/** Where a Kuma control plane, or its migration, keeps its tables. */
export function kumaStoreEnv({ host, port, user, password, dbName }: PostgresConfig): Record<string, string> {
  return {
    KUMA_STORE_TYPE: 'postgres',
    KUMA_STORE_POSTGRES_HOST: host,
    KUMA_STORE_POSTGRES_PORT: String(port),
    KUMA_STORE_POSTGRES_USER: user,
    // Kuma accepts no empty password; the server of the tests may need none.
    KUMA_STORE_POSTGRES_PASSWORD: password === '' ? 'none' : password,
    KUMA_STORE_POSTGRES_DB_NAME: dbName,
    KUMA_STORE_POSTGRES_MAX_OPEN_CONNECTIONS: '10',
  };
}
