// The DNS server of a proxy with real clients and resolvers on this machine.
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { decode, encode, TRUNCATED_RESPONSE, type DecodedPacket, type Packet } from 'dns-packet';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openDnsServer, type DnsServer } from '../../src/dns/dns-server.ts';
import type { Server } from '../../src/dns/resolv-conf.ts';
import { framed, TcpFrames } from '../../src/dns/tcp-frames.ts';
import { freePort } from '../support/free-port.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { addressesAre, answerTo, FakeResolver } from './fake-resolver.ts';

/** Of the resolvers. */
const TIMEOUT_MS = 60_000;

type Started = { readonly port: number; readonly server: DnsServer; readonly lines: string[] };

const TABLE: Readonly<Record<string, readonly string[]>> = {
  'cart.svc.mesh.local': ['241.0.0.1'],
  'catalog.svc.mesh.local': ['241.0.0.2', 'fd00:fd00::2'],
  'many.svc.mesh.local': Array.from({ length: 200 }, (_, at) => `241.0.1.${String(at)}`),
};

async function start(servers: readonly Server[], clock: Clock = systemClock): Promise<Started> {
  const lines: string[] = [];
  const port = await freePort();
  const resolvers = { servers, timeoutMs: TIMEOUT_MS, attempts: 2, rotates: false };
  const server = await openDnsServer({
    port,
    names: { table: { lookup: (hostname) => TABLE[hostname] }, isKnown: () => true, isWaiting: () => false, mapsIpv4: true },
    resolvers: { current: async () => await Promise.resolve(resolvers) },
    clock,
    log: createLogger('warn', {}, { write: (line) => void lines.push(line) }),
  });
  onTestFinished(async () => await server.close());
  return { port, server, lines };
}

/** A client in this process; it asks one server. */
function client(port: number, host = '127.0.0.1'): Resolver {
  const resolver = new Resolver({ timeout: 30_000, tries: 1 });
  resolver.setServers([`${host}:${String(port)}`]);
  onTestFinished(() => resolver.cancel());
  return resolver;
}

const query = (name: string, given: Packet = {}): Buffer =>
  encode({ id: 7, questions: [{ type: 'A', class: 'IN', name }], ...given });

/** One message by UDP and its answer. */
async function byUdp(port: number, message: Buffer): Promise<{ bytes: Buffer; packet: DecodedPacket & { rcode?: string } }> {
  const socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  socket.send(message, port, '127.0.0.1');
  const [bytes] = (await once(socket, 'message')) as [Buffer];
  return { bytes, packet: decode(bytes) };
}

/** A connection that keeps what it gets. */
async function byTcp(port: number): Promise<{ socket: Socket; answers: DecodedPacket[] }> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const frames = new TcpFrames();
  const answers: DecodedPacket[] = [];
  socket.on('data', (chunk) => answers.push(...frames.push(chunk).map((message) => decode(message))));
  await once(socket, 'connect');
  return { socket, answers };
}

const nobody = async (): Promise<Server> => ({ address: '127.0.0.1', port: await freePort() });

