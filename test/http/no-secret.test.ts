// Log lines and errors contain no secrets, in any failure. The audit log contains every write.
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MeridianError } from '../../src/base/errors.ts';
import { createLogger, type LogLevel } from '../../src/base/log.ts';
import { UNREADABLE } from '../../src/zone-status/readable-problems.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const SECRET = Buffer.from('do not tell anybody of this').toString('base64');
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzZWNyZXQiOjF9.c2VjcmV0LXNpZ25hdHVyZQ';

let store: TinyStore;
let app: FastifyInstance;
let lines: string[];

function start(level: LogLevel): FastifyInstance {
  const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()) });
  return testApi(store, 'global', { log: createLogger(level, {}, sink) });
}

beforeEach(async () => {
  lines = [];
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  app = start('debug');
});

afterEach(async () => app.close());

const headers = { 'content-type': 'application/json', host: 'localhost', authorization: `Bearer ${TOKEN}` };
type Answer = Awaited<ReturnType<typeof app.inject>>;
const put = async (url: string, body: unknown, more = {}): Promise<Answer> =>
  await app.inject({
    method: 'PUT',
    url,
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...headers, ...more },
  });

describe('secrets', () => {
  const secret = { type: 'Secret', mesh: 'default', name: 's', data: SECRET };
  const url = '/meshes/default/secrets/s';

  it('appear nowhere, after successful and failed writes', async () => {
    const answers = [
      await put(url, secret),
      await put(`${url}?token=${TOKEN}`, secret),
      await put(url, `{"data":"${SECRET}"`),
      await put(url, { ...secret, name: 'other' }),
      await put(url, { ...secret, data: { inner: SECRET } }),
      await put(url, { ...secret, [SECRET]: SECRET, labels: { a: 1 } }),
      await put(url, secret, { 'if-match': '"9"' }),
      await put(url, secret, { host: 'cp' }),
      await put(url, secret, { 'content-type': 'text/plain' }),
    ];
    store.beforeWrite = () => {
      const params = [SECRET];
      throw Object.assign(new Error('the database is gone'), { params, query: `INSERT ${SECRET}`, detail: `(${SECRET})` });
    };
    answers.push(await put(url, secret));
    store.beforeWrite = () => {
      throw new MeridianError('unavailable', 'the database does not answer');
    };
    answers.push(await put(url, secret));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 200, 400, 400, 400, 400, 409, 403, 415, 500, 503]);
    for (const { body } of answers) for (const text of [SECRET, TOKEN]) expect(body).not.toContain(text);
    const log = lines.join('');
    for (const text of [SECRET, TOKEN, 'do not tell']) expect(log).not.toContain(text);
  });

  it('that a zone refuses have no name in the overview of the zone for callers who may not read them', async () => {
    await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name: 'east' }, labels: {}, spec: {} });
    const problem = { stream: 'globalToZone', kind: 'refused', resources: ['s.default'], count: 1, message: 'bad s' };
    const syncProblems = ['Secret', 'MeshTimeout'].map((type) => ({ ...problem, type, time: '2026-01-01T00:00:00Z' }));
    const key = { type: 'ZoneInsight', mesh: '', name: 'east' };
    await store.write({ op: 'create', key, labels: {}, spec: { subscriptions: [] }, status: { syncProblems } });
    const seen = async (remoteAddress: string): Promise<unknown> => {
      const answers = ['/zones/east/_overview', '/zones/_overview'].map(async (url) => await app.inject({ url, remoteAddress }));
      const [one, list] = await Promise.all(answers);
      const found = one?.json<{ syncProblems: { resources: string[]; message: string }[] }>();
      expect(list?.json<{ items: unknown[] }>().items[0]).toEqual(found);
      return found?.syncProblems.map(({ resources, message }) => [...resources, message]);
    };
    expect(await seen('127.0.0.1')).toEqual([
      ['s.default', 'bad s'],
      ['s.default', 'bad s'],
    ]);
    expect(await seen('192.0.2.7')).toEqual([[UNREADABLE], ['s.default', 'bad s']]);
  });

  it('of the configuration are masked', async () => {
    expect((await app.inject('/config')).body).toContain('*****');
  });
});

describe('the audit log', () => {
  const audits = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ logger }) => logger === 'audit');

  it('has every write with its author, and no other entries', async () => {
    await put('/zones/east', { type: 'Zone', name: 'east' }, { 'x-request-id': 'r1' });
    await put('/zones/east?dryRun=true', { type: 'Zone', name: 'east', enabled: false });
    await put('/zones/west', { type: 'Zone', name: 'other' });
    await app.inject({ method: 'POST', url: '/_apply', payload: [{ type: 'Zone', name: 'north' }], headers });
    await app.inject({ method: 'DELETE', url: '/zones/east', headers: { host: 'cp' } });
    expect(audits()).toMatchObject([
      {
        action: 'created',
        type: 'Zone',
        name: 'east',
        user: 'mesh-system:admin',
        from: '127.0.0.1',
        requestId: 'r1',
        version: 0,
      },
      { action: 'created', type: 'Zone', name: 'north', user: 'mesh-system:admin' },
      { action: 'deleted', type: 'Zone', name: 'east', user: 'mesh-system:anonymous' },
    ]);
  });

  it.each([
    ['error', 1],
    ['warn', 1],
    ['silent', 0],
  ] as const)('has with the log level %s this number of lines: %i', async (level, expected) => {
    await app.close();
    app = start(level);
    await put('/zones/east', { type: 'Zone', name: 'east' });
    expect([audits().length, lines.length]).toEqual([expected, expected]);
  });
});
