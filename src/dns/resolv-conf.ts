// The resolvers of a machine, as resolv.conf(5) has them. Pure.
import { isIP } from 'node:net';

export type Server = { readonly address: string; readonly port: number };

export type Resolvers = {
  /** At least one. */
  readonly servers: readonly Server[];
  /** Milliseconds in which a stub resolver waits for an answer. */
  readonly timeoutMs: number;
  /** How often each server is asked. */
  readonly attempts: number;
  /** Whether queries begin with each server in turn. */
  readonly rotates: boolean;
};

const PORT = 53;
/** More servers are ignored, and larger values count as these. */
const MAX_SERVERS = 3;
const MAX_TIMEOUT_S = 30;
const MAX_ATTEMPTS = 5;
const DEFAULT_TIMEOUT_S = 5;
const DEFAULT_ATTEMPTS = 2;

/** What a stub resolver asks where the file names no server. */
const LOCAL_SERVER: Server = { address: '127.0.0.1', port: PORT };

/** The resolvers of a file; null where it names no server. What it has beside is ignored. */
export function parseResolvConf(text: string): Resolvers | null {
  const lines = text.split('\n').map((line) => line.split(/[#;]/)[0]?.trim().split(/\s+/) ?? []);
  const valuesOf = (keyword: string): string[] => lines.filter(([first]) => first === keyword).flatMap(([, ...rest]) => rest);
  const servers = lines
    .flatMap(([first, address = '']) => (first === 'nameserver' && isIP(address) !== 0 ? [{ address, port: PORT }] : []))
    .slice(0, MAX_SERVERS);
  const options = valuesOf('options');
  const numberOf = (name: string, usual: number, most: number): number => {
    const numbers = options.filter((option) => option.startsWith(`${name}:`)).map((option) => option.slice(name.length + 1));
    const written = numbers.findLast((number) => /^\d{1,9}$/.test(number));
    return written === undefined ? usual : Math.min(Math.max(Number(written), 1), most);
  };
  if (servers.length === 0) return null;
  return {
    servers,
    timeoutMs: numberOf('timeout', DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S) * 1_000,
    attempts: numberOf('attempts', DEFAULT_ATTEMPTS, MAX_ATTEMPTS),
    rotates: options.includes('rotate'),
  };
}

/** The resolvers of a machine without a file, or with one that names none. */
export function localResolvers(): Resolvers {
  return { servers: [LOCAL_SERVER], timeoutMs: DEFAULT_TIMEOUT_S * 1_000, attempts: DEFAULT_ATTEMPTS, rotates: false };
}