describe('a DNS server', () => {
  it.each(['127.0.0.1', '[::1]'])('answers queries for mesh names at %s', async (host) => {
    const { port, server } = await start([await nobody()]);
    const asking = client(port, host);
    expect(await asking.resolve4('Cart.svc.mesh.local', { ttl: true })).toEqual([{ address: '241.0.0.1', ttl: 30 }]);
    expect(await asking.resolve6('cart.svc.mesh.local')).toEqual(['::ffff:241.0.0.1']);
    expect(await asking.resolve6('catalog.svc.mesh.local')).toEqual(['fd00:fd00::2']);
    await expect(asking.resolveMx('cart.svc.mesh.local')).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(asking.resolve4('gone.svc.mesh.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(server.counters()).toMatchObject({ answered: 4, missing: 1, forwarded: 0 });
  });

  it('gives a long answer by TCP', async () => {
    const { port } = await start([await nobody()]);
    expect((await byUdp(port, query('many.svc.mesh.local'))).packet).toMatchObject({ flag_tc: true, answers: [] });
    expect(await client(port).resolve4('many.svc.mesh.local')).toHaveLength(200);
  });

  it('forwards other names byte for byte in both directions', async () => {
    const resolver = await FakeResolver.start(addressesAre('192.0.2.1'));
    const { port, server } = await start([resolver.server]);
    const asked = query('Shop.Example', { flags: 0x120 });
    const { bytes } = await byUdp(port, asked);
    expect(resolver.asked).toEqual([asked]);
    expect(bytes).toEqual(resolver.reply(decode(asked), 'udp'));
    expect(server.counters()).toMatchObject({ forwarded: 1, answered: 0 });
  });

  it('forwards a mesh name that has a search domain behind it', async () => {
    const resolver = await FakeResolver.start((asked) => answerTo(asked, [], 3));
    const { port } = await start([resolver.server]);
    const asked = client(port).resolve4('cart.svc.mesh.local.corp.example');
    await expect(asked).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(resolver.asked).toHaveLength(1);
  });

  it('passes a truncated answer on, and the query by TCP that follows', async () => {
    const full = addressesAre(...Array.from({ length: 100 }, (_, at) => `192.0.2.${String(at)}`));
    const resolver = await FakeResolver.start((asked, transport) =>
      transport === 'tcp' ? full(asked, transport) : answerTo(asked, [], TRUNCATED_RESPONSE),
    );
    const { port } = await start([resolver.server]);
    expect(await client(port).resolve4('large.example')).toHaveLength(100);
  });

  it('asks the next resolver where the first one is not there, and fails where none is', async () => {
    const resolver = await FakeResolver.start(addressesAre('192.0.2.1'));
    const { port } = await start([await nobody(), resolver.server]);
    expect(await client(port).resolve4('shop.example')).toEqual(['192.0.2.1']);
    const alone = await start([await nobody(), await nobody()]);
    for (const name of ['a.example', 'b.example']) {
      const { packet } = await byUdp(alone.port, query(name));
      expect(packet).toMatchObject({ id: 7, rcode: 'SERVFAIL', questions: [{ name }] });
    }
    expect(alone.server.counters()).toMatchObject({ silent: 2 });
    expect(alone.lines.join('')).toMatch(/^[^\n]*no resolver answers[^\n]*\n$/);
  });

  it('asks the next resolver where the kernel refuses to send to the first one', async () => {
    const resolver = await FakeResolver.start(addressesAre('192.0.2.1'));
    const { port, server } = await start([{ address: '255.255.255.255', port: 53 }, resolver.server]);
    expect(await client(port).resolve4('shop.example')).toEqual(['192.0.2.1']);
    expect(server.counters()).toMatchObject({ forwarded: 1 });
  });

  it('fails by TCP where no resolver takes a connection, or each closes it', async () => {
    const closing = await FakeResolver.start(() => null);
    const { port, server } = await start([await nobody(), closing.server]);
    const { socket, answers } = await byTcp(port);
    socket.write(framed(query('shop.example')));
    await expect.poll(() => answers).toMatchObject([{ rcode: 'SERVFAIL' }]);
    expect(server.counters()).toMatchObject({ silent: 1 });
  });

  it.each([
    ['does not answer', (): null => null],
    ['answers another query', (asked: Packet) => answerTo({ ...asked, id: (asked.id ?? 0) ^ 1 }, [])],
  ])('asks the next resolver after one that %s in its turn', async (_, reply) => {
    const clock = new ManualClock();
    const silent = await FakeResolver.start(reply);
    const resolver = await FakeResolver.start(addressesAre('192.0.2.1'));
    const { port } = await start([silent.server, resolver.server], clock);
    const asked = client(port).resolve4('a.example');
    await expect.poll(() => silent.asked).toHaveLength(1);
    await clock.advance(TIMEOUT_MS / 2);
    expect(await asked).toEqual(['192.0.2.1']);
    // The next query does not wait for it.
    expect(await client(port).resolve4('b.example')).toEqual(['192.0.2.1']);
    expect(silent.asked).toHaveLength(1);
  });

  it.each(['udp', 'tcp'] as const)('notices that its queries by %s come back to it', async (transport) => {
    const own: Server = { address: '127.0.0.1', port: 0 };
    const { port, server, lines } = await start([own]);
    Object.assign(own, { port });
    if (transport === 'udp') expect((await byUdp(port, query('a.example'))).packet).toMatchObject({ rcode: 'SERVFAIL' });
    else {
      const { socket, answers } = await byTcp(port);
      socket.write(framed(query('a.example')));
      await expect.poll(() => answers).toMatchObject([{ rcode: 'SERVFAIL' }]);
    }
    expect(server.counters()).toMatchObject({ looped: 1 });
    expect(lines.join('')).toContain('come back to this DNS server');
  });

  it('refuses queries while too many wait for resolvers, and answers mesh names meanwhile', async () => {
    const resolver = await FakeResolver.start(() => null);
    const { port, server } = await start([resolver.server]);
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    for (let sent = 0; sent < 256; sent += 64) {
      // Few at once: UDP may lose what nobody reads.
      for (let id = sent; id < sent + 64; id += 1) socket.send(query('slow.example', { id }), port, '127.0.0.1');
      await expect.poll(() => resolver.asked.length).toBe(sent + 64);
    }
    expect((await byUdp(port, query('other.example'))).packet).toMatchObject({ rcode: 'SERVFAIL' });
    expect((await byUdp(port, query('cart.svc.mesh.local'))).packet).toMatchObject({ rcode: 'NOERROR' });
    expect(server.counters()).toMatchObject({ full: 1, answered: 1 });
  });

  it('answers several queries of one connection, also those before its end', async () => {
    const resolver = await FakeResolver.start(addressesAre('192.0.2.1'));
    const { port } = await start([resolver.server]);
    const { socket, answers } = await byTcp(port);
    const names = Array.from({ length: 40 }, (_, id) => (id % 2 === 0 ? 'cart.svc.mesh.local' : 'shop.example'));
    socket.end(Buffer.concat(names.map((name, id) => framed(query(name, { id })))));
    await once(socket, 'end');
    const found = answers.map(({ id, questions }) => `${String(id)} ${questions?.[0]?.name ?? ''}`);
    expect(found.toSorted()).toEqual(names.map((name, id) => `${String(id)} ${name}`).toSorted());
  });

  it('says FORMERR to a message without a question that can be read, and goes on', async () => {
    const { port, server } = await start([await nobody()]);
    const { packet } = await byUdp(port, query('cart.svc.mesh.local').subarray(0, 20));
    expect(packet).toMatchObject({ id: 7, rcode: 'FORMERR' });
    const { socket, answers } = await byTcp(port);
    socket.write(Buffer.concat([framed(Buffer.alloc(3)), framed(query('cart.svc.mesh.local'))]));
    await expect.poll(() => answers).toMatchObject([{ rcode: 'NOERROR' }]);
    expect(server.counters()).toMatchObject({ malformed: 1, answered: 1 });
  });

  it('names the port that it cannot have', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const bound = taken.address();
    const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
    const opening = openDnsServer({
      port,
      names: { table: { lookup: () => undefined }, isKnown: () => true, isWaiting: () => false, mapsIpv4: true },
      resolvers: { current: async () => await Promise.reject(new Error('unused')) },
      clock: systemClock,
      log: createLogger('silent'),
    });
    await expect(opening).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('ends with queries that wait', async () => {
    const resolver = await FakeResolver.start(() => null);
    const { port, server } = await start([resolver.server]);
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    socket.send(query('slow.example'), port, '127.0.0.1');
    const tcp = await byTcp(port);
    tcp.socket.write(framed(query('slow.example')));
    await expect.poll(() => resolver.asked.length).toBeGreaterThanOrEqual(2);
    await server.close();
    await once(tcp.socket, 'close');
  });
});
