// A database ends the connection at any moment: each pending call rejects, and the process stays up.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { systemClock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import { openDatabase, type Database } from './database.ts';

/** Messages of the PostgreSQL protocol 3, each with its type and length. */
const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const READY = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const TERMINATED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'));

/** The reaction of the server to each chunk of a connection; the first chunk is the start-up message. */
type Behaviour = (socket: Socket, chunk: number) => void;

const behaviours: Record<string, Behaviour> = {
  'hangs up at once': (socket) => socket.destroy(),
  'refuses the start': (socket) => socket.end(TERMINATED),
  'is ready and hangs up in the same breath': (socket) => socket.end(Buffer.concat([READY, TERMINATED])),
  'hangs up at the first statement': (socket, chunk) => void (chunk === 0 ? socket.write(READY) : socket.end(TERMINATED)),
  'vanishes at the first statement': (socket, chunk) => void (chunk === 0 ? socket.write(READY) : socket.resetAndDestroy()),
};

describe.each(Object.entries(behaviours))('a PostgreSQL that %s', (_, behave) => {
  let server: Server;
  let database: Database;
  const failures: unknown[] = [];
  const take = (error: unknown): void => void failures.push(error);

  beforeEach(async () => {
    failures.length = 0;
    process.prependListener('uncaughtException', take);
    process.prependListener('unhandledRejection', take);
    server = createServer((socket) => {
      let chunk = 0;
      socket.on('error', () => undefined).on('data', () => behave(socket, chunk++));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const tls = { mode: 'disable', certPath: '', keyPath: '', caPath: '' } as const;
    const config = { host: '127.0.0.1', port, user: 'u', password: '', dbName: 'd', maxOpenConnections: 2, connectionTimeout: 5 };
    database = await openDatabase({ type: 'postgres', ...config, tls }, { clock: systemClock, log: createLogger('silent') });
  });

  afterEach(async () => {
    await database.close();
    const closed = once(server, 'close');
    server.close();
    await closed;
    process.off('uncaughtException', take);
    process.off('unhandledRejection', take);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a session for the leader', async () => (await database.session?.())?.query('select 1')],
    ['a statement', () => sql`select 1`.execute(database.db)],
    ['a transaction', () => database.db.transaction().execute(async (tx) => sql`select 1`.execute(tx))],
    ['the change feed', () => database.listen('c', () => undefined, () => undefined, new AbortController().signal)], // oxfmt-ignore
  ])('fails %s with a rejection and nothing else', async (_name, use) => {
    await expect(use()).rejects.toThrow();
    // Every event of the connections that are gone has come after a turn of the loop in which the server has none left.
    await expect.poll(async () => new Promise((resolve) => server.getConnections((_error, n) => resolve(n)))).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual([]);
  });
});

describe('a PostgreSQL that never confirms the end of a connection', () => {
  const clock = new ManualClock();
  const ANSWERED = Buffer.concat([message('C', Buffer.from('LISTEN\0')), message('Z', Buffer.from('I'))]);
  const connections = new Set<Socket>();
  let server: Server;
  let database: Database;
  let isSilent: boolean;
  let unanswered: number;

  beforeEach(async () => {
    [isSilent, unanswered] = [false, 0];
    server = createServer({ allowHalfOpen: true }, (socket) => {
      connections.add(socket);
      let chunk = 0;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        if (chunk++ === 0) socket.write(READY);
        else if (isSilent) unanswered += 1;
        else socket.write(ANSWERED);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const tls = { mode: 'disable', certPath: '', keyPath: '', caPath: '' } as const;
    const config = { host: '127.0.0.1', port, user: 'u', password: '', dbName: 'd', maxOpenConnections: 2, connectionTimeout: 5 };
    database = await openDatabase({ type: 'postgres', ...config, tls }, { clock, log: createLogger('silent') });
  });

  afterEach(async () => {
    for (const socket of connections) socket.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  });

  /** Lets time pass until the promise has settled. */
  async function inTime(promise: Promise<unknown>): Promise<void> {
    let isSettled = false;
    void promise.finally(() => (isSettled = true)).catch(() => undefined);
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(isSettled).toBe(true);
    });
    await promise;
  }

  it.each(['while it listens', 'before it listens'])('lets the change feed end, stopped %s', async (when) => {
    const stop = new AbortController();
    isSilent = when === 'before it listens';
    const listening = Promise.withResolvers<void>();
    const feed = database.listen(
      'c',
      () => listening.resolve(),
      () => undefined,
      stop.signal,
    );
    await (isSilent ? vi.waitFor(() => expect(unanswered).toBe(1)) : listening.promise);
    stop.abort();
    await inTime(feed);
    await inTime(database.close());
  });

  it('lets the database close, and ends the statement that it does not answer', async () => {
    await sql`select 1`.execute(database.db);
    isSilent = true;
    const statement = expect(sql`select 2`.execute(database.bulk)).rejects.toThrow();
    await vi.waitFor(() => expect(unanswered).toBe(1));
    await inTime(database.close());
    await statement;
  });
});
