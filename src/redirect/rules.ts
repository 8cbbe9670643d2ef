// The rules of a redirection in one family of addresses, for every program that can install them. Pure. Invariant: base chains get jumps alone;
// all else is in chains of a redirection's own, so that no rule ends the work of foreign rules behind it.
import { parseIpRange, rangeText } from '../base/ip-range.ts';
import type { PortRange, RedirectSettings, UserExclusion } from './settings.ts';

export type Family = 4 | 6;
export type TableName = 'raw' | 'nat';
export type BaseChain = 'PREROUTING' | 'OUTPUT';

/** A condition, and whether it is turned round. */
type Is<T> = { readonly value: T; readonly not?: true };

/** All conditions that a packet must meet, in the order in which iptables prints them. */
export type Match = {
  readonly source?: Is<string>;
  readonly destination?: Is<string>;
  /** Whether the destination is an address of this machine. */
  readonly isLocal?: false;
  /** The interface by which a packet leaves. */
  readonly outInterface?: Is<string>;
  readonly protocol?: 'tcp' | 'udp';
  readonly sourcePort?: number;
  readonly destinationPorts?: readonly PortRange[];
  /** The owner of the socket: a number, or a range such as `1000-2000`. */
  readonly user?: Is<string>;
};

export type Action =
  | { readonly kind: 'return' }
  | { readonly kind: 'jump'; readonly chain: string }
  | { readonly kind: 'redirect'; readonly port: number }
  | { readonly kind: 'zone'; readonly zone: number };

export type Rule = { readonly match: Match; readonly action: Action; readonly comment: string };

/** A jump from a base chain. */
type Hook = {
  readonly base: BaseChain;
  /** Before all rules that are there; otherwise behind them. */
  readonly isFirst: boolean;
  readonly rule: Rule;
};

export type Chain = { readonly name: string; readonly rules: readonly Rule[] };

export type RuleTable = { readonly name: TableName; readonly hooks: readonly Hook[]; readonly chains: readonly Chain[] };

/** What the machine adds to the settings. */
export type Facts = {
  /** Number of the user whose connections are the proxy's own. */
  readonly user: string;
  /** Addresses of the nameservers of the machine, of both families. */
  readonly nameservers: readonly string[];
};

/** The names of kumactl: it recognises, replaces and removes chains of these names. */
export const CHAIN_PREFIX = 'KUMA_MESH_';
const INBOUND = `${CHAIN_PREFIX}INBOUND`;
const OUTBOUND = `${CHAIN_PREFIX}OUTBOUND`;
const INBOUND_REDIRECT = `${CHAIN_PREFIX}INBOUND_REDIRECT`;
const OUTBOUND_REDIRECT = `${CHAIN_PREFIX}OUTBOUND_REDIRECT`;
const DNS = `${CHAIN_PREFIX}DNS`;
const DNS_ZONES = `${CHAIN_PREFIX}DNS_ZONES`;
const DNS_REPLY_ZONES = `${CHAIN_PREFIX}DNS_REPLY_ZONES`;

const DNS_PORT = [{ first: 53, last: 53 }];
const RETURN = { kind: 'return' } as const;

/** The address from which a proxy calls its own application, by family. */
export const OWN_SOURCE = { 4: '127.0.0.6/32', 6: '::6/128' } as const;
/** The first address of lo, by family. */
const LOOPBACK = { 4: '127.0.0.1/32', 6: '::1/128' } as const;

/**
 * The rules of one family of addresses, table by table.
 * @returns tables without a rule are left out
 */
export function redirectionRules(settings: RedirectSettings, facts: Facts, family: Family): readonly RuleTable[] {
  const tables: readonly RuleTable[] = [zoneTable(settings, facts, family), natTable(settings, facts, family)];
  return tables.filter(({ hooks }) => hooks.length > 0);
}

function jump(chain: string, comment: string, match: Match): Rule {
  return { match, action: { kind: 'jump', chain }, comment };
}

