// MeshPassthrough: which traffic may leave to places outside of the mesh.
import { isIP } from 'node:net';
import { z } from 'zod';
import { parseIpRange } from '../../base/ip-range.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { items } from '../../resource/json-access.ts';
import { isObject } from '../../resource/read-json.ts';
import { proxyRef } from '../../schema/policy-frame.ts';
import { isDnsName } from '../../resource/dns-name.ts';
import { choice, port, text } from '../../schema/spec-fields.ts';
import { withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';

const DEFAULT_PROTOCOL = 'tcp';
/** Only one of these protocols can be detected by the first bytes on a port. */
const HTTP = new Set<unknown>(['http', 'http2', 'grpc']);
const NOT_FOR_DOMAINS = new Set<unknown>(['tcp', 'mysql']);
/** The server may speak first, so no proxy waits for the bytes of the client. */
const UNREAD = 'mysql';

const match = withRules(
  z.object({
    type: choice('Domain', 'IP', 'CIDR').describe('Whether value is a domain, an IP address or a range of them.'),
    value: text('a domain, an IP address or a CIDR').describe('Domain, IP address or CIDR. A domain may begin with "*.".'),
    port: port('uint32').describe('The port that is called. Any if not set.').optional(),
    protocol: choice('tcp', 'tls', 'grpc', 'http', 'http2', 'mysql')
      .describe('Protocol of the traffic. With mysql the server may speak first; tcp is everything else but TLS.')
      .default(DEFAULT_PROTOCOL),
  }),
  checkValue,
  checkProtocol,
);

const conf = withRules(
  z.object({
    passthroughMode: choice('All', 'Matched', 'None')
      .describe('Which traffic may leave to places outside of the mesh. Without it as with Matched.')
      .optional(),
    appendMatch: z.array(match).describe('What may leave with passthroughMode Matched.').optional(),
  }),
  checkClashes,
);

export const meshPassthroughSpec = z.object({
  targetRef: proxyRef(),
  default: conf.describe('Conf of the selected proxies.').optional(),
});

function checkValue(given: JsonObject, path: string, findings: Findings): void {
  const { type, value } = given;
  if (typeof value !== 'string') return;
  const at = child(path, 'value');
  if (type === 'IP' && (value.includes('/') || parseIpRange(value) === null))
    findings.violation(at, 'must be an IP address with type IP');
  if (type === 'CIDR' && (!value.includes('/') || parseIpRange(value) === null))
    findings.violation(at, 'must be a CIDR such as "10.0.0.0/8" with type CIDR');
  if (type === 'Domain' && !isDomain(value))
    findings.violation(at, 'must be a DNS name with type Domain; the first label alone may be "*"');
}

function checkProtocol(given: JsonObject, path: string, findings: Findings): void {
  const { type, value } = given;
  const protocol = given['protocol'] ?? DEFAULT_PROTOCOL;
  if (type === 'Domain' && NOT_FOR_DOMAINS.has(protocol))
    findings.violation(
      child(path, 'protocol'),
      `must be one of tls, http, http2, grpc with type Domain, not ${String(protocol)}`,
    );
  if (given['port'] !== undefined) return;
  if (protocol === UNREAD) findings.violation(child(path, 'port'), 'must be given with protocol mysql');
  if (type === 'Domain' && HTTP.has(protocol) && typeof value === 'string' && value.startsWith('*'))
    findings.violation(child(path, 'port'), `must be given for a wildcard domain with protocol ${String(protocol)}`);
}

/** Refuses duplicate matches, and matches of one port whose protocols cannot be detected together. */
function checkClashes(conf: JsonObject, path: string, findings: Findings): void {
  const matches = items(conf['appendMatch']);
  const seen = new Set<string>();
  const protocols = new Map<unknown, unknown>();
  const unread = new Set(matches.flatMap((given) => (isObject(given) && given['protocol'] === UNREAD ? [given['port']] : [])));
  for (const [index, given] of matches.entries()) {
    if (!isObject(given)) continue;
    const at = child(child(path, 'appendMatch'), index);
    const { value, port } = given;
    const protocol = given['protocol'] ?? DEFAULT_PROTOCOL;
    const key = JSON.stringify([value, port ?? null, protocol]);
    if (seen.has(key)) findings.violation(child(at, 'value'), 'must not be given twice for one port and protocol');
    else if (port !== undefined) checkPort(given, protocol, protocols, at, findings);
    if (port !== undefined && unread.has(port) && given['type'] === 'Domain' && protocol === 'tls')
      findings.violation(child(at, 'port'), 'must not be the port of a match with protocol mysql: no server name is read there');
    seen.add(key);
  }
}

/** @param protocols of each port, without TLS domains */
function checkPort(
  given: JsonObject,
  protocol: unknown,
  protocols: Map<unknown, unknown>,
  path: string,
  findings: Findings,
): void {
  const taken = protocols.get(given['port']);
  // TLS has its own filter chain, selected by SNI.
  const standsAside = given['type'] === 'Domain' && protocol === 'tls';
  if (standsAside) return;
  if (taken !== undefined && taken !== protocol && (HTTP.has(protocol) || HTTP.has(taken)))
    findings.violation(
      child(path, 'port'),
      `must not have protocol ${String(protocol)}: another match of this port has ${String(taken)}`,
    );
  else protocols.set(given['port'], protocol);
}

function isDomain(value: string): boolean {
  return value === '*' || (isIP(value) === 0 && isDnsName((value.startsWith('*.') ? value.slice(2) : value).toLowerCase()));
}
