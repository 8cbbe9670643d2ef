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

/**
 * The identity of a proxy: among the MeshIdentities of its zone that are ready and select it, the one with the most labels, then the
 * first by name. Without one, the same among those that are being withdrawn. Null if its templates need a value that the proxy lacks.
 */
export function proxyIdentity(index: MeshIndex, { labels, zone }: Pick<DataplaneProxy, 'labels' | 'zone'>): ProxyIdentity | null {
  const { stored, held } = identitiesOf(index);
  const chosen = choose(stored, { labels, zone }) ?? choose(held, { labels, zone });
  if (chosen === undefined) return null;
  const spiffeId = spiffeIdOf(chosen.identity, labels, index.mesh, zone);
  const trustDomain = trustDomainOf(chosen.identity, index.mesh, zone);
  if (spiffeId === null || trustDomain === null) return null;
  return { resource: chosen.resource, kri: index.kriOf(chosen.resource), spiffeId, trustDomain };
}

/** Whether proxies of the mesh may have an identity. */
export function hasIdentities(index: MeshIndex): boolean {
  const { stored, held } = identitiesOf(index);
  return stored.length + held.length > 0;
}

/**
 * The step that a proxy with an identity must accept, because an identity is being withdrawn; `''` for none, or while the affected services
 * do not say so yet.
 */
export function askedOfProxies(index: MeshIndex): string {
  const { inForce } = identitiesOf(index);
  const id = withdrawalId(inForce);
  if (id === '') return '';
  for (const [kri, step] of withdrawnServices(inForce.values())) {
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
};

const remembered = new WeakMap<MeshIndex, Identities & { readonly revision: string }>();

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
  const read = { revision, stored, held, inForce };
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

function choose(
  candidates: readonly Candidate[],
  { labels, zone }: Pick<DataplaneProxy, 'labels' | 'zone'>,
): Candidate | undefined {
  const size = ({ identity }: Candidate): number => Object.keys(identity.matchLabels ?? {}).length;
  return candidates
    .filter(({ zones }) => zones === null || zones.has(zone))
    .filter(({ resource, identity }) => homeZoneOf(resource, zone) === zone && selectsProxy(identity, labels))
    .toSorted((a, b) => size(b) - size(a) || compareText(a.resource.name, b.resource.name))[0];
}
