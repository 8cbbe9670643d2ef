// The options of a transparent proxy, and the settings that they make with a file. An option wins over the file.
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { FirewallChoice } from '../../redirect/redirection.ts';
import type { RedirectSettings } from '../../redirect/settings.ts';
import { UsageError } from '../exit-codes.ts';
import { collect } from '../options.ts';

/** The values of options by their names in camel case. */
export type RedirectOptions = Readonly<Record<string, unknown>> & {
  readonly transparentProxyConfig?: string;
  readonly firewall: FirewallChoice;
};

type Setting = {
  readonly flags: string;
  readonly about: string;
  /** Fields of the settings that get the value. */
  readonly fields: readonly string[];
  readonly parse?: (value: string, before: unknown) => unknown;
  /** The name of kumactl for the same. */
  readonly alias?: string;
};

const INBOUND = 'redirect.inbound';
const OUTBOUND = 'redirect.outbound';

const SETTINGS: readonly Setting[] = [
  {
    flags: '--user <user>',
    about: 'user of the proxy: its connections are not redirected (meridian)',
    fields: ['kumaDPUser'],
    alias: '--kuma-dp-user <user>',
  },
  { flags: '--no-redirect-inbound', about: 'do not redirect incoming connections', fields: [`${INBOUND}.enabled`] },
  {
    flags: '--redirect-inbound-port <port>',
    about: 'port of the proxy for incoming connections (15006)',
    fields: [`${INBOUND}.port`],
    parse: number,
  },
  {
    flags: '--redirect-outbound-port <port>',
    about: 'port of the proxy for outgoing connections (15001)',
    fields: [`${OUTBOUND}.port`],
    parse: number,
  },
  {
    flags: '--exclude-inbound-ports <ports>',
    about: 'incoming ports that are not redirected: 22,9000-9010',
    fields: [`${INBOUND}.excludePorts`],
  },
  {
    flags: '--exclude-outbound-ports <ports>',
    about: 'outgoing ports that are not redirected: 5432,6379',
    fields: [`${OUTBOUND}.excludePorts`],
  },
  {
    flags: '--exclude-inbound-ips <ranges>',
    about: 'addresses of clients that are not redirected',
    fields: [`${INBOUND}.excludePortsForIPs`],
  },
  {
    flags: '--exclude-outbound-ips <ranges>',
    about: 'addresses of servers that are not redirected: 10.0.0.0/8',
    fields: [`${OUTBOUND}.excludePortsForIPs`],
  },
  {
    flags: '--exclude-outbound-users <text>',
    about: 'users that are not redirected: 1000, tcp:22:1000-2000; may be repeated',
    fields: [`${OUTBOUND}.excludePortsForUIDs`],
    parse: (value, before) => collect(value, before as readonly string[] | undefined),
    alias: '--exclude-outbound-ports-for-uids <text>',
  },
  {
    flags: '--redirect-dns',
    about: 'redirect DNS queries to the nameservers of resolv.conf',
    fields: ['redirect.dns.enabled'],
  },
  {
    flags: '--redirect-all-dns-traffic',
    about: 'redirect DNS queries to every nameserver',
    fields: ['redirect.dns.enabled', 'redirect.dns.captureAll'],
  },
  {
    flags: '--redirect-dns-port <port>',
    about: 'port of the proxy for DNS (15053)',
    fields: ['redirect.dns.port'],
    parse: number,
  },
  { flags: '--ip-family-mode <mode>', about: 'dualstack or ipv4 (dualstack)', fields: ['ipFamilyMode'] },
  { flags: '--wait <seconds>', about: 'longest wait for the lock of iptables (5)', fields: ['wait'], parse: number },
];

/** The programs of `--firewall`. */
const FIREWALLS: readonly FirewallChoice[] = ['auto', 'iptables-nft', 'iptables-legacy', 'nft'];

export function addRedirectOptions(command: Command): Command {
  command.optionsGroup('Settings:');
  command.option('--transparent-proxy-config <file>', 'settings in YAML, with the fields of kumactl');
  for (const { flags, about, parse, alias } of SETTINGS) {
    for (const [text, isHidden] of [[flags, false] as const, ...(alias === undefined ? [] : [[alias, true] as const])]) {
      const option = new Option(text, about).hideHelp(isHidden);
      command.addOption(parse === undefined ? option : option.argParser(parse));
    }
  }
  command.optionsGroup('Options:');
  return command.addOption(new Option('--firewall <program>', 'that has the rules').choices(FIREWALLS).default('auto'));
}

/** @throws MeridianError `config` that names fields of the file, and fields that options set */
export async function redirectSettings(options: RedirectOptions, command: Command): Promise<RedirectSettings> {
  const { readSettings } = await import('../../redirect/settings.ts');
  const content = options.transparentProxyConfig === undefined ? {} : await readSettingsFile(options.transparentProxyConfig);
  for (const setting of SETTINGS)
    for (const flags of [setting.flags, setting.alias ?? []].flat()) {
      const name = new Option(flags).attributeName();
      if (command.getOptionValueSource(name) !== 'cli') continue;
      for (const field of setting.fields) setField(content, field.split('.'), options[name]);
    }
  return readSettings(content);
}

/** The settings of a file alone, and a user in place of that of the file. */
export async function fileSettings(file: string | undefined, user: string | undefined): Promise<RedirectSettings> {
  const { readSettings } = await import('../../redirect/settings.ts');
  const content = file === undefined ? {} : await readSettingsFile(file);
  return readSettings({ ...content, ...(user !== undefined && { kumaDPUser: user }) });
}

async function readSettingsFile(name: string): Promise<Record<string, unknown>> {
  const { parseSettingsFile } = await import('../../redirect/settings.ts');
  const { readSources, shownName } = await import('./sources.ts');
  const [file, ...others] = await readSources([name]);
  if (file === undefined || others.length > 0) throw new UsageError(`--transparent-proxy-config: ${name} must be one file`);
  return { ...parseSettingsFile(file.text, shownName(name)) };
}

function setField(at: Record<string, unknown>, [key = '', ...below]: readonly string[], value: unknown): void {
  if (below.length === 0) {
    at[key] = value;
    return;
  }
  const inner = at[key];
  // A section that is none stays, for the check of the settings.
  if (inner !== undefined && (typeof inner !== 'object' || inner === null)) return;
  at[key] = { ...inner };
  setField(at[key] as Record<string, unknown>, below, value);
}

function number(value: string): number {
  if (/^\d{1,6}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a whole number.');
}
