// Connections of an address that has many refused calls: their calls share its permits, and new ones wait for one.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { listen, log, peerOf, type Listening } from './connections.fixture.ts';

describe('connections', () => {
  it('share the permits of their address, also with connections that come later', async () => {
    const clock = new ManualClock();
    const { connections, enter } = await listen({}, clock);
    const first = await enter();
    for (let n = 0; n < 60; n += 1) connections.permitOf(peerOf(first)).refuse();
    first.destroy();
    await expect.poll(() => connections.size).toBe(0);
    const next = await enter();
    let begun = 0;
    const calls = Array.from({ length: 50 }, async () => {
      await connections.permitOf(peerOf(next)).take();
      begun += 1;
    });
    const ends = Promise.allSettled(calls);
    await clock.advance(49);
    expect(begun).toBe(40);
    await clock.advance(1);
    expect(begun).toBe(41);
    next.destroy();
    await ends;
  });

  it('are closed when too many calls of their address wait, those with an admitted stream stay', async () => {
    const warn = vi.spyOn(log, 'warn').mockClear();
    const { connections, enter } = await listen({}, new ManualClock());
    const [bad, good, refused] = [await enter(), await enter(), await enter()];
    connections.permitOf(peerOf(good)).admit();
    for (let n = 0; n < 100; n += 1) connections.permitOf(peerOf(refused)).refuse();
    const waiting = Array.from({ length: 100 }, () => connections.permitOf(peerOf(bad)).take());
    await connections.permitOf(peerOf(good)).take();
    const ends = Promise.allSettled(waiting);
    await expect(connections.permitOf(peerOf(bad)).take()).rejects.toThrow('too many calls from this address were refused');
    expect(warn).toHaveBeenCalledWith({ address: '127.0.0.1' }, 'too many refused calls; the connection is closed');
    await expect.poll(() => bad.closed || bad.destroyed).toBe(true);
    const closed = { status: 'rejected', reason: { details: 'the connection was closed' } };
    expect(await ends).toMatchObject(Array.from({ length: 100 }, () => closed));
    expect(good.destroyed).toBe(false);
    good.destroy();
  });

  it('that close end their waiting calls, and begin no other', async () => {
    const { connections, enter, taken } = await listen({}, new ManualClock());
    const bad = await enter();
    const peer = peerOf(bad);
    for (let n = 0; n < 100; n += 1) connections.permitOf(peer).refuse();
    const ends = Promise.allSettled([connections.permitOf(peer).take(), connections.permitOf(peer).take()]);
    taken[0]?.destroy();
    const closed = { status: 'rejected', reason: { details: 'the connection was closed' } };
    expect(await ends).toMatchObject([closed, closed]);
    await expect.poll(() => connections.size).toBe(0);
    await expect(connections.permitOf(peer).take()).rejects.toThrow('the connection was closed');
  });

  it('that close make room for the others of the same address', async () => {
    const clock = new ManualClock();
    const { connections, enter, dial, taken } = await listen({}, clock);
    const bad = await enter();
    for (let n = 0; n < 100; n += 1) connections.permitOf(peerOf(bad)).refuse();
    const ends = Promise.allSettled(Array.from({ length: 100 }, () => connections.permitOf(peerOf(bad)).take()));
    bad.destroy();
    await expect.poll(() => connections.size).toBe(0);
    await ends;
    const good = await dial();
    await expect.poll(() => connections.size).toBe(1);
    await clock.advance(50);
    await connections.permitOf(peerOf(good)).take();
    expect(taken[1]?.destroyed).toBe(false);
    good.destroy();
  });

  describe('that come when the permits of their address are spent', () => {
    const clock = new ManualClock();
    const TURN_MS = 50;
    let listening: Listening;
    let first: Socket;
    /** Dials, and waits until the connection is there. */
    const arrive = async (): Promise<Socket> => {
      const before = listening.connections.size;
      const socket = await listening.dial();
      await expect.poll(() => listening.connections.size).toBe(before + 1);
      return socket;
    };

    beforeEach(async () => {
      listening = await listen({}, clock);
      first = await listening.enter();
      for (let n = 0; n < 100; n += 1) listening.connections.permitOf(peerOf(first)).refuse();
    });
    afterEach(() => listening.connections.endAll());

    it('wait for a permit, which their first call has', async () => {
      const { connections, taken } = listening;
      const next = await arrive();
      await clock.advance(TURN_MS - 1);
      expect(taken).toHaveLength(1);
      await clock.advance(1);
      expect(taken).toHaveLength(2);
      expect(taken.map((socket) => connections.hasWaited(socket))).toEqual([false, true]);
      const permit = connections.permitOf(peerOf(next));
      await permit.take();
      let hasBegun = false;
      const second = connections.permitOf(peerOf(next)).take();
      void second.then(() => (hasBegun = true));
      await clock.advance(TURN_MS - 1);
      expect(hasBegun).toBe(false);
      permit.giveBack();
      await second;
    });

    it('wait in the order in which they came, with the calls of others', async () => {
      const { connections, taken } = listening;
      const call = connections.permitOf(peerOf(first)).take();
      const next = await arrive();
      await clock.advance(TURN_MS);
      await call;
      expect(taken).toHaveLength(1);
      await clock.advance(TURN_MS);
      expect(taken.map(({ remotePort }) => remotePort)).toEqual([first.localPort, next.localPort]);
    });

    it('keep their permit when they close without a call, and leave the queue when they close in it', async () => {
      const { connections, taken } = listening;
      const [silent, gone] = [await arrive(), await arrive()];
      await clock.advance(TURN_MS);
      expect(taken).toHaveLength(2);
      for (const socket of [silent, gone]) socket.destroy();
      await expect.poll(() => connections.size).toBe(1);
      await arrive();
      await clock.advance(TURN_MS - 1);
      expect(taken).toHaveLength(2);
      await clock.advance(1);
      expect(taken).toHaveLength(3);
    });

    it.each([0, 5])('are closed when a hundred wait, also while %d others have a permit and say nothing', async (silent) => {
      const { connections, dial, taken } = listening;
      for (let n = 0; n < silent; n += 1) await arrive();
      await clock.advance(silent * TURN_MS);
      const sockets = await Promise.all(Array.from({ length: 100 }, async () => (await dial()).resume()));
      await expect.poll(() => connections.size).toBe(101 + silent);
      await once((await dial()).resume(), 'close');
      expect([connections.size, taken.length, first.destroyed]).toEqual([101 + silent, 1 + silent, false]);
      for (const socket of sockets) socket.destroy();
    });
  });
});
