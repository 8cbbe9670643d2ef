// The two databases behind one kysely: PostgreSQL through pg, and PGlite, a PostgreSQL in this process with a folder on disk.
import { Kysely, PGliteDialect, PostgresDialect } from 'kysely';
import pg from 'pg';
import { readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { Socket } from 'node:net';
import { every, within as inTime, type Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import { aborted } from '../base/supervise.ts';
import type { Following } from './follow-feed.ts';
import { diskRoomAt } from './disk-room.ts';
import { fillEmptyFolder } from './embedded-folder.ts';
import { lockFolder } from './folder-lock.ts';
import { makePrivateFolder } from './private-folder.ts';
import { preparing, StatementNames } from './preparing-pool.ts';
import { isSessionSpent } from './pg-errors.ts';

/** The time limit of a statement with a waiting caller, in milliseconds: the connection may be gone. */
const ANSWER_MS = 8_000;
/** The interval of probes on a connection whose loss must be detected, and the time limit of an answer. */
const PING_MS = 10_000;
/** The time limit of reads of whole types and large transactions, which take long on a large table. */
const BULK_MS = 120_000;
/** The longest timer of Node, 24 days. The driver takes 0 for the limit of the connection. */
const UNLIMITED_MS = 2 ** 31 - 1;
/** The lock timeout of a statement. All writes in the same batch wait too. */
const LOCK_MS = 5_000;
/** The time for which the server may confirm the end of a connection, and for statements that still run when the database closes. */
const GOODBYE_MS = 2_000;
/** The name of each connection. The triggers of the history know a control plane by it. */
export const APPLICATION = 'meridian';

export type PostgresConfig = {
  readonly type: 'postgres';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly dbName: string;
  readonly maxOpenConnections: number;
  /** The limit in seconds. */
  readonly connectionTimeout: number;
  readonly tls: {
    readonly mode: 'disable' | 'verifyNone' | 'verifyCa' | 'verifyFull';
    readonly certPath: string;
    readonly keyPath: string;
    readonly caPath: string;
  };
};

export type StoreConfig = { readonly type: 'embedded'; readonly path: string } | PostgresConfig;

/** Every statement is written in SQL; kysely binds and runs it, and owns the transactions. */
export type Tables = Record<string, never>;

/** Begins and ceases to listen to another channel on the same connection, so that the notifications of both keep their order. */
export type OtherChannels = {
  readonly add: (channel: string, onPayload: (payload: string) => void) => Promise<void>;
  readonly remove: (channel: string) => Promise<void>;
};

export type Database = {
  readonly kind: StoreConfig['type'];
  /** The clock of the timers of the connections. */
  readonly clock: Clock;
  /** The connections for statements with a waiting caller. */
  readonly db: Kysely<Tables>;
  /** The connections for work that takes long: whole types, large transactions. */
  readonly bulk: Kysely<Tables>;
  /** The connections without a time limit, for migrations: they wait for open transactions, and rewrite tables. */
  readonly unlimited: Kysely<Tables>;
  /** Follows NOTIFY on a channel until the signal; rejects when the connection is lost. `onListening` runs once it listens. */
  readonly listen: (
    channel: string,
    onListening: (channels: OtherChannels) => void | Promise<void>,
    onPayload: (payload: string) => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Opens a separate connection for a session lock; null for a database with only this process. */
  readonly session: (() => Promise<pg.Client>) | null;
  readonly close: () => Promise<void>;
};

/**
 * @param answerMs the time limit in milliseconds of a PostgreSQL statement with a waiting caller
 * @param signal ends the making of a new embedded store
 */
export async function openDatabase(
  config: StoreConfig,
  { clock, log }: Following,
  answerMs = ANSWER_MS,
  signal = new AbortController().signal,
): Promise<Database> {
  return config.type === 'embedded'
    ? await openEmbedded(config.path, clock, signal)
    : openPostgres(config, { clock, log }, answerMs);
}

async function openEmbedded(given: string, clock: Clock, signal: AbortSignal): Promise<Database> {
  await makePrivateFolder(given);
  // PGlite and errors name the folder itself, not a link to it.
  const path = await realpath(given);
  const unlock = await lockFolder(path);
  const room = diskRoomAt(path, clock);
  try {
    await fillEmptyFolder(path, signal);
    const { PGlite } = await import('@electric-sql/pglite');
    const pglite = await PGlite.create(path);
    // Name the application as on PostgreSQL: the history keeps what other programs write.
    await pglite.exec(`set application_name = '${APPLICATION}'`);
    const db = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite: room.guard(pglite) }) });
    return {
      kind: 'embedded',
      clock,
      db,
      bulk: db,
      unlimited: db,
      async listen(channel, onListening, onPayload, signal) {
        const open = new Map<string, () => Promise<void>>();
        const add: OtherChannels['add'] = async (name, hear) => void open.set(name, await pglite.listen(name, hear));
        const remove = async (name: string): Promise<void> => {
          const unlisten = open.get(name);
          open.delete(name);
          if (!pglite.closed) await unlisten?.();
        };
        await add(channel, onPayload);
        await onListening({ add, remove });
        await aborted(signal);
        for (const name of open.keys()) await remove(name);
      },
      session: null,
      async close() {
        await db.destroy();
        if (!pglite.closed) await pglite.close();
        await unlock();
      },
    };
  } catch (cause) {
    await unlock();
    const why = [messageOf(cause), await room.problem().catch(() => null)].filter((text) => text !== null).join('; ');
    throw new MeridianError('unavailable', `cannot open the embedded store in ${path}: ${why}`, { cause });
  }
}

