// `meridian install transparent-proxy` in network namespaces: what is redirected by each program, and that foreign rules stay.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MERIDIAN } from '../support/control-plane.ts';
import { APPLICATION, PROXY, RedirectedMachine } from './redirected-machine.ts';

const FIREWALLS = ['iptables-nft', 'iptables-legacy', 'nft'] as const;

/** All rules of the machine, without counters and times. */
async function allRules({ namespace }: RedirectedMachine): Promise<string> {
  const texts = [];
  for (const program of ['iptables-legacy-save', 'ip6tables-legacy-save', 'nft list ruleset', 'ip -o address show dev lo']) {
    const [name = '', ...args] = program.split(' ');
    texts.push(await namespace.outputOf(name, args));
  }
  return texts
    .join('\n')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\[\d+:\d+\]|counter packets \d+ bytes \d+/g, '');
}

/** Rules that another program installed: by each program, in both families. */
async function installForeignRules({ namespace }: RedirectedMachine): Promise<void> {
  for (const family of ['ip', 'ip6'])
    for (const variant of ['nft', 'legacy']) {
      const program = `${family}tables-${variant}`;
      await namespace.outputOf(program, ['-t', 'nat', '-N', 'OTHER']);
      await namespace.outputOf(program, ['-t', 'nat', '-A', 'OUTPUT', '-p', 'tcp', '--dport', '9', '-j', 'OTHER']);
      await namespace.outputOf(program, ['-t', 'raw', '-A', 'OUTPUT', '-p', 'udp', '--dport', '9', '-j', 'ACCEPT']);
      await namespace.outputOf(program, ['-t', 'nat', '-A', 'OTHER', '-m', 'comment', '--comment', 'not yours', '-j', 'RETURN']);
    }
  await namespace.outputOf('nft', ['add', 'table', 'inet', 'other']);
}

