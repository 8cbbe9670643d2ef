// The settings of a redirection: the fields of kumactl's configuration file for a transparent proxy, so that either program reads the file of
// the other. Pure.
import { z } from 'zod';
import { MeridianError, messageOf, type Violation } from '../base/errors.ts';
import { parseIpRange } from '../base/ip-range.ts';
import { parseYaml } from '../base/parse-yaml.ts';

/** Ports from the first to the last. */
export type PortRange = { readonly first: number; readonly last: number };

/** Users, and ports to which their connections are not redirected. */
export type UserExclusion = {
  readonly protocols: readonly ('tcp' | 'udp')[];
  /** Empty: all ports. */
  readonly ports: readonly PortRange[];
  /** As iptables reads them: `1000` or `1000-2000`. */
  readonly users: readonly string[];
};

export type RedirectSettings = z.output<typeof SETTINGS>;

const PORT = 'must be a port, 1 to 65535';
const MAX_PORT = 65_535;
const NOT_SUPPORTED = 'is not supported; leave it out';

const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);
const flag = (value: boolean) => z.boolean('must be true or false').default(value);
const port = (value: number) => z.int(PORT).min(1, PORT).max(MAX_PORT, PORT).default(value);
/** What only kumactl does. */
const off = z.literal(false, NOT_SUPPORTED).default(false);
/** What changes no rule here. */
const ignored = z.unknown().optional();
const seconds = (value: number) =>
  z.int('must be a whole number of seconds, 0 or more').min(0, 'must be a whole number of seconds, 0 or more').default(value);

/** A list, or its items in one text with commas. */
const items = z
  .union([z.string(), z.int(), z.array(z.union([z.string(), z.int()]))], 'must be a list, or a text with commas')
  .transform((given) => (Array.isArray(given) ? given : String(given).split(',')).map((item) => String(item).trim()))
  .transform((given) => given.filter((item) => item !== ''))
  .prefault([]);
/** Items with a form of their own; the first that lacks it is the violation. */
const parsed = <T>(parse: (text: string) => T | null, allowed: string) =>
  items.transform((given, context) =>
    given.map((item) => {
      const value = parse(item);
      if (value === null) context.addIssue({ code: 'custom', message: `${JSON.stringify(item)} ${allowed}` });
      return value as T;
    }),
  );
/** The items of a list of texts may have commas themselves. */
const exclusions = z
  .array(z.string(), 'must be a list of texts')
  .transform((given, context) =>
    given.map((item) => {
      const value = parseUserExclusion(item);
      if (value === null) context.addIssue({ code: 'custom', message: `${JSON.stringify(item)} ${EXCLUSION}` });
      return value as UserExclusion;
    }),
  )
  .prefault([]);

const PORTS = 'must be a port such as 22, or a range such as 8000-8010';
const RANGE = 'must be an IP address, or a range such as 10.0.0.0/8';
const PROTOCOLS = ['tcp', 'udp'] as const;
const EXCLUSION = 'must be USERS, PORTS:USERS or PROTOCOL:PORTS:USERS, such as 1000, 22:1000-2000 or tcp:22,80-90:0';

const ports = parsed(parsePorts, PORTS);
const direction = (value: number) => ({
  enabled: flag(true),
  port: port(value),
  includePorts: ports,
  excludePorts: ports,
  excludePortsForIPs: parsed((text) => (parseIpRange(text) === null ? null : text), RANGE),
  insertRedirectInsteadOfAppend: flag(false),
});

