// Applications of a redirected machine resolve names: `meridian install transparent-proxy` and `dataplane run`, with a fake Envoy and no
// control plane. The resolver of the machine is beyond its interface.
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addressesAre, FakeResolver } from '../dns/fake-resolver.ts';
import { MERIDIAN } from '../support/control-plane.ts';
import { Namespace } from '../support/namespaces.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { DATAPLANE, fakeEnvoy, leftNames } from './launched.ts';

const PROXY = 5678;
const APPLICATION = 1000;

const NAMES = {
  'cart.svc.mesh.local': ['241.0.0.1'],
  'many.svc.mesh.local': Array.from({ length: 100 }, (_, at) => `241.0.1.${String(at)}`),
};

/** The records of a name as JSON, or the error. Node asks by TCP where an answer is cut. */
const RESOLVE = `const [name, type] = process.argv.slice(1);
require('node:dns').promises.resolve(name, type)
  .then((found) => process.stdout.write(JSON.stringify(found)), ({ code }) => process.stdout.write(JSON.stringify(code)));`;

class Machine {
  readonly namespace: Namespace;
  readonly lines: string[] = [];

  constructor(namespace: Namespace) {
    this.namespace = namespace;
  }

  /** @param file of settings */
  async install(file: string): Promise<void> {
    const options = ['--user', String(PROXY), '--redirect-all-dns-traffic', '--transparent-proxy-config', file];
    await this.namespace.outputOf(MERIDIAN, ['install', 'transparent-proxy', ...options]);
  }

  /** Starts a launcher, and waits until it answers queries. */
  async launch(uid: number, ...args: readonly string[]): Promise<void> {
    const folder = temporaryFolder();
    const work = join(folder, 'work');
    const { envoy, env } = await fakeEnvoy();
    mkdirSync(work, { mode: 0o700 });
    writeFileSync(join(work, 'names.json'), leftNames(NAMES));
    writeFileSync(join(folder, 'dataplane.yaml'), DATAPLANE);
    for (const path of [work, join(work, 'names.json')]) chownSync(path, uid, uid);
    // Whether a user can run a program does not depend on the rights of the process.
    for (const path of [dirname(envoy), envoy]) chmodSync(path, 0o755);
    const own = ['--work-dir', work, '-d', join(folder, 'dataplane.yaml'), '--envoy', envoy, '--cp-address', 'https://192.0.2.1'];
    const child = this.namespace.spawn(MERIDIAN, ['dataplane', 'run', ...own, ...args], {
      ...(uid !== 0 && { uid }),
      env: { ...process.env, ...env },
    });
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
    await expect.poll(() => this.lines.join('\n')).toContain('"dnsPort":');
  }

  /** What the C library finds for an application. */
  async getent(name: string): Promise<string> {
    const { code, stdout } = await this.namespace.run('getent', ['ahostsv4', name], { uid: APPLICATION });
    return code === 0 ? (stdout.split(/\s/)[0] ?? '') : 'not found';
  }

  async resolve(name: string, type = 'A'): Promise<unknown> {
    return JSON.parse(await this.namespace.outputOf(process.execPath, ['-e', RESOLVE, name, type], { uid: APPLICATION }));
  }
}

function settingsFile(text: string): string {
  const file = join(temporaryFolder(), 'settings.yaml');
  writeFileSync(file, text);
  return file;
}

/** The names that a resolver was asked for. */
function askedOf({ asked }: FakeResolver): string[] {
  return asked.map((message) => message.toString('latin1')).flatMap((text) => (text.includes('shop') ? ['shop'] : ['other']));
}

describe('an application of a redirected machine', () => {
  it('finds mesh names at the launcher, and all others at the resolvers of the machine', async () => {
    const namespace = Namespace.create();
    namespace.writeResolvConf(`nameserver ${namespace.gateway}\nsearch svc.mesh.local\n`);
    const resolver = await FakeResolver.start(addressesAre('192.0.2.7'), { address: namespace.gateway, port: 53 });
    const machine = new Machine(namespace);
    const settings = settingsFile('redirect: { dns: { port: 5353 } }\n');
    await machine.install(settings);
    await machine.launch(PROXY, '--transparent-proxy', '--user', String(PROXY), '--transparent-proxy-config', settings);
    expect(await machine.getent('cart.svc.mesh.local')).toBe('241.0.0.1');
    expect(await machine.resolve('cart.svc.mesh.local', 'AAAA')).toEqual(['::ffff:241.0.0.1']);
    // By its search domain.
    expect(await machine.getent('cart')).toBe('241.0.0.1');
    expect(await machine.getent('gone.svc.mesh.local')).toBe('not found');
    expect(await machine.resolve('many.svc.mesh.local')).toHaveLength(100);
    expect(askedOf(resolver)).toEqual([]);
    expect(await machine.getent('shop.example')).toBe('192.0.2.7');
    expect(new Set(askedOf(resolver))).toEqual(new Set(['shop']));
    // Another resolver, by IPv6.
    const other = await FakeResolver.start(addressesAre('192.0.2.8'), { address: namespace.gateway6, port: 53 });
    namespace.writeResolvConf(`nameserver ${namespace.gateway6}\n`);
    await expect.poll(async () => await machine.getent('shop.example')).toBe('192.0.2.8');
    expect(new Set(askedOf(other))).toEqual(new Set(['shop']));
    expect(await machine.getent('cart.svc.mesh.local')).toBe('241.0.0.1');
  });

  it('gets an answer at once where the queries of the launcher come back to it', async () => {
    const machine = new Machine(Namespace.create());
    // With zones of conntrack its answers would be lost: they are known by the user of the proxy.
    await machine.install(settingsFile('redirect: { dns: { skipConntrackZoneSplit: true } }\n'));
    // Root, whose queries are redirected.
    await machine.launch(0, '--dns-port', '15053');
    expect(await machine.resolve('shop.example')).toBe('ESERVFAIL');
    expect(machine.lines.join('\n')).toContain('exclude its user from the redirection');
    expect(await machine.getent('cart.svc.mesh.local')).toBe('241.0.0.1');
  });
});