describe.each(FIREWALLS)('a redirection by %s', (firewall) => {
  it('brings connections to the proxy, and leaves alone what is excluded', async () => {
    const machine = await RedirectedMachine.create();
    await machine.install(
      ...['--firewall', firewall, '--redirect-dns', '--exclude-inbound-ports', '22', '--exclude-outbound-ports', '5432'],
      ...['--exclude-outbound-ips', '198.51.100.0/24', '--exclude-outbound-users', 'tcp:5433:2000-2001'],
      ...['--exclude-outbound-users', 'udp:53:2000'],
    );
    const { address, address6 } = machine.namespace;
    const { gateway: out, gateway6: out6 } = machine.namespace;
    expect(
      await machine.ask(APPLICATION, [
        ...['tcp 241.0.0.1 80', `tcp ${out} 80`, `tcp ${out} 5432`, `tcp ${out} 5433`, `udp ${out} 80`, `udp ${out} 53`],
        ...[`tcp ${out} 53`, 'tcp fd00:241::1 80', `tcp ${out6} 80`, `tcp ${out6} 5432`, `tcp ${out6} 53`, `udp ${out6} 80`],
        ...['tcp 127.0.0.1 8080', 'tcp ::1 8080', `tcp ${address} 8080`],
      ]),
    ).toEqual({
      'tcp 241.0.0.1 80': 'proxy:15001',
      [`tcp ${out} 80`]: 'proxy:15001',
      [`tcp ${out} 5432`]: 'outside:5432',
      [`tcp ${out} 5433`]: 'proxy:15001',
      [`udp ${out} 80`]: 'outside:80',
      [`udp ${out} 53`]: 'proxy:15053',
      [`tcp ${out} 53`]: 'proxy:15053',
      'tcp fd00:241::1 80': 'proxy:15001',
      [`tcp ${out6} 80`]: 'proxy:15001',
      [`tcp ${out6} 5432`]: 'outside:5432',
      // No nameserver of the machine.
      [`tcp ${out6} 53`]: 'outside:53',
      [`udp ${out6} 80`]: 'outside:80',
      'tcp 127.0.0.1 8080': 'application:8080',
      'tcp ::1 8080': 'application:8080',
      [`tcp ${address} 8080`]: 'application:8080',
    });
    // The proxy calls its application.
    expect(await machine.ask(PROXY, [`tcp ${address} 8080 from 127.0.0.6`, `tcp ${address6} 8080 from ::6`])).toEqual({
      [`tcp ${address} 8080 from 127.0.0.6`]: 'application:8080',
      [`tcp ${address6} 8080 from ::6`]: 'application:8080',
    });
    expect(
      await machine.ask(PROXY, [`tcp ${out} 80`, `udp ${out} 53`, `tcp ${out} 53`, 'tcp 127.0.0.1 8080', `tcp ${address} 8080`]),
    ).toEqual({
      [`tcp ${out} 80`]: 'outside:80',
      [`udp ${out} 53`]: 'outside:53',
      [`tcp ${out} 53`]: 'outside:53',
      'tcp 127.0.0.1 8080': 'application:8080',
      // The proxy calls a service of its own machine.
      [`tcp ${address} 8080`]: 'proxy:15006',
    });
    expect(await machine.ask(2000, [`tcp ${out} 80`, `tcp ${out} 5433`, `udp ${out} 53`])).toEqual({
      [`tcp ${out} 80`]: 'proxy:15001',
      [`tcp ${out} 5433`]: 'outside:5433',
      [`udp ${out} 53`]: 'outside:53',
    });
    expect(
      await machine.askFromOutside([`tcp ${address} 8080`, `tcp ${address6} 8080`, `tcp ${address} 22`, `udp ${address} 8080`]),
    ).toEqual({
      [`tcp ${address} 8080`]: 'proxy:15006',
      [`tcp ${address6} 8080`]: 'proxy:15006',
      [`tcp ${address} 22`]: 'application:22',
      [`udp ${address} 8080`]: 'application:8080',
    });
  });

  it('takes no connection of a neighbour for an address that is not of the machine', async () => {
    const machine = await RedirectedMachine.create();
    await machine.install('--firewall', firewall);
    const { namespace, outside } = machine;
    await outside.outputOf('ip', ['route', 'add', '241.0.0.0/8', 'via', namespace.address]);
    await outside.outputOf('ip', ['-6', 'route', 'add', 'fd00:241::/32', 'via', namespace.address6]);
    // The machine forwards, and has no way for it: the neighbour hears of that at once.
    await namespace.outputOf('sysctl', ['-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']);
    await namespace.outputOf('ip', ['route', 'add', 'unreachable', '241.0.0.0/8']);
    await namespace.outputOf('ip', ['-6', 'route', 'add', 'unreachable', 'fd00:241::/32']);
    const answers = await machine.askFromOutside(['tcp 241.0.0.1 80', 'tcp fd00:241::1 80', `tcp ${namespace.address} 8080`]);
    const [ipv4, ipv6, own] = Object.values(answers);
    expect([ipv4, ipv6].filter((answer) => answer?.endsWith('UNREACH'))).toHaveLength(2);
    expect(own).toBe('proxy:15006');
  });

  it('is the same after a second installation, and removed leaves what was found', async () => {
    const machine = await RedirectedMachine.create();
    await installForeignRules(machine);
    const found = await allRules(machine);
    await machine.install('--firewall', firewall, '--redirect-dns');
    const installed = await allRules(machine);
    expect(installed).not.toBe(found);
    await machine.install('--firewall', firewall, '--redirect-dns');
    expect(await allRules(machine)).toBe(installed);
    const options = ['--user', String(PROXY), '--redirect-dns'];
    const shown = await machine.meridian('inspect', 'transparent-proxy', ...options);
    expect(shown).toEqual({
      code: 0,
      stdout: `IPv4: redirected by ${firewall}, as the settings say\nIPv6: redirected by ${firewall}, as the settings say\n`,
      stderr: '',
    });
    const other = await machine.meridian('inspect', 'transparent-proxy', ...options, '--exclude-outbound-ports', '5432');
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('the rules differ from the settings');
    expect((await machine.meridian('uninstall', 'transparent-proxy')).stderr).toBe(`the rules of ${firewall} are removed\n`);
    expect(await allRules(machine)).toBe(found);
    expect((await machine.meridian('uninstall', 'transparent-proxy')).stderr).toBe('nothing was redirected\n');
  });
});