/** The options of each connection to PostgreSQL, with the times in milliseconds. Reads the files of TLS. */
export function clientOptionsOf(config: PostgresConfig): pg.ClientConfig {
  return {
    host: config.host,
    port: config.port,
    user: config.user,
    password: config.password,
    database: config.dbName,
    connectionTimeoutMillis: config.connectionTimeout * 1000,
    keepAlive: true,
    query_timeout: BULK_MS,
    lock_timeout: LOCK_MS,
    application_name: APPLICATION,
    ssl: tlsOf(config.tls),
  };
}

function openPostgres(config: PostgresConfig, { clock, log }: Following, answerMs: number): Database {
  /** The sockets of all open connections: of the pool, of the feed and of sessions. */
  const sockets = new Set<Socket>();
  const stream = (): Socket => {
    const socket = new Socket();
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };
  const options = { ...clientOptionsOf(config), stream };
  const pool = new pg.Pool({ ...options, max: config.maxOpenConnections });
  const within = statementsOn(pool, log);
  const [db, bulk, unlimited] = [within(answerMs), within(BULK_MS), within(UNLIMITED_MS)];
  return {
    kind: 'postgres',
    clock,
    db,
    bulk,
    unlimited,
    listen: (...following) => followChannel(new pg.Client(options), clock, ...following),
    session: () => openSession(new pg.Client(options), clock, log),
    async close() {
      await Promise.all([db.destroy(), bulk.destroy(), unlimited.destroy()]);
      // A server that does not answer confirms nothing, and statements would wait for it.
      const cancel = clock.after(GOODBYE_MS, () => sockets.forEach((socket) => socket.destroy()));
      await pool.end();
      await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
      cancel();
    },
  };
}

/** Makes statements on a pool with a time limit in milliseconds. All of them share what the pool knows of its sessions. */
function statementsOn(pool: pg.Pool, log: Following['log']): (limitMs: number) => Kysely<Tables> {
  // The server may end an idle connection: the pool opens another.
  pool.on('error', (error) => log.debug({ reason: error.message }, 'an idle database connection ended'));
  // A connection in use also fails its query. Without this listener the error event would end the process.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  // A session keeps its plans and the read-only mode that it started with. When one session becomes unusable, the pool drops all
  // older ones: they would fail in the same way.
  let generation = 0;
  const generations = new WeakMap<pg.PoolClient, number>();
  pool.on('connect', (client) => void generations.set(client, generation));
  const isSpent = (client: pg.PoolClient): boolean => generations.get(client) !== generation;
  const names = new StatementNames();
  return (limitMs) =>
    new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: preparing(pool, { names, limitMs, isSpent }) }),
      log: (event) => void (event.level === 'error' && isSessionSpent(event.error) && (generation += 1)),
    });
}

