// MeshLoadBalancingStrategy on a cluster, and its hash policies on a route (policies 2.3, 5; MADR 075; xds 3.3).
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { decimal, given, optionalDuration } from './proto-json.ts';

const HASH_FUNCTIONS: ReadonlyMap<Json | undefined, string> = new Map([
  ['MurmurHash2', 'MURMUR_HASH_2'],
  ['XXHash', 'XX_HASH'],
]);

/** The balancer of a cluster; round robin is Envoy's own. */
export function loadBalancer(conf: JsonObject): JsonObject {
  const balancer = objectOf(conf['loadBalancer']);
  switch (balancer['type']) {
    case 'RingHash':
      return { lbPolicy: 'RING_HASH', ...ringHash(objectOf(balancer['ringHash'])) };
    case 'Maglev':
      return { lbPolicy: 'MAGLEV', ...maglev(objectOf(balancer['maglev'])) };
    case 'LeastRequest':
      return { lbPolicy: 'LEAST_REQUEST', ...leastRequest(objectOf(balancer['leastRequest'])) };
    case 'Random':
      return { lbPolicy: 'RANDOM' };
    default:
      return {};
  }
}

/** The hash policies of a route, for Envoy. @param list as `hashPoliciesOf` gives it */
export function hashPolicies(list: readonly Json[] | null): JsonObject[] {
  return (list ?? []).flatMap((one) => {
    const policy = objectOf(one);
    const specifier = specifierOf(policy);
    return specifier === null ? [] : [{ ...specifier, ...(policy['terminal'] === true && { terminal: true }) }];
  });
}

function specifierOf({ type, header, cookie, connection, queryParameter, filterState }: JsonObject): JsonObject | null {
  switch (type) {
    case 'Header':
      return { header: { headerName: textOf(objectOf(header)['name']) } };
    case 'Cookie': {
      const { name = '', ttl, path } = objectOf(cookie);
      return { cookie: given({ name, ttl: optionalDuration(ttl), path }) };
    }
    case 'Connection':
      return { connectionProperties: { sourceIp: objectOf(connection)['sourceIP'] === true } };
    case 'SourceIP':
      return { connectionProperties: { sourceIp: true } };
    case 'QueryParameter':
      return { queryParameter: { name: textOf(objectOf(queryParameter)['name']) } };
    case 'FilterState':
      return { filterState: { key: textOf(objectOf(filterState)['key']) } };
    default:
      return null;
  }
}

function ringHash({ hashFunction, minRingSize, maxRingSize }: JsonObject): JsonObject {
  // Envoy's minimum is 1024, and it refuses a smaller maximum.
  const least = minRingSize ?? (typeof maxRingSize === 'number' && maxRingSize < 1024 ? maxRingSize : undefined);
  const config = given({
    minimumRingSize: wide(least),
    maximumRingSize: wide(maxRingSize),
    hashFunction: HASH_FUNCTIONS.get(hashFunction),
  });
  return Object.keys(config).length === 0 ? {} : { ringHashLbConfig: config };
}

function maglev({ tableSize }: JsonObject): JsonObject {
  return tableSize === undefined
    ? {}
    : { maglevLbConfig: given({ tableSize: wide(typeof tableSize === 'number' ? primeFrom(tableSize) : undefined) }) };
}

/** Envoy takes a table of prime size alone: the next one. */
function primeFrom(size: number): number {
  let prime = Math.max(2, Math.ceil(size));
  while (!isPrime(prime)) prime += 1;
  return prime;
}

function isPrime(size: number): boolean {
  for (let divisor = 2; divisor * divisor <= size; divisor += 1) if (size % divisor === 0) return false;
  return true;
}

function leastRequest({ choiceCount, activeRequestBias }: JsonObject): JsonObject {
  const defaultValue = decimal(activeRequestBias);
  const config = given({ choiceCount, activeRequestBias: defaultValue === undefined ? undefined : { defaultValue } });
  return Object.keys(config).length === 0 ? {} : { leastRequestLbConfig: config };
}

/** proto3 JSON writes 64-bit integers as text. */
function wide(value: Json | undefined): string | undefined {
  return typeof value === 'number' ? String(value) : undefined;
}
