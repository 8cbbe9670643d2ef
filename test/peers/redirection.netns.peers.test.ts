// The rules of kumactl and of Meridian in place of each other.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { MERIDIAN } from '../support/control-plane.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { APPLICATION, PROXY, RedirectedMachine } from '../redirect/redirected-machine.ts';
import { peerProgram } from './peers-folder.ts';

/** A user that kumactl looks for. */
const PASSWD = `root:x:0:0::/root:/bin/sh\nkuma-dp:x:${String(PROXY)}:${String(PROXY)}::/:/bin/sh\n`;

const SETTINGS = `kumaDPUser: kuma-dp
redirect:
  inbound: { excludePorts: [22] }
  outbound: { excludePorts: [5432], excludePortsForIPs: ["198.51.100.0/24"], excludePortsForUIDs: ["tcp:5433:2000-2001", "udp:53:2000"] }
  dns: { enabled: true }
`;

type Programs = { readonly machine: RedirectedMachine; readonly settings: string };

async function prepare(): Promise<Programs> {
  const settings = join(temporaryFolder(), 'redirect.yaml');
  await writeFile(settings, SETTINGS);
  return { machine: await RedirectedMachine.create({ passwd: PASSWD }), settings };
}

async function kumactl({ machine }: Programs, ...args: readonly string[]): Promise<string> {
  return await machine.namespace.outputOf(peerProgram(inject('peersFolder'), 'kumactl'), [...args, '--no-config']);
}

async function meridian({ machine }: Programs, ...args: readonly string[]): Promise<string> {
  return await machine.namespace.outputOf(MERIDIAN, args);
}

/** Rules of either program. */
async function rules({ machine }: Programs): Promise<string[]> {
  const texts = [];
  for (const program of ['iptables-save', 'ip6tables-save']) texts.push(await machine.namespace.outputOf(program));
  return texts
    .join('\n')
    .split('\n')
    .filter((line) => line.startsWith('-A '));
}

/** Where connections of each user go, but those of DNS by TCP, which kumactl leaves alone. */
async function answers({ machine }: Programs): Promise<readonly Record<string, string>[]> {
  const { address, address6, gateway: out, gateway6: out6 } = machine.namespace;
  const own = ['tcp 127.0.0.1 8080', 'tcp ::1 8080', `tcp ${address} 8080`];
  const outside = [`tcp ${out} 80`, `tcp ${out} 5432`, `tcp ${out} 5433`, `udp ${out} 80`, `udp ${out} 53`, `tcp ${out6} 80`];
  return [
    await machine.ask(APPLICATION, [...own, ...outside, 'tcp 241.0.0.1 80']),
    await machine.ask(2000, outside),
    await machine.ask(PROXY, [...own, ...outside]),
    await machine.askFromOutside([`tcp ${address} 8080`, `tcp ${address} 22`, `tcp ${address6} 8080`, `udp ${address} 22`]),
  ];
}

it('redirect the same by the same file, and each program replaces the rules of the other', async () => {
  const programs = await prepare();
  const { settings } = programs;
  await meridian(programs, 'install', 'transparent-proxy', '--transparent-proxy-config', settings);
  const [own, ownAnswers] = [await rules(programs), await answers(programs)];
  await kumactl(programs, 'install', 'transparent-proxy', '--config', settings);
  const kumas = await rules(programs);
  expect(kumas.filter((rule) => own.includes(rule))).toEqual([]);
  expect(await answers(programs)).toEqual(ownAnswers);
  await meridian(programs, 'install', 'transparent-proxy', '--transparent-proxy-config', settings);
  expect(await rules(programs)).toEqual(own);
});

it.each([
  ['kumactl', 'meridian'],
  ['meridian', 'kumactl'],
] as const)('of %s go by %s', async (installs, removes) => {
  const programs = await prepare();
  const calls = {
    kumactl: async (verb: string) => await kumactl(programs, verb, 'transparent-proxy'),
    meridian: async (verb: string) => await meridian(programs, verb, 'transparent-proxy'),
  };
  await calls[installs]('install');
  expect((await rules(programs)).length).toBeGreaterThan(10);
  await calls[removes]('uninstall');
  expect(await rules(programs)).toEqual([]);
});
