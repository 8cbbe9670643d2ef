// Builds the row of a service (policies 2.7 to 2.9, 9.3, D20, D22): its status, and in its spec the computed fields state, identities
// and zoneIngress. Invariants: it never changes the spec of a service that came by KDS, and never changes labels. It changes only the
// status fields named here.
import { objectsOf, objectOf } from '../../resource/read-json.ts';
import type { JsonObject, Json, Resource } from '../../resource/types.ts';
import type { DataplaneFacts, Address } from './dataplane-facts.ts';
import { compareText } from '../../base/compare-text.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { homeZoneOf } from '../../resource/ownership.ts';
import { firstPortSni } from '../../resource/service-reach.ts';
import { kumaSni, serviceSni } from '../../resource/sni.ts';
import type { HostnameStatus } from './hostnames.ts';

export type ProxyCounts = {
  /** The number of selected Dataplanes that have inbounds. */
  readonly total: number;
  /** The number of these with an online insight. */
  readonly connected: number;
  /** The number of these with a Ready inbound for every port: its port or name equals targetPort. */
  readonly healthy: number;
};

/**
 * Counts the proxies of a MeshService.
 * @param spec the spec of the MeshService
 * @param selected the Dataplanes that it selects
 */
export function countProxies(
  spec: JsonObject,
  selected: readonly DataplaneFacts[],
  isOnline: (dataplane: string) => boolean,
): ProxyCounts {
  const targets = objectsOf(spec['ports']).map(({ port, targetPort }) => targetPort ?? port);
  const counts = { total: 0, connected: 0, healthy: 0 };
  for (const { name, inbounds } of selected) {
    if (inbounds.length === 0) continue;
    counts.total += 1;
    if (isOnline(name)) counts.connected += 1;
    const isServed = (target: unknown): boolean =>
      inbounds.some((inbound) => inbound.state === 'Ready' && (inbound.port === target || inbound.name === target));
    if (targets.every(isServed)) counts.healthy += 1;
  }
  return counts;
}

type MultiZoneStatus = { readonly meshServices: Json[]; readonly conditions: Json[] };

/**
 * The status of a MeshMultiZoneService.
 * @param services the MeshServices with its labels
 * @param zone the own zone, for services without a zone label
 */
export function multiZoneStatus(services: readonly Pick<Resource, 'name' | 'mesh' | 'labels'>[], zone: string): MultiZoneStatus {
  const meshServices = services
    .map((service) => ({
      name: displayNameOf(service),
      namespace: service.labels[label.namespace] ?? '',
      zone: homeZoneOf(service, zone),
      mesh: service.mesh,
    }))
    .sort(
      (a, b) =>
        compareText(a.name, b.name) ||
        compareText(a.namespace, b.namespace) ||
        compareText(a.zone, b.zone) ||
        compareText(a.mesh, b.mesh),
    );
  const condition =
    meshServices.length > 0
      ? { status: 'True', reason: 'MatchesFound', message: '' }
      : { status: 'False', reason: 'NoMatchesFound', message: 'no MeshService carries the labels of the selector' };
  return { meshServices, conditions: [{ type: 'MeshServicesMatched', ...condition }] };
}

/** The fields of every service, local or synced; `vip` is `''` when no address is free. */
type CommonParts = { readonly vip: string; readonly hostnames: HostnameStatus };

/** The fields that a zone computes only for its own MeshServices. */
export type LocalParts = {
  readonly proxies: ProxyCounts;
  /** The values of `kuma.io/service` on the selected Dataplanes. */
  readonly serviceTags: readonly string[];
  /** The SPIFFE IDs that MeshIdentities give them. */
  readonly spiffeIds: readonly string[];
  /** The ingress of the mesh; null without a ready one. */
  readonly ingress: Address | null;
  /** Whether no older service of the zone has the same hashed SNI. */
  readonly hasHashedSni: boolean;
  /** Whether there is a proxy with a ready inbound, and every such proxy accepts TLS. */
  readonly acceptTls: boolean;
  /** Whether a proxy with an identity calls the service in plain text, or may do so. */
  readonly isCalledInPlaintext: boolean;
  /**
   * The step in which its servers lose their identity: with `open` they take plain text too, with `clients` no client uses TLS;
   * null if they do not lose it.
   */
  readonly withdrawal: 'open' | 'clients' | null;
};

/** Makes the row of a MeshService. @param local null for a service of another zone, which computes its spec, TLS and proxies */
export function meshServiceRow(base: Resource, { vip, hostnames }: CommonParts, local: LocalParts | null): Resource {
  const status = { vips: vipsOf(vip), ...hostnameFields(base, hostnames) };
  if (local === null) return { ...base, status: merged(base.status, status) };
  // Without the field, other zones use the SNI in the form of Kuma.
  const sni = local.hasHashedSni ? firstPortSni(base) : null;
  const tls = tlsStatus(base.status, local);
  const spec = merged(base.spec, {
    state: local.proxies.healthy > 0 ? 'Available' : 'Unavailable',
    identities: identitiesOf(local, tls['status'] === 'Ready'),
    zoneIngress: local.ingress === null || sni === null ? undefined : { ...local.ingress, sni },
  });
  const dataplaneProxies = merged({}, nonZero(local.proxies));
  return { ...base, spec, status: merged(base.status, { ...status, tls, dataplaneProxies }) };
}

