// Which connections leave with which matches. The chains are read as Envoy reads them: by port, by the longest prefix, by server name,
// by transport, by application protocol, and never a second time.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { containsRange, parseIpRange, type IpRange } from '../base/ip-range.ts';
import type { Conf } from '../policies/confs.ts';
import { numberOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { passthroughChains, unreadPorts, type PassthroughChain } from './passthrough-chains.ts';

type Match = NonNullable<Conf<'MeshPassthrough'>['appendMatch']>[number];

type Connection = {
  readonly address: string;
  readonly port: number;
  readonly kind: 'bytes' | 'http' | 'tls';
  /** Server name or host. */
  readonly domain: string;
};

const HTTP = new Set<string>(['http', 'http2', 'grpc']);

function rangeOf(text: string): IpRange {
  const range = parseIpRange(text);
  if (range === null) throw new Error(`${text} is no range`);
  return range;
}

function fits(pattern: string, domain: string): boolean {
  return pattern === '*' || pattern === domain || (pattern.startsWith('*.') && domain.endsWith(pattern.slice(1)));
}

/** The chain that Envoy chooses; undefined: it closes the connection. */
function chosen(
  conf: Conf<'MeshPassthrough'>,
  chains: readonly PassthroughChain[],
  connection: Connection,
): PassthroughChain | undefined {
  const { address, port, kind, domain } = connection;
  const isUnread = unreadPorts(conf).includes(port);
  const ports = chains.filter(({ match }) => match['destinationPort'] === port);
  let left = ports.length > 0 ? ports : chains.filter(({ match }) => match['destinationPort'] === undefined);
  const bitsOf = ({ match }: PassthroughChain): number => {
    const ranges = objectsOf(match['prefixRanges']);
    if (ranges.length === 0) return -1;
    const holding = ranges
      .map(({ addressPrefix, prefixLen }) => rangeOf(`${textOf(addressPrefix)}/${String(numberOf(prefixLen))}`))
      .filter((range) => containsRange(range, rangeOf(address)));
    return Math.max(-2, ...holding.map(({ bits }) => bits));
  };
  const longest = Math.max(-2, ...left.map(bitsOf));
  left = longest === -2 ? [] : left.filter((chain) => bitsOf(chain) === longest);
  const serverName = kind === 'tls' && !isUnread ? domain : '';
  const named = left.filter(({ match }) => ((match['serverNames'] ?? []) as string[]).some((name) => fits(name, serverName)));
  left = named.length > 0 ? named : left.filter(({ match }) => match['serverNames'] === undefined);
  const transport = kind === 'tls' && !isUnread ? 'tls' : 'raw_buffer';
  const transported = left.filter(({ match }) => match['transportProtocol'] === transport);
  left = transported.length > 0 ? transported : left.filter(({ match }) => match['transportProtocol'] === undefined);
  const application = kind === 'http' && !isUnread ? 'http/1.1' : '';
  const spoken = left.filter(({ match }) => ((match['applicationProtocols'] ?? []) as string[]).includes(application));
  left = spoken.length > 0 ? spoken : left.filter(({ match }) => match['applicationProtocols'] === undefined);
  expect(left.length).toBeLessThan(2);
  return left[0];
}

function leaves(conf: Conf<'MeshPassthrough'>, connection: Connection): boolean {
  const version = connection.address.includes(':') ? 6 : 4;
  const chain = chosen(conf, passthroughChains(conf, version), connection);
  if (chain === undefined) return false;
  if (chain.hosts === null) return true;
  const host =
    chain.hosts.find(({ domain }) => domain === connection.domain) ??
    chain.hosts.find(({ domain }) => fits(domain, connection.domain));
  return host !== undefined && host.target !== null;
}

/** Whether a match holds for a connection, by its own words. */
function holds(given: Match, { address, port, kind, domain }: Connection): boolean {
  if (given.port !== undefined && given.port !== port) return false;
  const { type, value, protocol } = given;
  const isThere = type === 'Domain' ? fits(value, domain) : containsRange(rangeOf(value), rangeOf(address));
  if (!isThere) return false;
  if (protocol === 'tls') return kind === 'tls';
  if (HTTP.has(protocol)) return kind === 'http';
  return kind !== 'tls';
}

const PORTS = [80, 443, 3306];
const ranges = fc.constantFrom<Pick<Match, 'type' | 'value'>[]>(
  { type: 'IP', value: '10.1.2.3' },
  { type: 'CIDR', value: '10.1.0.0/16' },
  { type: 'CIDR', value: '10.1.2.9/16' },
  { type: 'CIDR', value: '10.0.0.0/8' },
  { type: 'CIDR', value: '0.0.0.0/0' },
  { type: 'IP', value: '2001:db8::1' },
  { type: 'CIDR', value: '2001:DB8::/32' },
);
const domains = fc.constantFrom<Pick<Match, 'type' | 'value'>[]>(
  { type: 'Domain', value: 'a.example' },
  { type: 'Domain', value: '*.example' },
  { type: 'Domain', value: '*' },
);
const match: fc.Arbitrary<Match> = fc
  .oneof(
    fc.record({ of: ranges, protocol: fc.constantFrom<Match['protocol'][]>('tcp', 'tls', 'http', 'grpc') }),
    fc.record({ of: domains, protocol: fc.constantFrom<Match['protocol'][]>('tls', 'http', 'http2') }),
  )
  .chain(({ of, protocol }) =>
    fc
      .option(fc.constantFrom(80, 443), { nil: undefined })
      .map((port) => ({ ...of, protocol, ...(port !== undefined && { port }) })),
  );
const connection: fc.Arbitrary<Connection> = fc.record({
  address: fc.constantFrom('10.1.2.3', '10.1.9.9', '10.9.9.9', '192.0.2.1', '2001:db8::1', '2001:db8::2', '2001:db9::1'),
  port: fc.constantFrom(...PORTS),
  kind: fc.constantFrom('bytes', 'http', 'tls'),
  domain: fc.constantFrom('a.example', 'b.example', 'c.test'),
});

describe('the chains of a MeshPassthrough', () => {
  it('let out each connection for which a match holds, and no other', () => {
    fc.assert(
      fc.property(fc.array(match, { maxLength: 8 }), connection, (appendMatch, given) => {
        expect(leaves({ appendMatch }, given)).toBe(appendMatch.some((one) => holds(one, given)));
      }),
    );
  });

  it('are never two for one place', () => {
    fc.assert(
      fc.property(fc.array(match, { maxLength: 8 }), fc.constantFrom<4 | 6>(4, 6), (appendMatch, version) => {
        const chains = passthroughChains({ appendMatch }, version);
        const places = chains.flatMap(({ match: place }) => {
          const { prefixRanges = [null], ...rest } = place;
          return (prefixRanges as JsonObject[]).map((range) => JSON.stringify([rest, range]));
        });
        expect(new Set(places).size).toBe(places.length);
        expect(new Set(chains.map(({ name }) => name)).size).toBe(chains.length);
      }),
    );
  });

  it('of a port where the server may speak first read nothing', () => {
    const appendMatch: Match[] = [
      { type: 'IP', value: '10.1.2.3', port: 3306, protocol: 'mysql' },
      { type: 'IP', value: '10.9.9.9', protocol: 'tls' },
      { type: 'Domain', value: 'a.example', protocol: 'tls' },
    ];
    const to = (address: string): Connection => ({ address, port: 3306, kind: 'tls', domain: 'a.example' });
    expect(unreadPorts({ appendMatch })).toEqual([3306]);
    expect(['10.1.2.3', '10.9.9.9', '192.0.2.1'].map((address) => leaves({ appendMatch }, to(address)))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('have the ranges with the same matches together', () => {
    const appendMatch: Match[] = [
      { type: 'IP', value: '10.0.0.1', port: 25, protocol: 'tcp' },
      { type: 'IP', value: '10.0.0.2', port: 25, protocol: 'tcp' },
    ];
    const prefixRanges = ['10.0.0.1', '10.0.0.2'].map((addressPrefix) => ({ addressPrefix, prefixLen: 32 }));
    expect(passthroughChains({ appendMatch }, 4)).toEqual([
      {
        name: 'meshpassthrough_tcp_10.0.0.1/32_25',
        match: { destinationPort: 25, prefixRanges, transportProtocol: 'raw_buffer' },
        hosts: null,
      },
    ]);
    expect(passthroughChains({ appendMatch }, 6)).toEqual([]);
  });

  it('take TLS by server name, for the names of each range and those of every address', () => {
    const appendMatch: Match[] = [
      { type: 'Domain', value: 'b.example', port: 443, protocol: 'tls' },
      { type: 'Domain', value: '*.a.example', port: 443, protocol: 'tls' },
      { type: 'Domain', value: 'b.example', port: 443, protocol: 'tls' },
    ];
    expect(passthroughChains({ appendMatch }, 4)).toEqual([
      {
        name: 'meshpassthrough_tls_*_443',
        match: { destinationPort: 443, serverNames: ['*.a.example', 'b.example'], transportProtocol: 'tls' },
        hosts: null,
      },
    ]);
    const [range] = passthroughChains({ appendMatch: [...appendMatch, { type: 'IP', value: '10.1.2.3', protocol: 'tls' }] }, 4);
    expect(range?.match).toMatchObject({ prefixRanges: [{ addressPrefix: '10.1.2.3' }], transportProtocol: 'tls' });
    expect(range?.match['serverNames']).toBeUndefined();
  });

  it('speak to an address as the match of the longest prefix says, then that of the port, then the earlier one', () => {
    const http = (value: string, protocol: Match['protocol'], port?: number): Match => ({
      ...{ type: 'CIDR', value, protocol },
      ...(port !== undefined && { port }),
    });
    const target = (...appendMatch: Match[]): unknown =>
      passthroughChains({ appendMatch }, 4)
        .filter(({ match }) => match['destinationPort'] === 80)
        .find(({ match }) => objectsOf(match['prefixRanges']).some(({ prefixLen }) => prefixLen === 16))?.hosts;
    const wide = http('10.0.0.0/8', 'http', 80);
    const every: Match = { type: 'Domain', value: '*', protocol: 'http', port: 80 };
    const http2 = [{ domain: '*', target: 'http2' }];
    for (const other of [wide, every, http('10.1.0.0/16', 'http')]) {
      expect(target(other, http('10.1.0.0/16', 'grpc', 80))).toEqual(http2);
      expect(target(http('10.1.0.0/16', 'grpc', 80), other)).toEqual(http2);
    }
    expect(target(wide, http('10.1.0.0/16', 'grpc'))).toEqual(http2);
    expect(target(http('10.1.0.0/16', 'grpc', 80), http('10.1.0.0/16', 'http', 80))).toEqual(http2);
  });

  it('know a domain by its own match, then by the one of the port, and answer the others', () => {
    const appendMatch: Match[] = [
      { type: 'Domain', value: 'A.example', protocol: 'http' },
      { type: 'Domain', value: 'a.example', port: 80, protocol: 'grpc' },
    ];
    const [first] = passthroughChains({ appendMatch }, 4);
    expect(first?.hosts).toEqual([
      { domain: 'a.example', target: 'http2' },
      { domain: '*', target: null },
    ]);
  });
});
