// Which proxies get in, and when they are sent away.
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { CART, ending, join, OpenPort } from './open-port.ts';

const server = new OpenPort();
beforeAll(async () => void (await server.start()));
afterAll(() => server.close());

const UNAUTHENTICATED = String(status.UNAUTHENTICATED);
const PERMISSION_DENIED = String(status.PERMISSION_DENIED);

describe('a proxy', () => {
  it.each([
    ['its name', { name: 'cart-1' }, CART],
    ['its workload', { workload: 'cart' }, { ...CART, labels: { 'kuma.io/workload': 'cart' } }],
  ])('comes in with a token of %s', async (_, claims, dataplane) => {
    const call = server.stream(await server.token(claims));
    await join(call, dataplane);
    call.cancel();
  });

  it('does not come in without a token', async () => {
    await expect(join(server.stream(''))).rejects.toThrow(
      `${UNAUTHENTICATED} the proxy of Dataplane "cart-1" of mesh "shop" sent no token`,
    );
  });

  it('is refused with a text that is no token', async () => {
    await expect(join(server.stream('a.b.c'))).rejects.toThrow(`${UNAUTHENTICATED} the token of Dataplane "cart-1"`);
  });

  it('does not come in as one of another mesh', async () => {
    const call = server.stream(await server.token());
    await expect(join(call, { ...CART, mesh: 'other' })).rejects.toThrow(`${UNAUTHENTICATED} the token of Dataplane "cart-1"`);
  });

  it('does not come in as another Dataplane', async () => {
    const call = server.stream(await server.token({ name: 'cart-2' }));
    await expect(join(call)).rejects.toThrow(`${PERMISSION_DENIED} the token of Dataplane "cart-1" of mesh "shop" is for`);
  });

  it('is sent away when its token is revoked, and others stay', async () => {
    const [bad, good] = [await server.token(), await server.token()];
    const [leaves, leavesToo, stays] = [server.stream(bad), server.stream(bad), server.stream(good)];
    for (const call of [leaves, leavesToo, stays]) await join(call);
    const endings = [ending(leaves), ending(leavesToo)];
    await server.revoke(bad);
    for (const { code, details } of await Promise.all(endings))
      expect([code, details]).toEqual([status.UNAUTHENTICATED, expect.stringContaining('was revoked')]);
    await expect(join(server.stream(bad))).rejects.toThrow('was revoked');
    await join(stays, { mesh: 'any', name: 'message' });
    stays.cancel();
  });

  it('waits when it opens stream after stream, and is refused when too many of it wait', async () => {
    // Time stands still, so that a busy machine lets no more of them in.
    const busy = await new OpenPort().start({ clock: new ManualClock() });
    const token = await busy.token();
    const dataplane = { ...CART, name: 'busy' };
    const calls = Array.from({ length: 60 }, () => busy.stream(token));
    const refused: string[] = [];
    for (const call of calls) join(call, dataplane).catch((error: unknown) => refused.push(String(error)));
    await expect.poll(() => refused.length).toBeGreaterThan(15);
    for (const reason of refused) expect(reason).toContain('opens streams too often');
    for (const call of calls) call.cancel();
    await busy.close();
  });

  it('comes in without a token where none is asked for', async () => {
    const open = await new OpenPort().start({ type: 'none' });
    const call = open.stream('');
    await join(call);
    expect(open.logged.filter((line) => line.includes('stream opened'))).toHaveLength(1);
    call.cancel();
    await open.close();
  });

  it('is sent away with UNAVAILABLE when the control plane stops', async () => {
    const stopping = await new OpenPort().start();
    const call = stopping.stream(await stopping.token());
    await join(call);
    const ended = ending(call);
    const socket = await stopping.connect();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await stopping.close();
    expect((await ended).code).toBe(status.UNAVAILABLE);
    await closed;
  });
});