/** Questions of an application and those of the proxy can have one source port: each kind has a zone of connection tracking. */
function zoneTable({ redirect }: RedirectSettings, facts: Facts, family: Family): RuleTable {
  const { dns } = redirect;
  const servers = nameserversOf(dns.captureAll, facts, family);
  if (!dns.enabled || dns.skipConntrackZoneSplit || servers.length === 0) return { name: 'raw', hooks: [], chains: [] };
  const zone = (id: number, comment: string, match: Match): Rule => ({ match, action: { kind: 'zone', zone: id }, comment });
  const proxy = { value: facts.user };
  const udp = { protocol: 'udp' } as const;
  return {
    name: 'raw',
    hooks: [
      { base: 'PREROUTING', isFirst: false, rule: jump(DNS_REPLY_ZONES, 'answers to DNS', { ...udp, sourcePort: 53 }) },
      { base: 'OUTPUT', isFirst: false, rule: jump(DNS_ZONES, 'DNS', udp) },
    ],
    chains: [
      {
        name: DNS_REPLY_ZONES,
        rules: servers.map((source) => zone(1, 'answers to the proxy', { ...source.asSource, ...udp, sourcePort: 53 })),
      },
      {
        name: DNS_ZONES,
        rules: [
          zone(1, 'questions of the proxy', { ...udp, destinationPorts: DNS_PORT, user: proxy }),
          // Their answers come in the zone of answers to the proxy.
          ...excludedUsers(redirect.outbound.excludePortsForUIDs, 'udp').map((value) =>
            zone(1, 'questions of excluded users', { ...udp, destinationPorts: DNS_PORT, user: { value } }),
          ),
          zone(2, 'answers of the DNS server of the proxy', { ...udp, sourcePort: dns.port, user: proxy }),
          ...servers.map((server) =>
            zone(2, 'questions of applications', { ...server.asDestination, ...udp, destinationPorts: DNS_PORT }),
          ),
        ],
      },
    ],
  };
}

function natTable(settings: RedirectSettings, facts: Facts, family: Family): RuleTable {
  const { inbound, outbound, dns } = settings.redirect;
  const servers = dns.enabled ? nameserversOf(dns.captureAll, facts, family) : [];
  const tcp = { protocol: 'tcp' } as const;
  const dnsHooks = (['udp', 'tcp'] as const).map((protocol): Hook => {
    return { base: 'OUTPUT', isFirst: true, rule: jump(DNS, 'DNS', { protocol, destinationPorts: DNS_PORT }) };
  });
  return {
    name: 'nat',
    hooks: [
      ...(servers.length > 0 ? dnsHooks : []),
      ...(inbound.enabled
        ? [hook('PREROUTING', inbound.insertRedirectInsteadOfAppend, jump(INBOUND, 'connections to this machine', tcp))]
        : []),
      ...(outbound.enabled
        ? [hook('OUTPUT', outbound.insertRedirectInsteadOfAppend, jump(OUTBOUND, 'connections of applications', tcp))]
        : []),
    ],
    chains: [
      ...(servers.length > 0 ? [{ name: DNS, rules: dnsRules(settings, facts, family, servers) }] : []),
      ...(inbound.enabled ? inboundChains(settings, family) : []),
      ...(outbound.enabled ? outboundChains(settings, facts, family) : []),
    ],
  };
}

function hook(base: BaseChain, isFirst: boolean, rule: Rule): Hook {
  return { base, isFirst, rule };
}

function dnsRules({ redirect }: RedirectSettings, facts: Facts, family: Family, servers: readonly Server[]): Rule[] {
  const { port } = redirect.dns;
  const excluded = (['udp', 'tcp'] as const).flatMap((protocol) =>
    excludedUsers(redirect.outbound.excludePortsForUIDs, protocol).map((value): Rule => {
      return { match: { protocol, user: { value } }, action: RETURN, comment: 'questions of excluded users' };
    }),
  );
  return [
    { match: { user: { value: facts.user } }, action: RETURN, comment: 'questions of the proxy' },
    ...excluded,
    ...rangesOf(redirect.outbound.excludePortsForIPs, family).map((value): Rule => {
      return { match: { destination: { value } }, action: RETURN, comment: 'excluded addresses' };
    }),
    ...servers.flatMap(({ asDestination }) =>
      (['udp', 'tcp'] as const).map((protocol): Rule => {
        const match = { ...asDestination, protocol, destinationPorts: DNS_PORT };
        return { match, action: { kind: 'redirect', port }, comment: 'questions of applications' };
      }),
    ),
  ];
}

/** Users whose questions to DNS are not redirected. */
function excludedUsers(exclusions: readonly UserExclusion[], wanted: 'tcp' | 'udp'): readonly string[] {
  return exclusions
    .filter(({ protocols }) => protocols.includes(wanted))
    .filter(({ ports }) => ports.length === 0 || ports.some(({ first, last }) => first <= 53 && 53 <= last))
    .flatMap(({ users }) => users);
}

