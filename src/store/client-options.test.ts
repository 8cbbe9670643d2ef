// The options of the connections to PostgreSQL.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientOptionsOf, type PostgresConfig } from './database.ts';

const tls = { mode: 'disable', certPath: '', keyPath: '', caPath: '' } as const;
const config: PostgresConfig = {
  ...{ type: 'postgres', host: 'db', port: 5_432, user: 'u', password: 'p', dbName: 'd', tls },
  ...{ maxOpenConnections: 2, connectionTimeout: 5 },
};
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-tls-'));
  for (const name of ['ca', 'cert', 'key']) await writeFile(join(folder, name), `the ${name}`);
});
afterAll(() => rm(folder, { recursive: true }));

it('a connection has keepalives, five seconds for a lock, and two minutes for a statement', () => {
  expect(clientOptionsOf(config)).toEqual({
    ...{ host: 'db', port: 5_432, user: 'u', password: 'p', database: 'd', application_name: 'meridian', ssl: false },
    ...{ connectionTimeoutMillis: 5_000, keepAlive: true, query_timeout: 120_000, lock_timeout: 5_000 },
  });
});

it.each<[PostgresConfig['tls']['mode'], boolean, boolean]>([
  ['verifyNone', false, false],
  ['verifyCa', true, true],
  ['verifyFull', true, false],
])(
  'a connection in TLS mode %s checks the certificate of the server: %s, and accepts any name: %s',
  (mode, isChecked, anyName) => {
    const { ssl } = clientOptionsOf({ ...config, tls: { ...tls, mode } });
    expect(ssl).toEqual({
      rejectUnauthorized: isChecked,
      ...(anyName && { checkServerIdentity: expect.any(Function) as unknown }),
    });
    if (typeof ssl === 'object' && anyName) expect(ssl.checkServerIdentity?.('other', {} as never)).toBeUndefined();
  },
);

it('a connection has each file of TLS that the configuration names', () => {
  const path = (name: string): string => join(folder, name);
  const all = { mode: 'verifyFull', certPath: path('cert'), keyPath: path('key'), caPath: path('ca') } as const;
  const files = { ca: 'the ca', cert: 'the cert', key: 'the key' };
  expect(clientOptionsOf({ ...config, tls: all }).ssl).toEqual({ rejectUnauthorized: true, ...files });
  expect(() => clientOptionsOf({ ...config, tls: { ...all, caPath: path('absent') } })).toThrow('ENOENT');
});