/**
 * Whether clients use TLS, and whether servers may demand it. Both stay once they hold: a new proxy of the service has its certificate
 * before it has its listeners. They go with the identity.
 */
function tlsStatus(
  { tls }: JsonObject,
  {
    spiffeIds,
    acceptTls,
    isCalledInPlaintext,
    withdrawal,
  }: Pick<LocalParts, 'spiffeIds' | 'acceptTls' | 'isCalledInPlaintext' | 'withdrawal'>,
): JsonObject {
  const before = objectOf(tls);
  if (spiffeIds.length === 0 || withdrawal === 'clients') return { status: 'NotReady' };
  if (withdrawal === 'open') return { status: before['status'] === 'Ready' ? 'Ready' : 'NotReady' };
  if (before['status'] !== 'Ready') return { status: acceptTls ? 'Ready' : 'NotReady' };
  // A service that becomes ready is enforced later: its clients use plain text until they have accepted TLS.
  return { status: 'Ready', ...((before['enforced'] === true || !isCalledInPlaintext) && { enforced: true }) };
}

type PublishedEgress = Address & { readonly spiffeIds?: readonly string[] };

/**
 * Makes the row of a MeshExternalService.
 * @param egress the egress of the mesh in this zone; null without a ready one. `hasHashedSni` is true if no older service has the
 * same
 */
export function externalServiceRow(
  base: Resource,
  { vip, hostnames }: CommonParts,
  { egress, hasHashedSni }: { readonly egress: PublishedEgress | null; readonly hasHashedSni: boolean },
): Resource {
  const port = objectOf(base.spec['match'])['port'];
  const sni = typeof port !== 'number' ? null : hasHashedSni ? serviceSni(base, port) : kumaSni(base, String(port));
  const zoneEgress = egress === null || sni === null ? undefined : egressStatus(egress, sni);
  return { ...base, status: merged(base.status, { vip: vipsOf(vip)?.[0], ...hostnameFields(base, hostnames), zoneEgress }) };
}

function egressStatus({ address, port, spiffeIds = [] }: PublishedEgress, sni: string): JsonObject {
  const identities = [...new Set(spiffeIds)].sort().map((value) => ({ type: 'SpiffeID', value }));
  return { address, port, sni, ...(identities.length > 0 && { identities }) };
}

export function multiZoneServiceRow(base: Resource, { vip, hostnames }: CommonParts, matched: MultiZoneStatus): Resource {
  const { meshServices, conditions } = matched;
  const status = {
    vips: vipsOf(vip),
    ...hostnameFields(base, hostnames),
    meshServices: some(meshServices),
    conditions,
  };
  return { ...base, status: merged(base.status, status) };
}

type Fields = { readonly [key: string]: Json | undefined };

/** Addresses of other writers (Kubernetes) stay. */
function hostnameFields({ status }: Resource, { addresses, hostnameGenerators }: HostnameStatus): Fields {
  const others = objectsOf(status['addresses']).filter(({ origin }) => origin !== 'HostnameGenerator');
  return { addresses: some([...others, ...addresses]), hostnameGenerators: some(hostnameGenerators) };
}

/**
 * The identities: ServiceTags first, then SPIFFE IDs, each sorted (policies 9.3). Clients of other zones use TLS as soon as there
 * is a SPIFFE ID.
 * @param areReady all servers accept TLS
 */
function identitiesOf({ serviceTags, spiffeIds }: LocalParts, areReady: boolean): Json[] | undefined {
  const listed = (type: string, values: readonly string[]): Json[] =>
    [...new Set(values)].sort().map((value) => ({ type, value }));
  return some([...listed('ServiceTag', serviceTags), ...listed('SpiffeID', areReady ? spiffeIds : [])]);
}

function vipsOf(ip: string): JsonObject[] | undefined {
  return ip === '' ? undefined : [{ ip }];
}

/** Omits zeros, as the stored form does (kds-wire 3, zero-value status). */
function nonZero(counts: ProxyCounts): Fields {
  return Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count === 0 ? undefined : count]));
}

function some(items: Json[]): Json[] | undefined {
  return items.length === 0 ? undefined : items;
}

/** A copy with these fields, without undefined ones. */
function merged(before: JsonObject, fields: Fields): JsonObject {
  const after: JsonObject = { ...before };
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) Reflect.deleteProperty(after, key);
    else after[key] = value;
  }
  return after;
}
