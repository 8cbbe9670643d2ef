// A machine whose connections are redirected: a namespace with a proxy, an application, and a network outside. Each server says by which port a
// connection, or a packet, came to it, before it reads anything.
import { once } from 'node:events';
import { MERIDIAN } from '../support/control-plane.ts';
import { Namespace } from '../support/namespaces.ts';
import type { Outcome } from '../support/run-meridian.ts';

/** The user of the proxy. */
export const PROXY = 5678;
/** A user of applications. */
export const APPLICATION = 1000;

/** Servers at ports of all addresses for TCP, and of given ones for UDP: an answer has the address of its socket. */
const SERVE = `
const [name, addresses, ...ports] = process.argv.slice(1);
const { createServer } = require('node:net');
const { createSocket } = require('node:dgram');
const udp = addresses.split(',');
let open = 0;
const ready = () => ++open === ports.length * (1 + udp.length) && process.stdout.write('ready');
for (const port of ports) {
  const says = name + ':' + port;
  createServer((socket) => socket.on('error', () => {}).end(says)).listen(Number(port), '::', ready);
  for (const address of udp) {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4', (_, from) => socket.send(says, from.port, from.address));
    socket.bind(Number(port), address, ready);
  }
}`;

/** What the servers at destinations say: \`tcp 10.0.0.1 80\`, or \`tcp 10.0.0.1 80 from 10.0.0.2\`; a code for a connection that fails. */
const ASK = `
const { connect } = require('node:net');
const { createSocket } = require('node:dgram');
const ask = { tcp: (address, port, localAddress) => new Promise((done) => {
  const socket = connect({ host: address, port, localAddress, timeout: 20000 });
  let said = '';
  socket.on('data', (data) => { said += data; }).on('end', () => done(said)).on('error', ({ code }) => done(code));
  socket.on('timeout', () => { socket.destroy(); done('timeout'); });
}), http: (address, port) => new Promise((done) => {
  require('node:http').get({ host: address, port, path: '/ready', timeout: 20000 }, async (answer) => {
    let said = String(answer.statusCode) + ' ';
    for await (const part of answer) said += part;
    done(said.trim());
  }).on('error', ({ code }) => done(code));
}), udp: (address, port) => new Promise((done) => {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4', (data) => { socket.close(); done(String(data)); });
  socket.on('error', ({ code }) => done(code));
  setTimeout(() => done('timeout'), 20000).unref();
  socket.connect(port, address, () => socket.send('?'));
}) };
Promise.all(process.argv.slice(1).map((text) => { const [kind, address, port, , from] = text.split(' '); return ask[kind](address, Number(port), from); }))
  .then((answers) => { process.stdout.write(JSON.stringify(answers)); process.exit(0); });`;

export class RedirectedMachine {
  readonly namespace: Namespace;
  /** The machine beyond its interface, which is also its nameserver. */
  readonly outside: Namespace;

  private constructor(outside: Namespace, namespace: Namespace) {
    this.outside = outside;
    this.namespace = namespace;
  }

  /** @param hasProxy false: a test starts an own one @param passwd the users of the machine */
  static async create({ hasProxy = true, passwd }: { hasProxy?: boolean; passwd?: string } = {}): Promise<RedirectedMachine> {
    const outside = Namespace.create();
    const machine = new RedirectedMachine(
      outside,
      Namespace.create({ router: outside, ...(passwd !== undefined && { passwd }) }),
    );
    await Promise.all([
      serve(outside, 'outside', '::', ['53', '80', '5432', '5433']),
      serve(machine.namespace, 'application', '::', ['22', '8080']),
      ...(hasProxy ? [serve(machine.namespace, 'proxy', '127.0.0.1,::1', ['15001', '15006', '15053'], PROXY)] : []),
    ]);
    return machine;
  }

  async meridian(...args: readonly string[]): Promise<Outcome> {
    return await this.namespace.run(MERIDIAN, args);
  }

  /** Installs with the user of the proxy. @throws Error with all that it printed when it fails */
  async install(...args: readonly string[]): Promise<void> {
    await this.namespace.outputOf(MERIDIAN, ['install', 'transparent-proxy', '--user', String(PROXY), ...args]);
  }

  /** What destinations say to a user of the machine, by destination. */
  async ask(uid: number, destinations: readonly string[]): Promise<Record<string, string>> {
    return await ask(this.namespace, destinations, uid);
  }

  /** The same from outside. */
  async askFromOutside(destinations: readonly string[]): Promise<Record<string, string>> {
    return await ask(this.outside, destinations);
  }
}

async function serve(
  namespace: Namespace,
  name: string,
  udpAddresses: string,
  ports: readonly string[],
  uid?: number,
): Promise<void> {
  const child = namespace.spawn(process.execPath, ['-e', SERVE, name, udpAddresses, ...ports], uid === undefined ? {} : { uid });
  await once(child.stdout, 'data');
}

async function ask(namespace: Namespace, destinations: readonly string[], uid?: number): Promise<Record<string, string>> {
  const output = await namespace.outputOf(process.execPath, ['-e', ASK, ...destinations], uid === undefined ? {} : { uid });
  const answers = JSON.parse(output) as string[];
  return Object.fromEntries(destinations.map((destination, at) => [destination, answers[at] ?? '']));
}