function inboundChains({ redirect }: RedirectSettings, family: Family): Chain[] {
  const { inbound } = redirect;
  const tcp = { protocol: 'tcp' } as const;
  return [
    {
      name: INBOUND,
      rules: [
        // A neighbour could else send a connection for a virtual address here, and the proxy would call the service for it.
        { match: { isLocal: false }, action: RETURN, comment: 'connections that are not for this machine' },
        ...rangesOf(inbound.excludePortsForIPs, family).map((value): Rule => {
          return { match: { source: { value } }, action: RETURN, comment: 'excluded addresses' };
        }),
        ...portRules(inbound.excludePorts, RETURN, 'excluded ports'),
        ...redirected(inbound.includePorts, INBOUND_REDIRECT),
      ],
    },
    {
      name: INBOUND_REDIRECT,
      rules: [{ match: tcp, action: { kind: 'redirect', port: inbound.port }, comment: 'to the proxy' }],
    },
  ];
}

function outboundChains({ redirect }: RedirectSettings, facts: Facts, family: Family): Chain[] {
  const { inbound, outbound, dns } = redirect;
  const [loopback, ownSource] = [LOOPBACK[family], OWN_SOURCE[family]];
  const [tcp, lo, proxy] = [{ protocol: 'tcp' } as const, { outInterface: { value: 'lo' } }, { value: facts.user }];
  const others = { value: facts.user, not: true } as const;
  const toInbound = jump(INBOUND_REDIRECT, 'the proxy calls its own machine', {
    destination: { value: loopback, not: true },
    ...lo,
    ...tcp,
    user: proxy,
  });
  const returning = (comment: string, match: Match): Rule => ({ match, action: RETURN, comment });
  return [
    {
      name: OUTBOUND,
      rules: [
        ...(dns.enabled ? [returning('DNS by TCP', { ...tcp, destinationPorts: DNS_PORT, user: others })] : []),
        ...rangesOf(outbound.excludePortsForIPs, family).map((value) =>
          returning('excluded addresses', { destination: { value } }),
        ),
        ...outbound.excludePortsForUIDs.filter(({ protocols }) => protocols.includes('tcp')).flatMap(userRules),
        ...portRules(outbound.excludePorts, RETURN, 'excluded ports'),
        returning('the proxy calls its application', { source: { value: ownSource }, ...lo }),
        ...(inbound.enabled ? [toInbound] : []),
        returning('applications of this machine among themselves', { ...lo, ...tcp, user: others }),
        returning('the proxy', { user: proxy }),
        returning('the loopback address', { destination: { value: loopback } }),
        ...redirected(outbound.includePorts, OUTBOUND_REDIRECT),
      ],
    },
    {
      name: OUTBOUND_REDIRECT,
      rules: [{ match: tcp, action: { kind: 'redirect', port: outbound.port }, comment: 'to the proxy' }],
    },
  ];
}

/** The end of a chain: all connections, or those to some ports. */
function redirected(included: readonly PortRange[], chain: string): Rule[] {
  if (included.length === 0) return [jump(chain, 'all others', { protocol: 'tcp' })];
  return portRules(included, { kind: 'jump', chain }, 'included ports');
}

function portRules(ports: readonly PortRange[], action: Action, comment: string): Rule[] {
  return inGroups(ports).map((group) => ({ match: { protocol: 'tcp', destinationPorts: group }, action, comment }));
}

function userRules({ ports, users }: UserExclusion): Rule[] {
  const groups = ports.length === 0 ? [undefined] : inGroups(ports);
  return users.flatMap((value) =>
    groups.map((group): Rule => {
      const match = { protocol: 'tcp', ...(group !== undefined && { destinationPorts: group }), user: { value } } as const;
      return { match, action: RETURN, comment: 'excluded users' };
    }),
  );
}

/** A rule of iptables takes 15 ports, and a range counts as two. */
const MAX_RANGES = 7;

function inGroups(ports: readonly PortRange[]): PortRange[][] {
  return Array.from({ length: Math.ceil(ports.length / MAX_RANGES) }, (_, at) =>
    ports.slice(at * MAX_RANGES, (at + 1) * MAX_RANGES),
  );
}

type Server = { readonly asSource: Match; readonly asDestination: Match };

/** One server without conditions stands for all of them. */
function nameserversOf(all: boolean, { nameservers }: Facts, family: Family): readonly Server[] {
  if (all) return [{ asSource: {}, asDestination: {} }];
  return rangesOf(nameservers, family).map((value) => ({
    asSource: { source: { value } },
    asDestination: { destination: { value } },
  }));
}

/** Those of the family, in the usual form. */
function rangesOf(texts: readonly string[], family: Family): string[] {
  return texts.flatMap((text) => {
    const range = parseIpRange(text);
    return range?.version === family ? [rangeText(range)] : [];
  });
}
