// The filter chains of a MeshPassthrough: which connections may leave, by their destination and their first bytes. Pure. Envoy chooses
// a chain by port, then by the longest prefix, then by server name, and never tries the next one. So each port and each range has all
// matches that hold for it (decision 62).
import { containsRange, firstAddress, parseIpRange, rangeText, type IpRange } from '../base/ip-range.ts';
import type { Conf } from '../policies/confs.ts';
import type { JsonObject } from '../resource/types.ts';

/** How requests are passed on: in the version of HTTP in which they came, or as HTTP/2. */
export type HttpTarget = 'http' | 'http2';

/** Requests to a domain, `*` for all; null: they are answered 503. */
export type PassthroughHost = { readonly domain: string; readonly target: HttpTarget | null };

export type PassthroughChain = {
  readonly name: string;
  /** envoy.config.listener.v3.FilterChainMatch */
  readonly match: JsonObject;
  /** Null: bytes are passed on. */
  readonly hosts: readonly PassthroughHost[] | null;
};

type Match = {
  readonly protocol: string;
  readonly port: number | null;
  /** Null: the match is a range. */
  readonly domain: string | null;
  readonly range: IpRange | null;
};

/** What may pass to one port of one range. */
type Permitted = {
  readonly tls: 'all' | readonly string[];
  readonly hosts: readonly PassthroughHost[];
  /** What is neither TLS nor HTTP. */
  readonly plain: boolean;
  /** TLS and HTTP cannot be recognised. */
  readonly isUnread: boolean;
};

const EVERY_DOMAIN = '*';
const HTTP: Readonly<Record<string, HttpTarget>> = { http: 'http', http2: 'http2', grpc: 'http2' };

/** The ports on which the server may speak first, so that a proxy must not wait for the bytes of the client. */
export function unreadPorts(conf: Conf<'MeshPassthrough'>): number[] {
  const ports = matchesOf(conf).flatMap(({ protocol, port }) => (protocol === 'mysql' && port !== null ? [port] : []));
  return [...new Set(ports)].sort((a, b) => a - b);
}

/**
 * @param conf MeshPassthrough in force
 * @param version of the addresses of the listener
 */
export function passthroughChains(conf: Conf<'MeshPassthrough'>, version: 4 | 6): PassthroughChain[] {
  const matches = matchesOf(conf).filter(({ range }) => range === null || range.version === version);
  const unread = new Set(unreadPorts(conf));
  const ports = [...new Set(matches.map(({ port }) => port))].filter((port) => port !== null).sort((a, b) => a - b);
  return [...ports, null].flatMap((port) => {
    const onPort = matches.filter((match) => match.port === null || match.port === port);
    return rangeGroups(onPort, port !== null && unread.has(port)).flatMap(({ ranges, permitted }) =>
      chainsOf(port, ranges, permitted),
    );
  });
}

function matchesOf({ appendMatch = [] }: Conf<'MeshPassthrough'>): Match[] {
  return appendMatch.flatMap(({ type, value, port = null, protocol }): Match[] => {
    const common = { protocol, port };
    if (type === 'Domain') return [{ ...common, domain: value.toLowerCase(), range: null }];
    const range = parseIpRange(value);
    return range === null ? [] : [{ ...common, domain: null, range }];
  });
}

/** Ranges to which the same may pass, together; the group without ranges is for every other address. */
function rangeGroups(
  matches: readonly Match[],
  isUnread: boolean,
): { readonly ranges: readonly IpRange[]; readonly permitted: Permitted }[] {
  const ranges = new Map(matches.flatMap(({ range }) => (range === null ? [] : [[rangeText(range), range] as const])));
  const groups = new Map<string, { readonly ranges: IpRange[]; readonly permitted: Permitted }>();
  for (const range of ranges.values()) {
    const permitted = permittedTo(
      matches.filter((match) => match.range === null || containsRange(match.range, range)),
      isUnread,
    );
    const key = JSON.stringify(permitted);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ranges: [range], permitted });
    else group.ranges.push(range);
  }
  const elsewhere = permittedTo(
    matches.filter(({ range }) => range === null),
    isUnread,
  );
  return [...groups.values(), { ranges: [], permitted: elsewhere }];
}

/** The match of the longest prefix counts first, then that of the port, then the earlier one. */
function permittedTo(matches: readonly Match[], isUnread: boolean): Permitted {
  const ordered = matches.toSorted(
    (a, b) => (b.range?.bits ?? -1) - (a.range?.bits ?? -1) || Number(a.port === null) - Number(b.port === null),
  );
  const isOfAll = ({ domain }: Match): boolean => domain === null || domain === EVERY_DOMAIN;
  const plain = ordered.some(({ protocol }) => protocol === 'tcp' || protocol === 'mysql');
  // Nothing is read there: a match of an address is one of all bytes.
  if (isUnread) return { tls: [], hosts: [], plain: ordered.some(({ domain }) => domain === null), isUnread };
  const tls = ordered.filter(({ protocol }) => protocol === 'tls');
  const names = tls.flatMap(({ domain }) => (domain === null ? [] : [domain]));
  return {
    tls: tls.some(isOfAll) ? 'all' : [...new Set(names)].sort(),
    hosts: hostsOf(ordered, plain),
    plain,
    isUnread,
  };
}

/** The last host is that of every other domain. */
function hostsOf(ordered: readonly Match[], isPlain: boolean): PassthroughHost[] {
  const targets = new Map<string, HttpTarget>();
  for (const { protocol, domain } of ordered) {
    const target = HTTP[protocol];
    const name = domain ?? EVERY_DOMAIN;
    if (target !== undefined && !targets.has(name)) targets.set(name, target);
  }
  if (targets.size === 0) return [];
  const everyOther = targets.get(EVERY_DOMAIN) ?? (isPlain ? 'http' : null);
  targets.delete(EVERY_DOMAIN);
  const named = [...targets].map(([domain, target]) => ({ domain, target }));
  return [...named, { domain: EVERY_DOMAIN, target: everyOther }];
}

function chainsOf(port: number | null, ranges: readonly IpRange[], permitted: Permitted): PassthroughChain[] {
  const { tls, hosts, plain, isUnread } = permitted;
  const [first] = ranges.map(rangeText).sort();
  const place: JsonObject = {
    ...(port !== null && { destinationPort: port }),
    ...(ranges.length > 0 && {
      prefixRanges: ranges.map((range) => ({ addressPrefix: firstAddress(range), prefixLen: range.bits })),
    }),
  };
  const chain = (
    protocol: string,
    match: JsonObject,
    chainHosts: readonly PassthroughHost[] | null = null,
  ): PassthroughChain => ({
    name: `meshpassthrough_${protocol}_${first ?? '*'}_${port === null ? '*' : String(port)}`,
    match: { ...place, ...match },
    hosts: chainHosts,
  });
  if (isUnread) return plain ? [chain('tcp', {})] : [];
  return [
    ...(tls === 'all' ? [chain('tls', { transportProtocol: 'tls' })] : []),
    ...(tls !== 'all' && tls.length > 0 ? [chain('tls', { serverNames: [...tls], transportProtocol: 'tls' })] : []),
    ...(hosts.length > 0
      ? [chain('http', { transportProtocol: 'raw_buffer', applicationProtocols: ['http/1.1', 'h2c'] }, hosts)]
      : []),
    ...(plain ? [chain('tcp', { transportProtocol: 'raw_buffer' })] : []),
  ];
}
