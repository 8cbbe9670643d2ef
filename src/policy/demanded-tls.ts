// Which servers demand TLS, and to which of them a client uses it (decision 52). Pure. Invariants: a server that demands TLS is called with
// TLS, whatever its services say, and no client sends plain text to a service that is Ready.
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { hasIdentities, proxyIdentity, spiffeIdsOf, withdrawnIn } from './proxy-identity.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';

/**
 * Whether the row of a Dataplane says that its inbounds have demanded TLS, and have not been opened since. A PUT leaves the status, so no edit of
 * a service changes it.
 */
export function hasDemandedTls({ status }: Pick<Resource, 'status'>): boolean {
  return objectOf(status['tls'])['enforced'] === true;
}

/** The status of a Dataplane whose Envoy demands TLS, or does not any more. */
export function withDemandedTls(status: JsonObject, isDemanded: boolean): JsonObject {
  const { tls: _before, ...rest } = status;
  return isDemanded ? { ...rest, tls: { enforced: true } } : rest;
}

/** Whether the servers of a MeshService in the zone of a client accept TLS: its proxies have accepted their certificates. */
export function acceptsTls({ status }: Pick<Resource, 'status'>): boolean {
  return objectOf(status['tls'])['status'] === 'Ready';
}

/**
 * Whether the inbounds of a proxy with an identity may demand TLS: no client calls its services in plain text, or they demanded it before. The
 * second ends when servers of one of its services lose their identity: their clients change to plain text.
 */
export function mayDemandTls(index: MeshIndex, proxy: DataplaneProxy): boolean {
  if (mayBeginToDemandTls(index, proxy)) return true;
  if (!hasDemandedTls(rowOf(index, proxy))) return false;
  const services = index.selections.servicesOf(proxy);
  const withdrawn = withdrawnIn(index);
  return withdrawn.size === 0 || services.every((service) => !withdrawn.has(index.kriOf(service)));
}

/** Whether no client calls a service of a proxy in plain text. Then it makes no difference whether the proxy demanded TLS before. */
export function mayBeginToDemandTls(index: MeshIndex, proxy: DataplaneProxy): boolean {
  return index.selections.servicesOf(proxy).every(({ status }) => objectOf(status['tls'])['enforced'] === true);
}

/** Whether a client of the same zone uses TLS to a server of a MeshService. */
export function takesTls(index: MeshIndex, service: Resource, server: DataplaneProxy): boolean {
  return acceptsTls(service) || demandsTls(index, server);
}

/**
 * Whether clients of the same zone call a server of a MeshService. A Dataplane without an identity is no server of a service that is Ready: it
 * could not prove who it is, and in plain text any Dataplane with the labels of the selector would get the requests.
 */
export function isCalled(index: MeshIndex, service: Resource, server: DataplaneProxy): boolean {
  return !acceptsTls(service) || !hasIdentities(index) || proxyIdentity(index, server) !== null;
}

/** Whether the row of a proxy with an identity says that it demands TLS, and no client has to call it in plain text. */
export function demandsTls(index: MeshIndex, proxy: DataplaneProxy): boolean {
  if (!hasDemandedTls(rowOf(index, proxy)) || proxyIdentity(index, proxy) === null) return false;
  const withdrawn = withdrawnIn(index);
  if (withdrawn.size === 0) return true;
  return index.selections.servicesOf(proxy).every((service) => withdrawn.get(index.kriOf(service)) !== 'clients');
}

/** @property ids SPIFFE IDs of the servers, of which a server must have one, sorted */
export type TlsToServers = { readonly servers: 'all' | 'some' | 'none'; readonly ids: readonly string[] };

/**
 * The servers of MeshServices of one zone to which a client of the zone uses TLS. The IDs are those that the services publish, and those of
 * servers that a service has not published yet.
 */
export function tlsToServers(index: MeshIndex, services: readonly Resource[]): TlsToServers {
  const ids = new Set(services.flatMap(publishedIds));
  if (!hasIdentities(index)) return { servers: services.length === 0 ? 'all' : 'none', ids: [...ids].sort() };
  let [count, tls] = [0, 0];
  const note = (isTls: boolean): void => {
    count += 1;
    if (isTls) tls += 1;
  };
  for (const service of services) {
    const servers = index.selections.proxiesOf(service).filter((proxy) => hasInbound(proxy) && isCalled(index, service, proxy));
    if (servers.length === 0) note(acceptsTls(service));
    for (const server of servers) {
      const isTls = takesTls(index, service, server);
      note(isTls);
      if (isTls) for (const id of spiffeIdsOf(index, server)) ids.add(id);
    }
  }
  return { servers: tls === count ? 'all' : tls === 0 ? 'none' : 'some', ids: [...ids].sort() };
}

/** The SPIFFE IDs that a MeshService publishes. */
export function publishedIds({ spec }: Pick<Resource, 'spec'>): string[] {
  return objectsOf(spec['identities']).flatMap(({ type, value }) => (type === 'SpiffeID' ? [textOf(value)] : []));
}

function hasInbound({ sections }: DataplaneProxy): boolean {
  return sections.some(({ kind }) => kind === 'Inbound');
}

/** The row as it is now: a new status alone makes no other proxy. */
function rowOf(index: MeshIndex, { resource }: DataplaneProxy): Resource {
  return index.get('Dataplane', resource.name) ?? resource;
}
