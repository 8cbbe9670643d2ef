// The call of `dataplane run`; test/dataplane runs it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '../exit-codes.ts';
import { createProgram } from '../program.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-run-'));
  await writeFile(join(folder, 'cart.yaml'), 'type: Dataplane\nmesh: shop\nname: cart-1\nnetworking:\n  address: 127.0.0.1\n');
  vi.stubEnv('HOME', folder);
  vi.stubEnv('PATH', '');
  for (const name of Object.keys(process.env).filter((key) => key.startsWith('MERIDIAN_'))) vi.stubEnv(name, undefined);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

async function run(...args: string[]): Promise<void> {
  const program = await createProgram(['dataplane', 'run']);
  const quiet = (command: Command): void => {
    command.configureOutput({ writeErr: () => undefined });
    command.commands.forEach(quiet);
  };
  quiet(program);
  await program.parseAsync(['dataplane', 'run', ...args], { from: 'user' });
}

const file = (): string[] => ['-d', join(folder, 'cart.yaml')];

describe('dataplane run', () => {
  it('says in one line that there is no Envoy, and how to get one', async () => {
    await expect(run(...file())).rejects.toThrow(
      /^there is no Envoy on this machine; `meridian dataplane install-envoy` gets one$/,
    );
    await expect(run(...file(), '--envoy', '/none')).rejects.toThrow('--envoy: /none is not a program');
    await expect(run(...file(), '--binary-path', '/none')).rejects.toThrow('/none is not a program');
  });

  it('says which user has no Envoy where the proxy is redirected', async () => {
    const { uid, username } = userInfo();
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(
      run(...file(), '--transparent-proxy', '--user', String(uid), '--work-dir', join(folder, 'work')),
    ).rejects.toThrow(
      `there is no Envoy that the user ${username} can run; \`sudo -H -u ${username} meridian dataplane install-envoy\` gets one, or --envoy`,
    );
  });

  it.each([
    [[], 'give --dataplane-file FILE, or --name NAME'],
    [['-d', 'FILE', '--name', 'cart-2'], '--name says cart-2, and the file cart-1'],
    [['-d', 'FILE', '--mesh', 'other'], '--mesh says other, and the file shop'],
    [['--name', 'a', '--dataplane-var', 'a=b'], '--dataplane-var is for --dataplane-file'],
    [['-d', 'FILE', '--dataplane-token', 'a', '--dataplane-token-file', 'b'], 'not both'],
    [['-d', 'FILE', '--user', 'meridian'], '--transparent-proxy-config and --user are for --transparent-proxy'],
    [['--name', 'a', '--transparent-proxy'], '--transparent-proxy is for --dataplane-file'],
  ])('refuses %j', async (args, text) => {
    const called = run(...args.map((arg) => (arg === 'FILE' ? join(folder, 'cart.yaml') : arg)));
    await expect(called).rejects.toThrow(UsageError);
    await expect(called).rejects.toThrow(text);
  });

  it.each([
    [['--readiness-port', '70000'], 'from 0 to 65535'],
    [['--concurrency', '0'], 'from 1 to 1024'],
    [['--drain-time', '30'], 'a duration such as 30s'],
    [['--drain-time', '-1s'], 'a duration such as 30s'],
    [['--envoy-log-level', 'loud'], 'Allowed choices are trace'],
    [['--cp-address', 'http://localhost'], 'does not start with https://'],
  ])('refuses %j', async (args, text) => {
    await expect(run(...file(), ...args)).rejects.toThrow(text);
  });

  it('refuses a user that does not exist, and a file that does not redirect', async () => {
    await expect(run(...file(), '--transparent-proxy', '--user', 'nobody-here')).rejects.toThrow(
      'the user nobody-here (kumaDPUser, --user) does not exist on this machine',
    );
    await writeFile(join(folder, 'redirect.yaml'), 'redirect: { outbound: { port: x } }\n');
    await expect(
      run(...file(), '--transparent-proxy', '--transparent-proxy-config', join(folder, 'redirect.yaml')),
    ).rejects.toThrow('redirect.outbound.port: must be a port, 1 to 65535');
  });

  it('reads its variables of the environment', async () => {
    vi.stubEnv('MERIDIAN_DATAPLANE_FILE', join(folder, 'cart.yaml'));
    vi.stubEnv('MERIDIAN_DATAPLANE_CP_ADDRESS', 'https://one.example,http://two.example');
    await expect(run()).rejects.toThrow('--cp-address: "http://two.example" does not start with https://');
    vi.stubEnv('MERIDIAN_DATAPLANE_CP_ADDRESS', 'https://one.example');
    await expect(run()).rejects.toThrow('there is no Envoy on this machine');
    vi.stubEnv('MERIDIAN_ENVOY', '/none');
    await expect(run()).rejects.toThrow('MERIDIAN_ENVOY: /none is not a program');
  });

  it('warns of a token on the command line, and not of one in the environment', async () => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.stubEnv('MERIDIAN_DATAPLANE_TOKEN', 'a.b.c');
    await expect(run(...file())).rejects.toThrow('no Envoy');
    expect(said).not.toHaveBeenCalled();
    await expect(run(...file(), '--dataplane-token', 'a.b.c')).rejects.toThrow('no Envoy');
    expect(said.mock.calls.join('')).toContain('other users of this machine can see --dataplane-token');
  });
});
