// Refused tokens of one address: the first at once, more of them later, and none of this delays a valid token.
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { afterEach, expect, it, vi } from 'vitest';
import { defaultAccess, type Access } from '../../src/http/access.ts';
import { anonymousUser } from '../../src/token/authenticate-request.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const AT_ONCE = 100;
const HELD = 256;

const access: Access = {
  identify: async ({ headers }) =>
    headers['authorization'] === 'Bearer bad'
      ? { ok: false, reason: 'the user token is bad' }
      : { ok: true, user: headers['authorization'] === 'Bearer good' ? { name: 'jo', groups: [] } : anonymousUser },
  rules: defaultAccess,
  guard: () => {
    throw new Error('no answer of this test lasts');
  },
};

let app: FastifyInstance;
afterEach(async () => await app.close());

function started(): ManualClock {
  const clock = new ManualClock();
  app = testApi(new TinyStore(), 'global', { clock, access });
  return clock;
}

const ask = async (token: string | null, remoteAddress = '192.0.2.9'): Promise<LightMyRequestResponse> =>
  await app.inject({ url: '/meshes', remoteAddress, ...(token !== null && { headers: { authorization: `Bearer ${token}` } }) });

it('the answer to one bad token too many waits, and says so', async () => {
  const clock = started();
  for (let at = 0; at < AT_ONCE; at += 1) expect((await ask('bad')).statusCode).toBe(401);
  const late = ask('bad');
  await vi.waitFor(() => expect(clock.sleepers).toBe(1));
  // Callers with valid tokens and without tokens share the address, as behind a proxy.
  expect((await ask('good')).statusCode).toBe(200);
  expect((await ask(null)).statusCode).toBe(200);
  expect((await ask('bad', '192.0.2.10')).statusCode).toBe(401);
  expect(clock.sleepers).toBe(1);
  await clock.advance(1_000);
  const { statusCode, headers, json } = await late;
  expect([statusCode, headers['retry-after'], json<{ detail: string }>().detail]).toEqual([
    ...[429, '1'],
    'the user token is bad; more than 20 tokens a second from this address are not valid',
  ]);
  await clock.advance(5_000);
  expect((await ask('bad')).statusCode).toBe(401);
});

it('a connection is closed when too many answers wait, and a wait ends when its caller leaves', async () => {
  const clock = started();
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const call = (): { readonly over: Promise<string>; readonly leave: () => void } => {
    const sent = request({ port, path: '/meshes', headers: { authorization: 'Bearer bad' }, agent: false });
    const over = new Promise<string>((resolve) => {
      sent.once('response', (answer) => resolve(String(answer.resume().statusCode))).once('error', () => resolve('closed'));
    });
    sent.end();
    return { over, leave: () => sent.destroy() };
  };
  for (let at = 0; at < AT_ONCE; at += 1) expect(await call().over).toBe('401');
  const held = Array.from({ length: HELD }, call);
  await vi.waitFor(() => expect(clock.sleepers).toBe(HELD));
  expect(await call().over).toBe('closed');
  held[0]?.leave();
  await vi.waitFor(() => expect(clock.sleepers).toBe(HELD - 1));
  const next = call();
  await vi.waitFor(() => expect(clock.sleepers).toBe(HELD));
  for (const { leave } of [...held, next]) leave();
  await vi.waitFor(() => expect(clock.sleepers).toBe(0));
});
