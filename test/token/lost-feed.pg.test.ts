// A token is revoked while PostgreSQL refuses connections to the change feed.
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { userRealm } from '../../src/token/token-realm.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { following } from '../support/following.ts';
import { cloneDatabase, configOf } from '../support/postgres-database.ts';
import { Psql } from '../support/psql.ts';
import { WAIT } from '../support/wait.ts';
import { base64, pairOf, partOf } from './signing-secrets.ts';

const LISTENING = `select pid from pg_stat_activity where datname = $1 and query like 'LISTEN%'`;

it('a revoked token is refused while the change feed cannot connect', async () => {
  const url = inject('postgresUrl');
  // One connection serves all statements of the store, and it stays open while new ones are refused.
  const config = { ...(await cloneDatabase(url)), maxOpenConnections: 1 };
  const { host, port, user, password, dbName } = configOf(url, new URL(url).pathname.slice(1));
  const psql = new Psql({ host, port, user, password, database: dbName });
  const store = await openStore(config, following);
  const stop = new AbortController();
  const secrets = new TokenSecrets({ store, federated: false });
  const running = secrets.run(following, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await store.close();
    await psql.end();
  });
  const put = async (name: string, text: string): Promise<unknown> =>
    await store.write({
      op: 'put',
      key: { type: userRealm.secretType, mesh: '', name },
      labels: {},
      spec: { data: base64(text) },
    });
  const listening = async (): Promise<number> => (await psql.query(LISTENING, [config.dbName])).rows.length;
  const allowConnections = async (isAllowed: boolean): Promise<unknown> =>
    await psql.query(`alter database ${pg.escapeIdentifier(config.dbName)} with allow_connections ${String(isAllowed)}`);

  const areKept = async (): Promise<boolean> => (await secrets.of(userRealm)) === (await secrets.of(userRealm));

  const now = (): Date => new Date();
  const verifier = new TokenVerifier(secrets, now);
  await put(`${userRealm.keyName}-1`, pairOf('user').privatePem);
  await expect.poll(areKept, WAIT).toBe(true);
  const token = await new TokenIssuer(secrets, now).user({ name: 'ann', groups: [] }, 3_600_000);
  expect(await verifier.user(token)).toMatchObject({ ok: true });

  await allowConnections(false);
  await psql.query(`select pg_terminate_backend(pid) from (${LISTENING}) as feed`, [config.dbName]);
  await expect.poll(listening, WAIT).toBe(0);
  await put(userRealm.revocations, String(partOf(token, 1)['jti']));
  await expect.poll(() => verifier.user(token), WAIT).toEqual({ ok: false, reason: 'was revoked' });
  expect([await listening(), await areKept()]).toEqual([0, false]);

  await allowConnections(true);
  await expect.poll(areKept, WAIT).toBe(true);
  expect(await verifier.user(token)).toEqual({ ok: false, reason: 'was revoked' });
  await put(userRealm.revocations, '');
  await expect.poll(() => verifier.user(token), WAIT).toMatchObject({ ok: true });
});
