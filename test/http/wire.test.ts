// The REST API over real sockets: behaviour that only the wire shows (rest-api 1), and extensions of Kuma's API (D32, D33).
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_PER_ADDRESS } from '../../src/http/watch-permits.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

let store: TinyStore;
let app: FastifyInstance;
let port: number;

const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }] };
const timeout = (name: string, more = {}): object => ({ type: 'MeshTimeout', mesh: 'default', name, spec, ...more });

async function listen(more: Parameters<typeof testApi>[2] = {}): Promise<void> {
  app = testApi(store, 'global', more);
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
}

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

/** One request whose answer is not touched by the client: no decompression, any header. */
async function raw(path: string, headers: Record<string, string>): Promise<{ answer: IncomingMessage; bytes: Buffer }> {
  return await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => resolve({ answer, bytes: Buffer.concat(parts) }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

beforeEach(async () => {
  let seconds = 0;
  store = new TinyStore(() => new Date((seconds += 1) * 1_000));
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  await listen();
});

afterEach(async () => app.close());

describe('an answer', () => {
  it('has the given or generated id of its request', async () => {
    expect((await call('GET', '/', undefined, { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe('mine-1');
    expect((await call('GET', '/', undefined, { 'x-request-id': 'not mine' })).headers.get('x-request-id')).toMatch(
      /^[\w-]{36}$/,
    );
  });

  it('with an error is a problem document on request', async () => {
    const answer = await call('GET', '/meshes/none', undefined, { accept: 'application/problem+json' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    expect((await call('GET', '/meshes/none')).headers.get('content-type')).toBe('application/json');
  });

  it.each([
    ['/meshes/%ZZ?token=x', 400, 'every % must begin'],
    ['/meshes/%ED%A0%80', 400, 'every % must begin'],
    [`/meshes/${'a'.repeat(1025)}`, 414, 'longer than 1024 characters'],
  ])('to an invalid path has the form of other errors: %s', async (path, status, words) => {
    const { answer, bytes } = await raw(path, { 'x-request-id': 'r1' });
    const text = bytes.toString();
    const body = JSON.parse(text) as { status: number; title: string; detail: string };
    expect([answer.statusCode, answer.headers['content-type'], answer.headers['x-request-id']]).toEqual([
      status,
      'application/json',
      'r1',
    ]);
    expect([body.status, body.title, text]).toEqual([status, 'Bad Request', `${JSON.stringify(body, null, 1)}\n`]);
    expect(body.detail).toContain(words);
    expect(text).not.toContain('FST_');
  });

  it.each([
    ['/meshtimeouts', 'application/yaml', 406],
    ['/meshtimeouts', 'text/event-stream', 406],
    ['/meshtimeouts', 'application/yaml, */*', 200],
    ['/meshes/default', 'application/yaml', 200],
    ['/meshes/default', 'text/event-stream', 406],
    ['/meshes/default?watch=true', 'text/event-stream', 200],
  ])('%s has the media type that the caller accepts: %s, %i', async (path, accept, status) => {
    const stop = new AbortController();
    const { status: found } = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
      headers: { accept },
      signal: stop.signal,
    });
    expect(found).toBe(status);
    stop.abort();
  });

  it.each([
    ['/_kri/kri_mt_default___none_', { type: 'MeshTimeout', mesh: 'default', name: 'none' }],
    ['/_kri/kri_m____none_', { type: 'Mesh', name: 'none' }],
  ])('of 404 names the missing resource: %s', async (path, missing) => {
    const answer = await call('GET', path);
    expect([answer.status, await answer.json()]).toMatchObject([404, { missing }]);
  });

  it('of large size is compressed with gzip for clients that accept it', async () => {
    for (let index = 0; index < 100; index += 1)
      await store.write({
        ...{ op: 'create', labels: {}, spec },
        key: { type: 'MeshTimeout', mesh: 'default', name: `t${String(index)}` },
      });
    const plain = await raw('/meshtimeouts', {});
    const zipped = await raw('/meshtimeouts', { 'accept-encoding': 'br, gzip' });
    expect(zipped.answer.headers['content-encoding']).toBe('gzip');
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(gunzipSync(zipped.bytes)).toEqual(plain.bytes);
    expect((await raw('/', { 'accept-encoding': 'gzip' })).answer.headers['content-encoding']).toBeUndefined();
  });

  it('of HTTP has CORS headers for the allowed origins', async () => {
    await app.close();
    await listen({ corsAllowedDomains: ['https://GUI.example'] });
    const answer = await call('GET', '/', undefined, { origin: 'https://gui.example' });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://gui.example');
    const foreign = await call('GET', '/', undefined, { origin: 'https://other.example' });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a write', () => {
  const path = '/meshes/default/meshtimeouts/t';

  it('as a dry run returns the difference and stores nothing', async () => {
    await call('PUT', path, timeout('t'));
    const before = [...store.rows.values()].map(({ version }) => version);
    const answer = await call('PUT', `${path}?dryRun=true`, timeout('t', { labels: { team: 'a' } }));
    expect(await answer.json()).toMatchObject({
      dryRun: true,
      result: 'updated',
      diff: [{ op: 'add', path: '/labels/team', value: 'a' }],
    });
    expect([...store.rows.values()].map(({ version }) => version)).toEqual(before);
  });

  it('that deletes a Mesh takes what its dry run says, and no Dataplane', async () => {
    await app.close();
    await listen({ unsafeDelete: true });
    const dataplane = { type: 'Dataplane', mesh: 'default', name: 'web' };
    await store.write({ op: 'create', key: dataplane, labels: {}, spec: {} });
    await call('PUT', '/meshes/default/meshtimeouts/slow', timeout('slow'));
    const planned = await call('DELETE', '/meshes/default?dryRun=true');
    expect(await planned.json()).toMatchObject({ takes: [{ type: 'MeshTimeout', total: 1 }] });
    expect((await call('DELETE', '/meshes/default')).status).toBe(200);
    expect([...store.rows.values()].map(({ type }) => type)).toEqual(['Dataplane']);
  });

  it('with If-None-Match creates a resource, and changes none', async () => {
    const isNew = { 'if-none-match': '*' };
    expect((await call('PUT', path, timeout('t'), isNew)).status).toBe(201);
    const second = await call('PUT', path, timeout('t', { labels: { a: '1' } }), isNew);
    expect([second.status, await second.json()]).toMatchObject([
      409,
      { detail: expect.stringContaining('If-None-Match is given and the resource exists') as string },
    ]);
    for (const headers of [{ 'if-none-match': '"1"' }, { ...isNew, 'if-match': '"0"' }])
      expect((await call('PUT', path, timeout('t'), headers)).status).toBe(400);
    expect([...store.rows.values()].map(({ version }) => version)).toEqual([0, 0]);
  });

  it('with If-Match is refused when the version has changed', async () => {
    const created = await call('PUT', path, timeout('t'));
    const tag = created.headers.get('etag') ?? '';
    expect((await call('PUT', path, timeout('t', { labels: { a: '1' } }), { 'if-match': tag })).status).toBe(200);
    expect((await call('PUT', path, timeout('t', { labels: { a: '2' } }), { 'if-match': tag })).status).toBe(409);
    expect((await call('DELETE', path, undefined, { 'if-match': tag })).status).toBe(409);
    expect((await call('PUT', path, timeout('t'))).status).toBe(200);
    const now = (await call('GET', path)).headers.get('etag') ?? '';
    expect((await call('DELETE', path, undefined, { 'if-match': now })).status).toBe(200);
  });

  it.each(['*', '"0"'])('with If-Match %s does not create a resource', async (tag) => {
    const answer = await call('PUT', path, timeout('t'), { 'if-match': tag });
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('the resource does not exist')]);
    expect(store.rows.has(JSON.stringify(['MeshTimeout', 'default', 't']))).toBe(false);
  });

  it('with If-Match is refused when the resource was deleted and created again', async () => {
    const tag = (await call('PUT', path, timeout('t'))).headers.get('etag') ?? '';
    await call('DELETE', path);
    const again = await call('PUT', path, timeout('t'));
    for (const method of ['PUT', 'DELETE']) {
      const answer = await call(method, path, method === 'PUT' ? timeout('t') : undefined, { 'if-match': tag });
      expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('it was deleted and created again')]);
    }
    expect((await call('GET', path)).headers.get('etag')).toBe(again.headers.get('etag'));
    const list = `${tag}, ${again.headers.get('etag') ?? ''}`;
    expect((await call('PUT', path, timeout('t'), { 'if-match': list })).status).toBe(200);
  });

  it('with If-Match accepts a version alone', async () => {
    await call('PUT', path, timeout('t'));
    expect((await call('PUT', path, timeout('t', { labels: { a: '1' } }), { 'if-match': '"0"' })).status).toBe(200);
    expect((await call('PUT', path, timeout('t', { labels: { a: '2' } }), { 'if-match': '0' })).status).toBe(409);
    expect((await call('DELETE', path, undefined, { 'if-match': '1' })).status).toBe(200);
  });

  it('with If-Match accepts a weak tag as the strong one', async () => {
    const tag = (await call('PUT', path, timeout('t'))).headers.get('etag') ?? '';
    expect((await call('PUT', path, timeout('t', { labels: { a: '1' } }), { 'if-match': `W/${tag}` })).status).toBe(200);
    expect((await call('PUT', path, timeout('t', { labels: { a: '2' } }), { 'if-match': `W/${tag}` })).status).toBe(409);
  });

  it('of many documents stores all or nothing, with concurrent writers', async () => {
    const documents = [timeout('a'), timeout('b'), timeout('c')];
    store.beforeWrite = ({ key }) => (key.name === 'c' ? { result: 'conflict' } : undefined);
    const refused = await call('POST', '/_apply', documents);
    expect(refused.status).toBe(409);
    expect([...store.rows.values()].map(({ type }) => type)).toEqual(['Mesh']);
    store.beforeWrite = () => undefined;
    expect((await call('POST', '/_apply', { documents })).status).toBe(200);
    expect(store.rows.size).toBe(4);
  });
});

describe('a watch', () => {
  it('sends the existing rows and then the changes, and ends with the server', async () => {
    await call('PUT', '/meshes/default/meshtimeouts/a', timeout('a'));
    const answer = await call('GET', '/meshes/default/meshtimeouts?watch=true');
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    let received = '';
    const reading = (async () => {
      for await (const bytes of answer.body ?? []) received += Buffer.from(bytes).toString();
    })();
    const events = (): (string | undefined)[] => [...received.matchAll(/^event: (\w+)/gm)].map(([, event]) => event);
    await expect.poll(events).toEqual(['put', 'synced']);
    await call('PUT', '/meshes/default/meshtimeouts/b', timeout('b'));
    await expect.poll(events).toEqual(['put', 'synced', 'put']);
    await call('DELETE', '/meshes/default/meshtimeouts/a');
    await expect.poll(events).toEqual(['put', 'synced', 'put', 'delete']);
    expect(received).toContain('data: {"type":"MeshTimeout","mesh":"default","name":"a"}');
    await app.close();
    await reading;
  });

  it('of one item reads no list', async () => {
    await call('PUT', '/meshes/default/meshtimeouts/a', timeout('a'));
    const listed = vi.spyOn(store, 'list');
    const answer = await call('GET', '/meshes/default/meshtimeouts/a?watch=true');
    let received = '';
    for await (const bytes of answer.body ?? []) if ((received += Buffer.from(bytes).toString()).includes('synced')) break;
    expect(received).toMatch(/^event: put$/m);
    expect(listed).not.toHaveBeenCalled();
  });
});

describe('many watches', () => {
  // A response that is not held here is collected as garbage, and its connection ends with it.
  const held: Response[] = [];
  // Behind a proxy the machine itself is not admin.
  const anonymous = { 'x-forwarded-for': '192.0.2.1' };
  let stop: AbortController;

  const watch = async (headers: Record<string, string>): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${String(port)}/meshes?watch=true`, { headers, signal: stop.signal });
    held.push(answer);
    return answer.status;
  };

  beforeEach(() => {
    stop = new AbortController();
  });

  afterEach(() => {
    stop.abort();
    held.length = 0;
  });

  it('of one anonymous address leave permits for others and for local callers', async () => {
    const answers = await Promise.all(Array.from({ length: MAX_PER_ADDRESS + 8 }, () => watch(anonymous)));
    expect(answers.filter((status) => status === 200)).toHaveLength(MAX_PER_ADDRESS);
    expect(answers.filter((status) => status === 503)).toHaveLength(8);
    expect(await watch({})).toBe(200);
  });

  it('release their permits when they end', async () => {
    for (let round = 0; round < 2; round += 1) {
      for (let count = 0; count < MAX_PER_ADDRESS; count += 1) await expect.poll(() => watch(anonymous)).toBe(200);
      stop.abort();
      stop = new AbortController();
    }
  });
});

describe('limits', () => {
  it('apply to a body', async () => {
    const answer = await call('PUT', '/meshes/default', JSON.stringify({ type: 'Mesh', name: 'x'.repeat(1_100_000) }));
    expect([answer.status, await answer.json()]).toEqual([413, expect.objectContaining({ title: 'Payload too large' })]);
  });

  it('apply to headers', async () => {
    const { answer, bytes } = await raw('/', { 'x-long': 'x'.repeat(20_000) });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([431, 'application/json']);
    expect(JSON.parse(bytes.toString())).toMatchObject({
      status: 431,
      title: 'Bad Request',
      detail: expect.stringContaining('headers') as string,
    });
  });

  it('apply to the duration of a request', async () => {
    await app.close();
    await listen({ timeouts: { headers: 100, request: 200, idle: 10_000 } });
    for (const beginning of [
      'GET / HTT',
      'PUT /meshes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ]) {
      const socket = connect(port, '127.0.0.1');
      let received = '';
      socket.on('data', (bytes) => (received += bytes.toString()));
      socket.write(beginning);
      await once(socket, 'close');
      expect(received).toMatch(/^HTTP\/1\.1 408/);
    }
  });

  it('apply to the requests of one remote address', async () => {
    await app.close();
    await listen({ rateLimit: { requestsPerSecond: 1, burst: 2 } });
    const from = async (remoteAddress: string): Promise<number> => (await app.inject({ url: '/', remoteAddress })).statusCode;
    expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')]).toEqual([200, 200, 429]);
    expect(await from('192.0.2.2')).toBe(200);
    for (let index = 0; index < 5; index += 1) expect(await from('127.0.0.1')).toBe(200);
    const refused = await app.inject({ url: '/', remoteAddress: '192.0.2.1' });
    expect([refused.headers['retry-after'], refused.json()]).toEqual([
      '1',
      expect.objectContaining({ title: 'Too many requests' }),
    ]);
  });
});

describe('the stop of the server', () => {
  it('waits for requests in flight and accepts no new ones', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const gate = Promise.withResolvers<undefined>();
    store.beforeWrite = async () => {
      arrived.resolve(undefined);
      await gate.promise;
      return undefined;
    };
    const writing = call('PUT', '/meshes/default/meshtimeouts/late', timeout('late'));
    await arrived.promise;
    const closing = app.close();
    await expect
      .poll(async () =>
        call('GET', '/').then(
          () => 'answers',
          () => 'refused',
        ),
      )
      .toBe('refused');
    gate.resolve(undefined);
    expect((await writing).status).toBe(201);
    await closing;
    expect(store.rows.size).toBe(2);
  });
});

describe('keys that touch prototypes', () => {
  it.each([
    '{"type":"Mesh","name":"m","__proto__":{"polluted":true}}',
    '{"type":"Mesh","name":"m","\\u005f_proto__":{"polluted":true}}',
    '{"type":"Mesh","name":"m","labels":{"constructor":{"prototype":{"polluted":true}}}}',
  ])('are refused: %s', async (body) => {
    expect((await call('PUT', '/meshes/m', body)).status).toBe(400);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('do no harm in queries and paths', async () => {
    const statuses: Record<string, number> = {};
    for (const path of [
      '/meshes/__proto__',
      '/meshes?filter[labels.__proto__]=x',
      '/_kri/kri_mt___proto_____x_',
      '/meshes?__proto__=1',
    ])
      statuses[path] = (await call('GET', path)).status;
    expect(statuses).toEqual({
      '/meshes/__proto__': 404,
      '/meshes?filter[labels.__proto__]=x': 200,
      '/_kri/kri_mt___proto_____x_': 400,
      '/meshes?__proto__=1': 200,
    });
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