/** Rules that `kumactl install transparent-proxy --kuma-dp-user nobody --redirect-dns --dry-run` printed, for this machine. */
async function installKumactlRules({ namespace }: RedirectedMachine, variant: string): Promise<void> {
  for (const [family, name] of [
    ['ip', 'kumactl-ipv4.txt'],
    ['ip6', 'kumactl-ipv6.txt'],
  ] as const) {
    const printed = await readFile(join(import.meta.dirname, name), 'utf8');
    const input = printed.replaceAll('10.255.255.53', namespace.gateway).replaceAll('65534', String(PROXY));
    await namespace.outputOf(`${family}tables-${variant}-restore`, ['--noflush'], { input });
  }
}

describe('the rules of kumactl', () => {
  it('redirect as those of this command do, but questions to DNS by TCP', async () => {
    const machine = await RedirectedMachine.create();
    const { address, address6, gateway, gateway6 } = machine.namespace;
    const own = ['tcp 127.0.0.1 8080', 'tcp ::1 8080', `tcp ${address} 8080`, `tcp ${address6} 8080`];
    const out = ['tcp 241.0.0.1 80', `tcp ${gateway} 80`, `tcp ${gateway6} 80`, `udp ${gateway} 80`, `udp ${gateway} 53`];
    const byTcp = `tcp ${gateway} 53`;
    const answers = async () => [
      await machine.ask(APPLICATION, [...own, ...out, byTcp]),
      await machine.ask(PROXY, [...own, ...out.slice(1), byTcp]),
      await machine.askFromOutside([`tcp ${address} 22`, `tcp ${address6} 22`, `udp ${address} 22`]),
    ];
    await installKumactlRules(machine, 'nft');
    const [application, ...others] = await answers();
    await machine.install('--redirect-dns');
    expect(await answers()).toEqual([{ ...application, [byTcp]: 'proxy:15053' }, ...others]);
    expect(application?.[byTcp]).toBe('outside:53');
  });

  it.each(['nft', 'legacy'])('are shown, replaced and removed: iptables-%s', async (variant) => {
    const machine = await RedirectedMachine.create();
    await installForeignRules(machine);
    const found = await allRules(machine);
    await installKumactlRules(machine, variant);
    const shown = await machine.meridian('inspect', 'transparent-proxy', '--user', String(PROXY), '--redirect-dns');
    expect(shown.code).toBe(1);
    expect(shown.stdout).toContain(`IPv4: redirected by iptables-${variant}\n`);
    await machine.install('--redirect-dns');
    expect((await machine.meridian('inspect', 'transparent-proxy', '--user', String(PROXY), '--redirect-dns')).code).toBe(0);
    await machine.install('--redirect-dns', '--firewall', 'nft');
    expect((await machine.meridian('uninstall', 'transparent-proxy')).stderr).toBe('the rules of nft are removed\n');
    expect(await allRules(machine)).toBe(found);
    await installKumactlRules(machine, variant);
    await machine.meridian('uninstall', 'transparent-proxy');
    expect(await allRules(machine)).toBe(found);
  });
});

describe('a user without rights', () => {
  it('sees the rules, and gets the reason why they cannot be installed, shown or removed', async () => {
    const machine = await RedirectedMachine.create({ hasProxy: false });
    const run = async (...args: readonly string[]) => await machine.namespace.run(MERIDIAN, args, { uid: APPLICATION });
    const planned = await run('install', 'transparent-proxy', '--user', String(PROXY), '--dry-run');
    expect(planned.stderr).toBe('');
    expect(planned.stdout).toContain('-j REDIRECT --to-ports 15001');
    for (const verb of ['install', 'inspect', 'uninstall']) {
      const { code, stderr } = await run(verb, 'transparent-proxy', ...(verb === 'uninstall' ? [] : ['--user', String(PROXY)]));
      expect(stderr).toMatch(/^meridian: this process may not change the firewall: run as root, and in a container with /);
      expect(code).toBe(1);
    }
  });

  it('changes nothing where the kernel refuses a rule', async () => {
    const machine = await RedirectedMachine.create({ hasProxy: false });
    const found = await allRules(machine);
    // More than the number of a user may be.
    const { code, stderr } = await machine.meridian('install', 'transparent-proxy', '--user', '99999999999');
    expect(stderr).toMatch(/refused the rules:[^]*nothing is redirected now\n$/);
    expect(code).toBe(1);
    expect(await allRules(machine)).toBe(found);
  });
});
