import type { PGlite } from 'kysely';
import { expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { DiskRoom } from './disk-room.ts';

const MB = 1024 * 1024;
const FULL = { code: '53100', message: 'the disk of the embedded store has 127 MB free, and a write needs 128 MB' };

function setUp() {
  const clock = new ManualClock();
  const query = vi.fn(async () => ({ rows: [], fields: [] }));
  const statements = { query, rollback: async () => undefined };
  const transaction = vi.fn((run: (tx: typeof statements) => Promise<unknown>) => run(statements));
  let free = 128 * MB;
  const room = new DiskRoom(clock, async () => free);
  const pglite = room.guard({ query, transaction } as unknown as PGlite);
  return { clock, room, pglite, query, setFree: (bytes: number) => void (free = bytes) };
}

it.each([
  'insert into resources values (1)',
  'with r as (insert into x values (1)) select 1',
  'UPDATE x set y = 1',
  'create table x ()',
])(
  'a full disk refuses a statement that may write, alone and in a transaction, and the database never sees it: %s',
  async (text) => {
    const { pglite, query, setFree } = setUp();
    setFree(128 * MB - 1);
    await expect(pglite.query(text)).rejects.toMatchObject(FULL);
    await expect(pglite.transaction((tx) => tx.query(text))).rejects.toMatchObject(FULL);
    expect(query).not.toHaveBeenCalled();
  },
);

it.each(['select 1', '\n  SELECT 1', 'show application_name'])('a full disk answers reads: %s', async (text) => {
  const { pglite, query, setFree } = setUp();
  setFree(0);
  await pglite.query(text);
  await pglite.transaction((tx) => tx.query(text));
  expect(query).toHaveBeenCalledTimes(2);
});

it('the disk is asked again after a quarter of a second, and at once while it is full', async () => {
  const { clock, pglite, query, setFree } = setUp();
  const write = (): Promise<unknown> => pglite.query('insert');
  await write();
  setFree(127 * MB);
  await clock.advance(249);
  await write();
  await clock.advance(1);
  await expect(write()).rejects.toMatchObject(FULL);
  setFree(128 * MB);
  await write();
  expect(query).toHaveBeenCalledTimes(3);
});
