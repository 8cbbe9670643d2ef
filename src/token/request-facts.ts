// The facts of an HTTP request that identify its caller, and whether they show the machine of the control plane itself
// (`localhostIsAdmin`, rest-api 5): not through a proxy, and not from a foreign web page. In doubt the answer is no.
import { isIP } from 'node:net';

export type RequestFacts = {
  readonly method: string;
  /** The path with or without a query. */
  readonly url: string;
  /** The address of the peer of the connection, without its port. */
  readonly remoteAddress: string;
  /** Whether the connection is TLS. It decides which port a `Host` without one means. */
  readonly encrypted: boolean;
  /** The names are in lower case, as in Node. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** The only value of a header; undefined if it is absent, null if it is repeated. */
export function headerOf({ headers }: Pick<RequestFacts, 'headers'>, name: string): string | null | undefined {
  const value = headers[name];
  if (value === undefined || typeof value === 'string') return value;
  return value.length === 1 ? value[0] : null;
}

/** Proxies set these headers: the peer of the connection is then not the caller. */
const FORWARDING = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];
const OWN_PAGE = new Set(['same-origin', 'none']);

export type Authority = { readonly host: string; readonly port: number };

export function isLocalAdmin(facts: RequestFacts): boolean {
  if (!isLoopback(facts.remoteAddress)) return false;
  if (FORWARDING.some((name) => facts.headers[name] !== undefined)) return false;
  const host = parseAuthority(headerOf(facts, 'host') ?? '', facts.encrypted);
  if (host === null || !(host.host === 'localhost' || isLoopback(host.host))) return false;
  const site = headerOf(facts, 'sec-fetch-site');
  if (site !== undefined && (site === null || !OWN_PAGE.has(site))) return false;
  const origin = headerOf(facts, 'origin');
  return origin === undefined || (origin !== null && isSame(parseOrigin(origin), host));
}

/** Whether an address is in 127.0.0.0/8 or its IPv6 form, or is ::1. */
export function isLoopback(address: string): boolean {
  const ipv4 = address.toLowerCase().startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return address === '::1' || (isIP(ipv4) === 4 && ipv4.startsWith('127.'));
}

/** Parses `localhost`, `localhost:5681` or `[::1]:5681`; null for anything else. */
export function parseAuthority(text: string, encrypted: boolean): Authority | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::(\d{1,5}))?$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) return null;
  return { host: host.toLowerCase(), port: match?.[3] === undefined ? defaultPort(encrypted) : Number(match[3]) };
}

function parseOrigin(text: string): Authority | null {
  const match = /^(https?):\/\/([^/?#@\s]+)$/i.exec(text);
  return match === null ? null : parseAuthority(match[2] ?? '', match[1]?.toLowerCase() === 'https');
}

function isSame(a: Authority | null, b: Authority): boolean {
  return a !== null && a.host === b.host && a.port === b.port;
}

function defaultPort(encrypted: boolean): number {
  return encrypted ? 443 : 80;
}
