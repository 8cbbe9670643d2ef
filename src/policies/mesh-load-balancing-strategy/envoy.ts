// MeshLoadBalancingStrategy on a cluster, and its hash policies on a route (policies 2.3, 5; MADR 075; xds 3.3).
import type { Conf } from '../confs.ts';
import type { JsonObject } from '../../resource/types.ts';
import { hashPoliciesOf } from './hash-policies.ts';
import { decimal, given, optionalDuration } from '../../envoy/proto-json.ts';

type Strategy = Conf<'MeshLoadBalancingStrategy'>;
type Balancer = NonNullable<Strategy['loadBalancer']>;
type HashPolicy = NonNullable<Strategy['hashPolicies']>[number];

const HASH_FUNCTIONS = { MurmurHash2: 'MURMUR_HASH_2', XXHash: 'XX_HASH' } as const;

/** The balancer of a cluster; round robin is Envoy's own. */
export function loadBalancer({ loadBalancer: balancer }: Strategy): JsonObject {
  switch (balancer?.type) {
    case 'RingHash':
      return { lbPolicy: 'RING_HASH', ...ringHash(balancer.ringHash ?? {}) };
    case 'Maglev':
      return { lbPolicy: 'MAGLEV', ...maglev(balancer.maglev ?? {}) };
    case 'LeastRequest':
      return { lbPolicy: 'LEAST_REQUEST', ...leastRequest(balancer.leastRequest ?? {}) };
    case 'Random':
      return { lbPolicy: 'RANDOM' };
    default:
      return {};
  }
}

export function hashPolicyFields(conf: Strategy): JsonObject {
  const list = hashPolicies(hashPoliciesOf(conf));
  return list.length > 0 ? { hashPolicy: list } : {};
}

/** The hash policies of a route, for Envoy. @param list as `hashPoliciesOf` gives it */
export function hashPolicies(list: readonly HashPolicy[] | null): JsonObject[] {
  return (list ?? []).flatMap((policy) => {
    const specifier = specifierOf(policy);
    return specifier === null ? [] : [{ ...specifier, ...(policy.terminal === true && { terminal: true }) }];
  });
}

function specifierOf({ type, header, cookie, connection, queryParameter, filterState }: HashPolicy): JsonObject | null {
  switch (type) {
    case 'Header':
      return { header: { headerName: header?.name ?? '' } };
    case 'Cookie': {
      const { name = '', ttl, path } = cookie ?? {};
      return { cookie: given({ name, ttl: optionalDuration(ttl), path }) };
    }
    case 'Connection':
      return { connectionProperties: { sourceIp: connection?.sourceIP === true } };
    case 'SourceIP':
      return { connectionProperties: { sourceIp: true } };
    case 'QueryParameter':
      return { queryParameter: { name: queryParameter?.name ?? '' } };
    case 'FilterState':
      return { filterState: { key: filterState?.key ?? '' } };
    default:
      return null;
  }
}

function ringHash({ hashFunction, minRingSize, maxRingSize }: NonNullable<Balancer['ringHash']>): JsonObject {
  // Envoy's minimum is 1024, and it refuses a smaller maximum.
  const least = minRingSize ?? (maxRingSize !== undefined && maxRingSize < 1024 ? maxRingSize : undefined);
  const config = given({
    minimumRingSize: wide(least),
    maximumRingSize: wide(maxRingSize),
    hashFunction: hashFunction === undefined ? undefined : HASH_FUNCTIONS[hashFunction],
  });
  return Object.keys(config).length === 0 ? {} : { ringHashLbConfig: config };
}

function maglev({ tableSize }: NonNullable<Balancer['maglev']>): JsonObject {
  return tableSize === undefined ? {} : { maglevLbConfig: given({ tableSize: wide(primeFrom(tableSize)) }) };
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

function leastRequest({ choiceCount, activeRequestBias }: NonNullable<Balancer['leastRequest']>): JsonObject {
  const defaultValue = decimal(activeRequestBias);
  const config = given({ choiceCount, activeRequestBias: defaultValue === undefined ? undefined : { defaultValue } });
  return Object.keys(config).length === 0 ? {} : { leastRequestLbConfig: config };
}

/** proto3 JSON writes 64-bit integers as text. */
function wide(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