const SETTINGS = z.strictObject({
  /** Its connections are the proxy's own, and are not redirected: a name or a number; `''` is a usual one. */
  kumaDPUser: z
    .union([z.string(), z.int().min(0)], 'must be the name or the number of a user')
    .transform(String)
    .prefault(''),
  ipFamilyMode: z.enum(['dualstack', 'ipv4'], 'must be dualstack or ipv4').default('dualstack'),
  redirect: section({
    inbound: section({
      ...direction(15_006),
      /** The kernel knows no user of a connection that comes in. */
      excludePortsForUIDs: z.array(z.unknown()).max(0, NOT_SUPPORTED).default([]),
    }),
    outbound: section({ ...direction(15_001), excludePortsForUIDs: exclusions }),
    dns: section({
      enabled: flag(false),
      port: port(15_053),
      /** All questions, and not those to the nameservers of `resolvConfigPath` alone. */
      captureAll: flag(false),
      skipConntrackZoneSplit: flag(false),
      resolvConfigPath: z.string('must be the path of a file').default('/etc/resolv.conf'),
    }),
    vnet: section({ networks: z.array(z.unknown()).max(0, NOT_SUPPORTED).default([]) }),
  }).superRefine(({ inbound, outbound, dns }, context) => {
    const issue = (path: string, other: string): void =>
      context.addIssue({ code: 'custom', path: [path, 'port'], message: `must not be the port of redirect.${other}` });
    if (inbound.enabled && outbound.enabled && inbound.port === outbound.port) issue('outbound', 'inbound');
    if (dns.enabled && inbound.enabled && dns.port === inbound.port) issue('dns', 'inbound');
    if (dns.enabled && outbound.enabled && dns.port === outbound.port) issue('dns', 'outbound');
  }),
  comments: section({ disabled: flag(false) }),
  /** How long iptables waits for its lock, in seconds. */
  wait: seconds(5),
  waitInterval: seconds(0),
  ebpf: z.looseObject({ enabled: off }).prefault({ enabled: false }),
  log: z.looseObject({ enabled: off }).prefault({ enabled: false }),
  dropInvalidPackets: off,
  storeFirewalld: off,
  cniMode: ignored,
  retry: ignored,
  verbose: ignored,
  dryRun: ignored,
});

/**
 * The settings of values, such as the content of a file.
 * @param given plain data
 * @throws MeridianError `config` that names each field with what is allowed
 */
export function readSettings(given: unknown): RedirectSettings {
  const result = SETTINGS.safeParse(given, { error: reasonOf });
  if (result.success) return result.data;
  const violations = result.error.issues.flatMap(violationsOf);
  const lines = violations.map(({ field, reason }) => `  ${field}: ${reason}`);
  throw new MeridianError('config', `the settings of the transparent proxy are not valid:\n${lines.join('\n')}`, { violations });
}

/** The content of a settings file as plain data. @param name of the file, for errors @throws MeridianError `config` */
export function parseSettingsFile(text: string, name: string): object {
  try {
    const [document, ...others] = parseYaml(text);
    const fault = document?.errors[0];
    if (fault !== undefined) throw new Error(fault.message);
    const content: unknown = document?.toJS() ?? {};
    if (others.length === 0 && typeof content === 'object' && content !== null && !Array.isArray(content)) return content;
  } catch (cause) {
    throw new MeridianError('config', `${name} is not YAML: ${messageOf(cause)}`, { cause });
  }
  throw new MeridianError('config', `${name} must hold keys and values in one YAML document`);
}

function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'unrecognized_keys' ? 'is no field of the settings' : undefined;
}

function violationsOf(issue: z.core.$ZodIssue): Violation[] {
  const path = issue.path.map(String);
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
  if (keys.length > 0) return keys.map((key) => ({ field: [...path, key].join('.'), reason: issue.message }));
  return [{ field: path.join('.') || 'the settings', reason: issue.message }];
}

/** `22`, `8000-8010` or `8000:8010`; null for another text. */
function parsePorts(text: string): PortRange | null {
  const [, from = '', to = from] = /^(\d{1,5})(?:[-:](\d{1,5}))?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  return from !== '' && first >= 1 && first <= last && last <= MAX_PORT ? { first, last } : null;
}

function parseUserExclusion(text: string): UserExclusion | null {
  const parts = text.split(':').map((part) => part.trim());
  const [users = '', portTexts = '', protocol = ''] = parts.toReversed();
  const protocols = PROTOCOLS.filter((name) => protocol === '' || protocol === name);
  if (parts.length > 3 || protocols.length === 0) return null;
  const found = (portTexts === '' || portTexts === '*' ? [] : portTexts.split(',')).map(parsePorts);
  const names = users.split(',').map((user) => user.trim());
  if (!names.every((user) => /^\d{1,10}(?:-\d{1,10})?$/.test(user))) return null;
  const ports = found.filter((range) => range !== null);
  return ports.length === found.length ? { protocols, ports, users: names } : null;
}
