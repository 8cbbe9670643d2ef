import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { MeridianError } from '../base/errors.ts';
import { exitCodeOf } from './exit-codes.ts';
import { configOf, endOnUncaught, exitAfter, explainDatabase, MAX_STOP_MS } from './run-control-plane.ts';
import { keyFinds } from '../../test/support/key-finds.ts';
import { createSelfSigned } from '../base/self-signed.ts';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';

afterEach(() => vi.unstubAllEnvs());

it('an empty MERIDIAN_CONFIG counts as unset', async () => {
  vi.stubEnv('MERIDIAN_CONFIG', '');
  await expect(configOf('global', {})).resolves.toMatchObject({ config: { mode: 'global' } });
});

const store = {
  ...{ type: 'postgres', host: 'db.example', port: 5432, user: 'u', password: 'hush', dbName: 'd' },
  ...{ maxOpenConnections: 1, connectionTimeout: 5 },
} as Parameters<typeof explainDatabase>[1];

it.each([
  [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  [Object.assign(new Error('getaddrinfo ENOTFOUND db.example'), { code: 'ENOTFOUND' }), 'getaddrinfo ENOTFOUND db.example'],
  [new MeridianError('unavailable', 'x', { cause: new Error('Connection terminated') }), 'Connection terminated'],
])('an unreachable database is reported with its address and exit code 4: %s', async (error, why) => {
  const explained: unknown = await explainDatabase(error, store).catch((thrown: unknown) => thrown);
  expect(explained).toMatchObject({
    message: `cannot reach PostgreSQL at db.example:5432 (store.postgres.host, .port): ${why}; is it running?`,
  });
  expect(exitCodeOf(explained)).toBe(4);
});

it.each([
  ['28P01', 'createuser --pwprompt'],
  ['28000', 'store.postgres.user'],
  ['3D000', 'createdb --owner'],
])('a missing role or database is reported with the command that creates it: %s', async (code, says) => {
  const refused = Object.assign(new Error('refused'), { code });
  for (const error of [refused, new MeridianError('unavailable', 'x', { cause: refused })])
    await expect(explainDatabase(error, store)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining(says) as string,
    });
});

it('other errors of a start stay unchanged', async () => {
  const error = Object.assign(new Error('division by zero'), { code: '22012' });
  await expect(explainDatabase(error, store)).rejects.toBe(error);
  await expect(explainDatabase(undefined, { type: 'embedded', path: 'x' } as typeof store)).rejects.toBe(undefined);
});

it('a process that does not end by itself is ended, and the log names the resources that kept it', async () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  let ends = 0;
  exitAfter(MAX_STOP_MS, {
    clock,
    log: createLogger('info', {}, { write: (line) => void lines.push(line) }),
    exit: () => void (ends += 1),
  });
  await clock.advance(MAX_STOP_MS - 1);
  expect([lines, ends]).toEqual([[], 0]);
  await clock.advance(1);
  expect(ends).toBe(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 50,
    seconds: MAX_STOP_MS / 1_000,
    resources: expect.any(Array) as unknown,
  });
});

it('logs an error that nothing catches without its fields, and ends the process', () => {
  let lines = '';
  const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((lines += chunk.toString()), done()) });
  const [events, exit] = [new EventEmitter(), vi.fn()];
  endOnUncaught(events, createLogger('info', {}, sink), exit);
  events.emit('uncaughtException', Object.assign(new Error('the store is gone'), { detail: 'Failing row contains (c2VjcmV0)' }));
  expect([lines.includes('the store is gone'), lines.includes('c2VjcmV0'), exit.mock.calls.length]).toEqual([true, false, 1]);
});

it('logs an error that nothing catches without private keys in its text, its stack and its cause', async () => {
  const { keyPem } = await createSelfSigned('client', ['one'], new Date());
  let lines = '';
  const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((lines += chunk.toString()), done()) });
  const events = new EventEmitter();
  endOnUncaught(events, createLogger('info', {}, sink), vi.fn());
  const encoded = Buffer.from(keyPem).toString('base64');
  events.emit('uncaughtException', new Error(`cannot read ${keyPem}`, { cause: new Error(encoded) }));
  expect([lines.includes('cannot read'), keyFinds(lines, keyPem)]).toEqual([true, []]);
});
