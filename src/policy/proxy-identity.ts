// The MeshIdentity of a proxy. Of several that select it one counts, as in Kuma (xds 6). A proxy that no MeshIdentity selects keeps the
// one that is being withdrawn from it.
import { compareText } from '../base/compare-text.ts';
import {
  givesCertificates,
  heldRow,
  identityNameOf,
  readInForce,
  withdrawalId,
  withdrawnServices,
  type IdentityInForce,
} from '../resource/identity-in-force.ts';
import {
  asReady,
  isMeshIdentityReady,
  parseMeshIdentity,
  selectsProxy,
  spiffeIdOf,
  trustDomainOf,
  type MeshIdentity,
} from '../resource/mesh-identity.ts';
import { homeZoneOf, isLocal, originOf, zoneOf } from '../resource/ownership.ts';
import { objectOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';

export type ProxyIdentity = {
  /** The MeshIdentity. */
  readonly resource: Resource;
  readonly kri: string;
  readonly spiffeId: string;
  readonly trustDomain: string;
};

type IdentifiedProxy = Pick<DataplaneProxy, 'labels' | 'zone'>;

/**
 * The identity of a proxy: among the MeshIdentities of its zone that are ready and select it, the one with the most labels, then the
 * first by name. Without one, the same among those that are being withdrawn. Null if its templates need a value that the proxy lacks.
 */
export function proxyIdentity(index: MeshIndex, proxy: IdentifiedProxy): ProxyIdentity | null {
  return selectingOf(index, proxy).chosen;
}

/** The SPIFFE IDs of all identities that select a proxy: its certificate may be of any of them while it changes from one to another. */
export function spiffeIdsOf(index: MeshIndex, proxy: IdentifiedProxy): readonly string[] {
  return selectingOf(index, proxy).spiffeIds;
}

function selectingOf(index: MeshIndex, proxy: IdentifiedProxy): SelectingIdentities {
  const { stored, held, known } = identitiesOf(index);
  let found = known.get(proxy);
  if (found !== undefined) return found;
  const { labels, zone } = proxy;
  const candidates = [...selecting(stored, proxy), ...selecting(held, proxy)];
  const spiffeIds = candidates.flatMap(({ identity }) => spiffeIdOf(identity, labels, index.mesh, zone) ?? []);
  known.set(proxy, (found = { chosen: chosenIdentity(index, proxy, candidates), spiffeIds }));
  return found;
}

function chosenIdentity(
  index: MeshIndex,
  { labels, zone }: IdentifiedProxy,
  [candidate]: readonly Candidate[],
): ProxyIdentity | null {
  if (candidate === undefined) return null;
  const { identity, resource } = candidate;
  const spiffeId = spiffeIdOf(identity, labels, index.mesh, zone);
  const trustDomain = trustDomainOf(identity, index.mesh, zone);
  if (spiffeId === null || trustDomain === null) return null;
  return { resource, kri: index.kriOf(resource), spiffeId, trustDomain };
}

/** Whether proxies of the mesh may have an identity. */
export function hasIdentities(index: MeshIndex): boolean {
  const { stored, held } = identitiesOf(index);
  return stored.length + held.length > 0;
}

/** How far the TLS of MeshServices is withdrawn, by KRI: their servers lose an identity. */
export function withdrawnIn(index: MeshIndex): ReadonlyMap<string, 'open' | 'clients'> {
  return identitiesOf(index).withdrawn;
}

/**
 * The step that a proxy with an identity must accept, because an identity is being withdrawn; `''` for none, or while the affected services
 * do not say so yet.
 */
export function askedOfProxies(index: MeshIndex): string {
  const { inForce, withdrawn } = identitiesOf(index);
  const id = withdrawalId(inForce);
  if (id === '') return '';
  for (const [kri, step] of withdrawn) {
    const { status, enforced } = objectOf(index.withKri('MeshService', kri)?.status['tls']);
    if (step === 'open' ? enforced === true : status === 'Ready') return '';
  }
  return id;
}

type Candidate = {
  readonly resource: Resource;
  readonly identity: MeshIdentity;
  /** The zones in which it is in force; null: all in which proxies may have it. */
  readonly zones: ReadonlySet<string> | null;
};
type Identities = {
  readonly stored: readonly Candidate[];
  readonly held: readonly Candidate[];
  readonly inForce: ReadonlyMap<string, IdentityInForce>;
  readonly withdrawn: ReadonlyMap<string, 'open' | 'clients'>;
  /** Of the proxies that were asked for. */
  readonly known: WeakMap<IdentifiedProxy, SelectingIdentities>;
};
type SelectingIdentities = { readonly chosen: ProxyIdentity | null; readonly spiffeIds: readonly string[] };

type Remembered = Identities & { readonly revision: string };

const remembered = new WeakMap<MeshIndex, Remembered>();

/** Read once for each change of a MeshIdentity, a MeshTrust or a Secret. */
function identitiesOf(index: MeshIndex): Identities {
  const revision = ['MeshIdentity', 'MeshTrust', 'Secret'].map((type) => index.revisionOf(type)).join(' ');
  const known = remembered.get(index);
  if (known?.revision === revision) return known;
  const inForce = new Map<string, IdentityInForce>();
  const held: Candidate[] = [];
  for (const row of index.resources('Secret')) {
    const name = identityNameOf(row);
    const one = name === null ? null : readInForce(row);
    if (name === null || one === null) continue;
    inForce.set(name, one);
    if (givesCertificates(one)) held.push(candidate(heldRow(row, one)));
  }
  const stored = [...index.resources('MeshIdentity')].map((row) =>
    isMadeHere(row) ? globalCandidate(index, row) : candidate(row),
  );
  const withdrawn = withdrawnServices(inForce.values());
  const read: Remembered = { revision, stored, held, inForce, withdrawn, known: new WeakMap() };
  remembered.set(index, read);
  return read;
}

function candidate(resource: Resource): Candidate {
  return { resource, identity: parseMeshIdentity(resource), zones: null };
}

/** Whether this is a global, and made the row: a zone has a copy of it, with a status. */
function isMadeHere(row: Resource): boolean {
  return originOf(row.labels) === 'global' && isLocal(row, 'global') && !isMeshIdentityReady(row);
}

/** Its status is in the zones. A global sees it by the MeshTrusts that zones made of it. */
function globalCandidate(index: MeshIndex, resource: Resource): Candidate {
  const kri = index.kriOf(resource);
  const trusts = [...index.resources('MeshTrust')].filter(({ status }) => objectOf(status['origin'])['kri'] === kri);
  const zones = new Set(trusts.map(zoneOf));
  return { resource, identity: parseMeshIdentity(asReady(resource)), zones };
}

/** Those that select a proxy, the one that counts first. */
function selecting(candidates: readonly Candidate[], { labels, zone }: IdentifiedProxy): Candidate[] {
  const size = ({ identity }: Candidate): number => Object.keys(identity.matchLabels ?? {}).length;
  return candidates
    .filter(({ zones }) => zones === null || zones.has(zone))
    .filter(({ resource, identity }) => homeZoneOf(resource, zone) === zone && selectsProxy(identity, labels))
    .toSorted((a, b) => size(b) - size(a) || compareText(a.resource.name, b.resource.name));
}
