// What a redirection needs to know of this machine: the user of the proxy, the nameservers, and whether the kernel has IPv6.
import { access, readFile } from 'node:fs/promises';
import { MeridianError } from '../base/errors.ts';
import { parseResolvConf } from '../dns/resolv-conf.ts';
import type { Facts } from './rules.ts';
import { runProgram } from './run-program.ts';
import type { RedirectSettings } from './settings.ts';

/** Users that a proxy often has; the last is a number that kumactl looks for. */
const USUAL_USERS = ['meridian', 'kuma-dp', '5678'];

/** @throws MeridianError `config` for a user that does not exist, or a resolv.conf without a nameserver where one is needed */
export async function machineFacts(settings: RedirectSettings): Promise<Facts & { readonly hasIpv6: boolean }> {
  const { dns } = settings.redirect;
  const needsServers = dns.enabled && !dns.captureAll;
  return {
    user: await userNumber(settings.kumaDPUser),
    nameservers: needsServers ? await nameserversIn(dns.resolvConfigPath) : [],
    hasIpv6: await access('/proc/net/if_inet6').then(
      () => true,
      () => false,
    ),
  };
}

/** The number of a user of this machine. @param named a name or a number; `''` is one of the usual users */
export async function userNumber(named: string): Promise<string> {
  if (/^\d+$/.test(named)) return named;
  for (const name of named === '' ? USUAL_USERS : [named]) {
    const found = await runProgram('id', ['-u', '--', name]);
    if (found?.code === 0) return found.stdout.trim();
  }
  throw new MeridianError(
    'config',
    named === ''
      ? 'name the user that runs the proxy with --user: its connections are not redirected (useradd --system meridian makes one)'
      : `the user ${named} (kumaDPUser, --user) does not exist on this machine`,
  );
}

/** The addresses of the nameservers of a resolv.conf. */
async function nameserversIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new MeridianError('config', `redirect.dns.resolvConfigPath: ${file} cannot be read`, { cause });
  });
  const addresses = parseResolvConf(text)?.servers.map(({ address }) => address) ?? [];
  if (addresses.length > 0) return addresses;
  throw new MeridianError('config', `${file} names no nameserver; set redirect.dns.captureAll to redirect all questions to DNS`);
}