/** Implements `Database.listen` on a connection of its own. */
async function followChannel(
  client: pg.Client,
  clock: Clock,
  ...[channel, onListening, onPayload, signal]: Parameters<Database['listen']>
): Promise<void> {
  const lost = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('the connection of the change feed ended')));
  });
  lost.catch(() => undefined);
  const listeners = new Map([[channel, onPayload]]);
  client.on('notification', ({ payload, channel: from }) => listeners.get(from)?.(payload ?? ''));
  const follow = async (): Promise<void> => {
    await client.connect();
    await client.query(`LISTEN ${channel}`);
    if (signal.aborted) return;
    await onListening({
      add: async (name, hear) => {
        listeners.set(name, hear);
        await answerOf(client, clock, `LISTEN ${name}`);
      },
      remove: async (name) => void (await answerOf(client, clock, `UNLISTEN ${name}`)),
    });
    await pingUntilLost(client, clock, signal);
  };
  try {
    await Promise.race([follow(), lost, aborted(signal)]);
  } finally {
    await endInTime(client, clock);
  }
}

/** Implements `Database.session` on this connection. */
async function openSession(client: pg.Client, clock: Clock, log: Following['log']): Promise<pg.Client> {
  // Listen at once: an error event without a listener would end the process.
  client.on('error', (error) => log.debug({ reason: error.message }, 'the session of the leader ended'));
  try {
    await client.connect();
    // With keepalives the server releases the locks of a client that disappeared silently.
    for (const setting of ['tcp_keepalives_idle = 10', 'tcp_keepalives_interval = 5', 'tcp_keepalives_count = 3'])
      await answerOf(client, clock, `SET ${setting}`);
    return client;
  } catch (error) {
    await endInTime(client, clock);
    throw error;
  }
}

/** Ends a connection, and waits a short time for the server to confirm it. Never rejects. */
export async function endInTime(client: Pick<pg.Client, 'end'>, clock: Clock): Promise<void> {
  const late = (): Error => new Error('the server did not confirm the end of the connection');
  await inTime(clock, GOODBYE_MS, client.end(), late).catch(() => undefined);
}

/** The rows of a short statement, with a time limit: a lost connection may not report its loss. */
export async function answerOf<T extends pg.QueryResultRow>(
  client: pg.Client,
  clock: Clock,
  text: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  const late = (): Error => Object.assign(new Error('the database does not answer on this connection'), { code: 'ETIMEDOUT' });
  return (await inTime(clock, PING_MS, client.query<T>(text, [...values]), late)).rows;
}

/** Resolves when the signal aborts; rejects when the server does not answer. */
export async function pingUntilLost(client: pg.Client, clock: Clock, signal: AbortSignal): Promise<void> {
  await every(clock, PING_MS, signal, async () => void (await answerOf(client, clock, 'select 1')));
}

function tlsOf(tls: PostgresConfig['tls']): pg.ClientConfig['ssl'] {
  if (tls.mode === 'disable') return false;
  return {
    rejectUnauthorized: tls.mode !== 'verifyNone',
    ...(tls.caPath !== '' && { ca: readFileSync(tls.caPath, 'utf8') }),
    ...(tls.certPath !== '' && { cert: readFileSync(tls.certPath, 'utf8') }),
    ...(tls.keyPath !== '' && { key: readFileSync(tls.keyPath, 'utf8') }),
    ...(tls.mode === 'verifyCa' && { checkServerIdentity: () => undefined }),
  };
}
