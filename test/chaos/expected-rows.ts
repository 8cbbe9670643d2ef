// The expected rows of a store for a row of another store: an independent implementation of the rules of docs/reference. It shares no
// code with the product, so a wrong rule there cannot make a wrong expectation here. Rows that no chaos test writes are an error.
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { JsonObject, Resource, ResourceKey } from '../../src/resource/types.ts';

/** A row without its times and its version, which differ between stores. `isCopy`: KDS stored it (`sync_version` is not null). */
export type Row = ResourceKey & Pick<Resource, 'labels' | 'spec' | 'status' | 'owner'> & { readonly isCopy: boolean };

/** Types that are sent (kds-wire 3). G: from global to zones, Z: from zones to global, X: from a zone over global to the others. */
const DIRECTIONS: Readonly<Record<string, 'G' | 'Z' | 'GZ' | 'ZX' | 'GZX'>> = {
  Mesh: 'G',
  Dataplane: 'Z',
  DataplaneInsight: 'Z',
  ServiceInsight: 'G',
  Config: 'G',
  Secret: 'G',
  GlobalSecret: 'G',
  HostnameGenerator: 'GZ',
  MeshService: 'ZX',
  MeshMultiZoneService: 'G',
  MeshExternalService: 'GZ',
  MeshIdentity: 'GZ',
  MeshTrust: 'GZX',
  MeshOpenTelemetryBackend: 'GZ',
  MeshZoneAddress: 'ZX',
  Workload: 'Z',
  // Policies. Policies of zones stay on global; only a producer policy of a Kubernetes namespace is forwarded (kds-wire 5.2.5a).
  MeshHTTPRoute: 'GZ',
  MeshTCPRoute: 'GZ',
  MeshTLS: 'GZ',
  MeshLoadBalancingStrategy: 'GZ',
  MeshPassthrough: 'GZ',
  MeshAccessLog: 'GZ',
  MeshTrace: 'GZ',
  MeshFaultInjection: 'GZ',
  MeshRateLimit: 'GZ',
  MeshTimeout: 'GZ',
  MeshTrafficPermission: 'GZ',
  MeshHealthCheck: 'GZ',
  MeshCircuitBreaker: 'GZ',
  MeshRetry: 'GZ',
  MeshMetric: 'GZ',
  MeshProxyPatch: 'GZ',
};
/** The types of synced rows. */
export const SENT_TYPES = Object.keys(DIRECTIONS);
/** They are synced under their own names (kds-wire 3). */
const OWN_NAMES = new Set(['Mesh', 'Config', 'Secret', 'GlobalSecret']);
/** GlobalSecrets that stay on global (kds-wire 5.2.3). */
const PRIVATE_SECRET = /^(?:envoy-admin-ca$|admin-user-token$|inter-cp-ca$|user-token-revocations$|user-token-signing-key)/;
const ZONE_SIGNING_KEY = /^zone-token-signing-key/;
/** The characters for the digits of the hash (kds-wire 5.5). */
const HASH_LETTERS: Readonly<Record<string, string>> = {
  ...{ 0: '4', 1: '5', 2: '6', 3: '7', 4: '8', 5: '9', 6: 'b', 7: 'c' },
  ...{ 8: 'd', 9: 'f', a: 'v', b: 'w', c: 'x', d: 'z', e: '2', f: '4' },
};
const NAMESPACE = 'k8s.kuma.io/namespace';

/** Whether a row of a zone is on global too (kds-wire 5.4). */
export function goesUp(row: Row): boolean {
  return !row.isCopy && directionsOf(row).includes('Z') && row.labels['kuma.io/kds-sync'] !== 'disabled';
}

/** Whether a row of global is in this zone too; the Zones of the tests are enabled (kds-wire 5.2). */
export function goesDown(row: Row, zone: string): boolean {
  if (row.labels['kuma.io/kds-sync'] === 'disabled') return false;
  if (row.labels['kuma.io/policy-role'] === 'producer') throw new Error(`no rule for the producer policy ${row.name}`);
  if (row.isCopy) return directionsOf(row).includes('X') && row.labels['kuma.io/zone'] !== zone;
  if (row.type === 'Config') return row.name === 'kuma-cluster-id';
  if (row.type === 'GlobalSecret') return !PRIVATE_SECRET.test(row.name);
  return directionsOf(row).includes('G');
}

/** The row of a zone on global: it has its status, and the Zone owns it (kds-wire 5.4, 6.1). */
export function onGlobal(row: Row, zone: string): Row {
  const labels = { ...row.labels, 'kuma.io/origin': 'zone', 'kuma.io/zone': zone };
  const owner = { type: 'Zone', mesh: '', name: zone };
  const { zoneEgress: _, ...status } = row.status;
  return copied(row, { labels, owner, status: row.type === 'MeshExternalService' ? status : row.status });
}

/** The row of global in each zone that gets it, without the status of the zone (kds-wire 5.3, 6.1). */
export function inZone(row: Row): Row {
  const copy = copied(row, { labels: { ...row.labels, 'kuma.io/origin': 'global' }, owner: null, status: {} });
  if (row.type !== 'GlobalSecret' || !ZONE_SIGNING_KEY.test(row.name)) return copy;
  const labels = { 'kuma.io/display-name': row.name, ...copy.labels };
  const name = row.name.replace(ZONE_SIGNING_KEY, 'zone-token-signing-public-key');
  return { ...copy, name, labels, spec: publicHalf(row.spec) };
}

/** The name of a resource on the wire (kds-wire 5.5). */
export function wireName({ mesh, name, labels }: Pick<Row, 'mesh' | 'name' | 'labels'>): string {
  const shown = labels['kuma.io/display-name'] ?? name;
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(mesh + shown + (labels['kuma.io/zone'] ?? '') + (labels[NAMESPACE] ?? '')))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  const letters = hash
    .toString(16)
    .padStart(16, '0')
    .replaceAll(/./g, (digit) => HASH_LETTERS[digit] ?? '');
  return `${shown.slice(0, 236)}-${letters}`;
}

function copied(row: Row, content: Pick<Row, 'labels' | 'owner' | 'status'>): Row {
  const { type, mesh, name } = row;
  // A service without a state has no endpoint (policies 9).
  const spec = type === 'MeshService' ? { state: 'Unavailable', ...row.spec } : row.spec;
  if (OWN_NAMES.has(type)) return { type, mesh, name, spec, isCopy: true, ...content };
  const labels = { ...content.labels, 'kuma.io/display-name': row.labels['kuma.io/display-name'] ?? name };
  return { type, mesh, name: wireName({ mesh, name, labels }), spec, isCopy: true, ...content, labels };
}

function publicHalf(spec: JsonObject): JsonObject {
  const pem = Buffer.from(String(spec['data']), 'base64').toString();
  const key = createPublicKey(createPrivateKey(pem)).export({ type: 'pkcs1', format: 'pem' });
  return { data: Buffer.from(key).toString('base64') };
}

function directionsOf({ type }: Row): string {
  const directions = DIRECTIONS[type];
  if (directions === undefined) throw new Error(`no rule for rows of type ${type}`);
  return directions;
}
