// What a launcher asks and says, in the permits of its address. Each request has a connection of its own.
import { PERMITS_ALL } from '../resource/proxy-permit.ts';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MeridianError } from '../base/errors.ts';
import { createLogger } from '../base/log.ts';
import { AddressLimiter } from '../grpc/address-limiter.ts';
import { callingConnection, callPermit, type CallPermit } from '../grpc/call-permit.ts';
import { createBootstrapApp } from './bootstrap-app.ts';

let clock: ManualClock;
let fault: Error | null;
let send: (body: string) => Promise<number>;
let answered: number;
let app: FastifyInstance;
/** Requests whose caller has left. */
let left: number;

beforeEach(async () => {
  [clock, fault, answered, left] = [new ManualClock(), null, 0, 0];
  const limiter = new AddressLimiter(clock);
  const permitOf = (): CallPermit => {
    const permit = callPermit(callingConnection(limiter, () => undefined));
    const leave = (): void => {
      left += 1;
      permit.leave();
    };
    return { ...permit, leave };
  };
  app = createBootstrapApp({
    connections: { permitOf },
    sources: {
      certificate: () => '',
      needsToken: false,
      authenticator: {
        identify: async () => ({ ok: true, token: null, permit: PERMITS_ALL }),
        authenticate: async () => ({ ok: true, token: null, permit: PERMITS_ALL }),
      },
      dataplane: async () => {
        if (fault !== null) throw fault;
        return null;
      },
      writer: { mode: 'zone', zone: 'east', federated: false },
      reportsHealth: false,
      leave: async () => undefined,
    },
    clock,
    log: createLogger('silent'),
  });
  await app.ready();
  send = async (payload) => {
    const { statusCode } = await app.inject({ method: 'POST', url: '/leave', payload });
    answered += 1;
    return statusCode;
  };
});

const GOOD = JSON.stringify({ mesh: 'shop', name: 'cart-1', state: 'ended' });
const together = async (count: number, body: string): Promise<number[]> =>
  await Promise.all(Array.from({ length: count }, async () => await send(body)));

describe('the requests of launchers', () => {
  it('are all answered at once when they are good, also 500 behind one address', async () => {
    expect(new Set(await together(500, GOOD))).toEqual(new Set([204]));
  });

  it.each([
    ['that are no JSON', 'no JSON', 400],
    ['that are too large', 'x'.repeat(2_000_000), 413],
  ])('%s wait after the first hundred', async (_, body, status) => {
    expect(new Set(await together(100, body))).toEqual(new Set([status]));
    const next = send(GOOD);
    await expect.poll(() => clock.sleepers).toBe(1);
    await clock.advance(49);
    expect(answered).toBe(100);
    await clock.advance(1);
    expect(await next).toBe(204);
  });

  it('whose launcher has left take no permit', async () => {
    await together(100, 'no JSON');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const asked = request({ method: 'POST', host: '127.0.0.1', port, path: '/leave' }).on('error', () => undefined);
    asked.end(GOOD);
    await expect.poll(() => clock.sleepers).toBe(1);
    const before = left;
    asked.destroy();
    await expect.poll(() => left).toBe(before + 1);
    const next = send(GOOD);
    await clock.advance(50);
    expect(await next).toBe(204);
    await app.close();
  });

  it('that come together are not all answered when they are bad', async () => {
    const all = together(150, 'no JSON');
    await expect.poll(() => answered).toBe(100);
    await clock.advance(2_500);
    expect(await all).toHaveLength(150);
  });

  it.each([new MeridianError('unavailable', 'the database does not answer'), new Error('a fault')])(
    'that fail because of this process cost nothing: %s',
    async (error) => {
      fault = error;
      await together(150, GOOD);
      fault = null;
      expect(new Set(await together(150, GOOD))).toEqual(new Set([204]));
    },
  );
});
