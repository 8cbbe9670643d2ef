// Connections to a port, with real sockets.
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { connect, createServer, Server, type AddressInfo, type ListenOptions, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createSelfSigned } from '../base/self-signed.ts';
import { listen, log, open } from './connections.fixture.ts';
import { Connections, DEFAULT_CONNECTION_LIMITS, halfOfDescriptors } from './connections.ts';

const started = new AsyncDisposableStack();

afterAll(() => started.disposeAsync());

describe('connections', () => {
  it.each(['localhost', ''])('come over IPv4 and IPv6 where the host is %j', async (host) => {
    const taken: Socket[] = [];
    const port = await open((socket) => void taken.push(socket)).listen(host, 0);
    for (const address of ['127.0.0.1', '::1']) {
      const socket = connect(port, address);
      await once(socket, 'connect');
      socket.destroy();
    }
    await expect.poll(() => taken).toHaveLength(2);
  });

  it.each(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EADDRINUSE'])('come over IPv4 alone where ::1 fails with %s', async (code) => {
    // A machine without IPv6, or one on which another program has the port of the other address.
    type Listen = { listen: (this: Server, options: ListenOptions, then?: () => void) => Server };
    const servers = Server.prototype as Listen;
    const { listen: listenAt } = servers;
    const listening = vi.spyOn(servers, 'listen').mockImplementation(function (this: Server, options, then) {
      if (options.host !== '::1') return listenAt.call(this, options, then);
      process.nextTick(() => this.emit('error', Object.assign(new Error(code), { code })));
      return this;
    });
    const taken: Socket[] = [];
    const bound = open((socket) => void taken.push(socket)).listen('localhost', 0);
    try {
      if (code === 'EADDRINUSE') return await expect(bound).rejects.toThrow(code);
      const socket = connect(await bound, '127.0.0.1');
      await expect.poll(() => taken).toHaveLength(1);
      socket.destroy();
    } finally {
      listening.mockRestore();
    }
  });

  it('are accepted several at a time, where a turn of the event loop has many', async () => {
    let turn = 0;
    const turns: number[] = [];
    const connections = open(() => void turns.push(turn));
    const port = await connections.listen('127.0.0.1', 0);
    const sockets = Array.from({ length: 64 }, () => connect(port, '127.0.0.1'));
    while (turns.length < 64) {
      await setImmediate();
      turn += 1;
    }
    // Only some systems let several sockets listen to a port.
    expect(new Set(turns).size).toBeLessThan(process.platform === 'linux' ? 48 : 65);
    for (const socket of sockets) socket.destroy();
    connections.close();
  });

  it.each(['perAddress', 'total'] as const)('are refused over %s, and taken again when one has gone', async (key) => {
    const warn = vi.spyOn(log, 'warn').mockClear();
    const { connections, dial } = await listen({ perAddress: 90, total: 91, [key]: 3 });
    const open = await Promise.all([dial(), dial(), dial()]);
    await expect.poll(() => connections.size).toBe(3);
    await once((await dial()).resume(), 'close');
    expect(connections.size).toBe(3);
    const about = { limit: 3, key: `the.section.${key}` };
    expect(warn).toHaveBeenCalledWith(expect.objectContaining(about), 'a connection of a zone was refused: too many are open');
    open[0]?.destroy();
    await expect.poll(() => connections.size).toBe(2);
    const next = await dial();
    await expect.poll(() => connections.size).toBe(3);
    await once((await dial()).resume(), 'close');
    expect(connections.size).toBe(3);
    for (const socket of [...open, next]) socket.destroy();
    await expect.poll(() => connections.size).toBe(0);
  });

  it('are taken a few at a time until their first call, the oldest first', async () => {
    const taken: number[] = [];
    const clock = new ManualClock();
    const limits = DEFAULT_CONNECTION_LIMITS;
    const take = (socket: Socket): void => void taken.push(socket.resume().remotePort ?? 0);
    const connections = new Connections({ limits, greetings: 2, peers: 'zone', section: 's', take, log, clock });
    started.defer(() => connections.close());
    const port = await connections.listen('127.0.0.1', 0);
    const sockets: Socket[] = [];
    for (let n = 0; n < 6; n += 1) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      await expect.poll(() => connections.size).toBe(n + 1);
      sockets.push(socket);
    }
    const ports = sockets.map(({ localPort = 0 }) => localPort);
    expect(taken).toEqual(ports.slice(0, 2));
    // The second connection has its first call, and a connection that was not taken yet ends.
    await connections.permitOf(`127.0.0.1:${String(ports[1])}`).take();
    expect(taken).toEqual(ports.slice(0, 3));
    sockets[3]?.resetAndDestroy();
    await expect.poll(() => connections.size).toBe(5);
    // The third connection says nothing.
    await clock.advance(499);
    expect(taken).toHaveLength(3);
    await clock.advance(1);
    expect(taken).toEqual([...ports.slice(0, 3), ...ports.slice(4)]);
    for (const socket of sockets) socket.destroy();
  });

  describe('that wait to be taken', () => {
    const clock = new ManualClock();
    const GREETING_MS = 500;
    let taken: Socket[];
    let connections: Connections;
    let dial: (said?: string) => Promise<Socket>;

    /** One connection is taken and says nothing. */
    beforeEach(async () => {
      taken = [];
      const take = (socket: Socket): void => void taken.push(socket);
      connections = new Connections({
        ...{ limits: DEFAULT_CONNECTION_LIMITS, greetings: 1 },
        peers: 'zone',
        section: 's',
        take,
        log,
        clock,
      });
      const port = await connections.listen('127.0.0.1', 0);
      dial = async (said = '') => {
        const before = connections.size;
        const socket = connect(port, '127.0.0.1');
        started.defer(() => void socket.destroy());
        await once(socket, 'connect');
        socket.write(said);
        await expect.poll(() => connections.size).toBe(before + 1);
        return socket;
      };
      await dial();
      expect(taken).toHaveLength(1);
    });
    afterEach(() => {
      connections.close();
      connections.endAll();
    });

    it('are gone when their peer ends them, also after it has said something', async () => {
      const [ended, lives] = [await dial('something'), await dial()];
      ended.end();
      await expect.poll(() => connections.size).toBe(2);
      await clock.advance(GREETING_MS);
      expect(taken.map(({ remotePort }) => remotePort).slice(1)).toEqual([lives.localPort]);
    });

    it('are taken when the connection before them is closed, in the order in which they came', async () => {
      const [first, second] = [await dial(), await dial()];
      taken[0]?.destroy();
      await expect.poll(() => taken.map(({ remotePort }) => remotePort).slice(1)).toEqual([first.localPort]);
      taken[1]?.destroy();
      await expect.poll(() => taken.map(({ remotePort }) => remotePort).slice(2)).toEqual([second.localPort]);
      expect(clock.sleepers).toBe(1);
    });

    it('keep the bytes that their peer sent before they are taken', async () => {
      const socket = await dial('first, ');
      await clock.advance(GREETING_MS);
      socket.write('second');
      let heard = '';
      taken[1]?.on('data', (bytes) => (heard += String(bytes)));
      await expect.poll(() => heard).toBe('first, second');
    });

    it('can be taken for TLS', async () => {
      const { certPem: cert, keyPem: key } = await createSelfSigned('server', ['localhost'], new Date());
      const server = createTlsServer({ cert, key }, (socket) => socket.pipe(socket));
      const socket = connectTls({ socket: await dial(), servername: 'localhost', rejectUnauthorized: false });
      socket.write('said in TLS');
      // The first bytes of the handshake are here before the connection is taken.
      await expect.poll(() => connections.size).toBe(2);
      await clock.advance(GREETING_MS);
      server.emit('connection', taken[1]);
      let heard = '';
      socket.on('data', (bytes) => (heard += String(bytes)));
      await expect.poll(() => heard).toBe('said in TLS');
    });

    it('are read no further than a limit', async () => {
      const socket = await dial();
      const said = 'x'.repeat(10_000_000);
      socket.write(said);
      await expect.poll(() => socket.bytesWritten > 100_000 && socket.writableLength > 1_000_000).toBe(true);
      await clock.advance(GREETING_MS);
      let heard = 0;
      taken[1]?.on('data', (bytes) => (heard += bytes.length));
      await expect.poll(() => heard).toBe(said.length);
    });
  });

  it('that are new are refused after the close, those that are open stay', async () => {
    const { connections, dial } = await listen();
    const open = await dial();
    await expect.poll(() => connections.size).toBe(1);
    connections.close();
    await expect(dial()).rejects.toThrow();
    expect([connections.size, open.destroyed]).toEqual([1, false]);
    open.destroy();
  });

  it('cannot be taken on a port that another program has', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connections = open(() => undefined);
    await expect(connections.listen('127.0.0.1', port)).rejects.toThrow('EADDRINUSE');
    server.close();
  });

  it('cannot be taken on the port of another control plane', async () => {
    const port = await open(() => undefined).listen('127.0.0.1', 0);
    await expect(open(() => undefined).listen('127.0.0.1', port)).rejects.toThrow('EADDRINUSE');
  });

  it('cannot be taken on localhost where another program has the port over IPv6', async () => {
    const server = createServer();
    server.listen(0, '::1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(open(() => undefined).listen('localhost', port)).rejects.toThrow('EADDRINUSE');
    server.close();
  });
});

it.each([
  ['Limit  Soft Limit  Hard Limit  Units\nMax processes  7  7  processes\nMax open files  1025  4096  files\n', 512],
  ['Max open files            unlimited            unlimited            files\n', Infinity],
])('have half of the file descriptors that the process may open: %j', (limits, half) => {
  expect(halfOfDescriptors(limits)).toBe(half);
});
