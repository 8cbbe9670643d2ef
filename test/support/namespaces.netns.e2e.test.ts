// The network namespaces of tests.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Namespace } from './namespaces.ts';

const list = (): string => execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' });
const links = (): string => execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' });
/** A process that has ended and was not waited for has no command line. */
const isRunning = (pid: number): boolean => {
  const file = `/proc/${String(pid)}/cmdline`;
  return existsSync(file) && readFileSync(file, 'utf8') !== '';
};

/** What a TCP server says to a program in the namespace. */
const SAY = `const { connect } = require('node:net');
connect(Number(process.argv[2]), process.argv[1]).pipe(process.stdout);`;
/** Prints its port, and says to each client where it comes from. */
const LISTEN = `const server = require('node:net').createServer((socket) => socket.end(socket.remoteAddress));
server.listen(0, () => process.stdout.write(String(server.address().port)));`;

describe('a network namespace', () => {
  it('reaches the machine by IPv4 and IPv6, and has a resolv.conf of its own', async () => {
    const namespace = Namespace.create({ resolvConf: 'nameserver 192.0.2.53\n' });
    const server = createServer((socket) => socket.end(String(socket.remoteAddress))).listen(0, '::');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    for (const [gateway, own] of [
      [namespace.gateway, `::ffff:${namespace.address}`],
      [namespace.gateway6, namespace.address6],
    ] as const)
      expect(await namespace.outputOf(process.execPath, ['-e', SAY, gateway, String(port)])).toBe(own);
    expect(await namespace.outputOf('cat', ['/etc/resolv.conf'])).toBe('nameserver 192.0.2.53\n');
    server.close();
  });

  it('runs programs as another user, which may read all files', async () => {
    const namespace = Namespace.create();
    expect(await namespace.outputOf('id', ['-u'], { uid: 5678 })).toBe('5678\n');
    await namespace.outputOf('cat', ['/etc/shadow'], { uid: 5678 });
  });

  it('reaches another one through their router', async () => {
    const router = Namespace.create();
    const [first, second] = [Namespace.create({ router }), Namespace.create({ router })];
    const [port] = (await once(second.spawn(process.execPath, ['-e', LISTEN]).stdout, 'data')) as [Buffer];
    for (const [address, own] of [
      [second.address, `::ffff:${first.address}`],
      [second.address6, first.address6],
    ] as const)
      expect(await first.outputOf(process.execPath, ['-e', SAY, address, String(port)])).toBe(own);
  });

  it('leaves nothing, and no process, when it is closed', async () => {
    const namespace = Namespace.open();
    const child = namespace.spawn('sleep', ['1000']);
    const ended = new Promise((resolve) => {
      child.once('exit', (_, signal) => resolve(signal));
    });
    // A process that another one started, and left.
    const grandchild = Number(await namespace.outputOf('sh', ['-c', 'setsid sleep 1000 >/dev/null 2>&1 & echo $!']));
    expect(list()).toContain(namespace.name);
    namespace.close();
    expect(await ended).toBe('SIGKILL');
    await expect.poll(() => isRunning(grandchild)).toBe(false);
    expect(list()).not.toContain(namespace.name);
    expect(links()).not.toContain(namespace.name.replace('meridian-', 'mrd-'));
    expect(existsSync(`/etc/netns/${namespace.name}`)).toBe(false);
  });
});
