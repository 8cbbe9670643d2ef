// The rows of a MeshIdentity in a zone: the Secrets of its authority, its MeshTrust and its conditions (xds 6). Pure. Invariant: an
// authority that is there is used, also one that a Kuma zone made; nothing replaces it.
import { authoritySecrets, providerOf } from '../../identity/identity-spec.ts';
import type { AuthorityPem } from '../../identity/leaf.ts';
import { authorityId } from '../../identity/authority-id.ts';
import { pairProblem } from '../../identity/authority-pair.ts';
import { faultAt, nextChange, validityOf, type AuthorityFault } from '../../identity/authority-validity.ts';
import { certificatesIn } from '../../identity/trust-bundles.ts';
import { otherAuthorities, readRotation, rotationKey, type Rotation } from '../../resource/identity-rotation.ts';
import { kriOf } from '../../resource/kri.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { parseMeshIdentity, trustDomainOf } from '../../resource/mesh-identity.ts';
import { objectsOf } from '../../resource/read-json.ts';
import { secretSpec, secretText } from '../../resource/secret-data.ts';
import type { JsonObject, Resource, ResourceKey } from '../../resource/types.ts';
import { newRow, sameContent } from '../computed-row.ts';
import { askingLabels } from './other-zones.ts';

/** The rows of one MeshIdentity, as they are stored. */
export type IdentityRows = {
  readonly identity: Resource;
  readonly certificate: Resource | undefined;
  readonly key: Resource | undefined;
  readonly trust: Resource | undefined;
  /** It is undefined while the authority is not being changed. */
  readonly rotation: Resource | undefined;
};

/** The missing parts for the certificates of a MeshIdentity. */
export type IdentityPlan =
  /** An authority has to be made first, for this trust domain. */
  | { readonly needs: 'authority'; readonly trustDomain: string }
  | { readonly needs: 'writes'; readonly trust: Resource | null; readonly status: JsonObject | null }
  | { readonly needs: 'nothing' };

type Condition = { readonly type: string; readonly status: 'True' | 'False'; readonly reason: string; readonly message: string };

/** The stored keys of the rows beside the MeshIdentity. */
export function identityKeys({ mesh, name }: ResourceKey): Record<'certificate' | 'key' | 'trust' | 'rotation', ResourceKey> {
  return { ...authoritySecrets(mesh, name), trust: { type: 'MeshTrust', mesh, name }, rotation: rotationKey(mesh, name) };
}

/** Plans the rows of a MeshIdentity. @param zone the zone of this control plane */
export function planIdentity(rows: IdentityRows, { zone, now }: { zone: string; now: Date }): IdentityPlan {
  const { identity, certificate, key } = rows;
  const provider = providerOf(identity.spec);
  if (provider.kind === 'unsupported') return withStatus(identity, failed('ProviderNotSupported', provider.reason));
  const trustDomain = trustDomainOf(parseMeshIdentity(identity), identity.mesh, zone);
  if (trustDomain === null)
    return withStatus(identity, failed('InvalidTrustDomain', 'the trust domain may use .Mesh and .Zone alone'));
  if (!provider.generates)
    return withStatus(identity, failed('ProviderNotSupported', 'a given authority is not supported: enable autogenerate'));
  if (certificate === undefined && key === undefined) return { needs: 'authority', trustDomain };
  const names = authoritySecrets(identity.mesh, identity.name);
  if (certificate === undefined || key === undefined) {
    const missing = certificate === undefined ? names.certificate : names.key;
    return withStatus(
      identity,
      failed('AuthorityIncomplete', `Secret ${missing.name} is missing; restore it, or delete the other`),
    );
  }
  const [certPem] = certificatesIn([{ pem: { value: secretText(certificate) } }]);
  if (certPem === undefined)
    return withStatus(identity, failed('AuthorityUnreadable', 'the Secret of the authority holds no certificate'));
  const problem = pairProblem({ certPem, keyPem: secretText(key) });
  if (problem !== null) {
    const remedy = `restore the Secrets ${names.certificate.name} and ${names.key.name}, or delete both for a new authority`;
    return withStatus(identity, failed('AuthorityUnusable', `the certificate authority cannot sign: ${problem}; ${remedy}`));
  }
  return planTrust(rows, trustDomain, certPem, provider.makesTrust, { zone, now });
}

/** The rows of a new authority, for one transaction. */
export function authorityRows(identity: ResourceKey, { certPem, keyPem }: AuthorityPem, now: Date): Resource[] {
  const { certificate, key } = authoritySecrets(identity.mesh, identity.name);
  const row = (at: ResourceKey, pem: string): Resource => ({
    ...newRow(at, now),
    labels: {},
    spec: secretSpec(pem),
  });
  return [row(certificate, certPem), row(key, keyPem)];
}

function planTrust(
  { identity, trust, rotation }: IdentityRows,
  trustDomain: string,
  authority: string,
  makesTrust: boolean,
  { zone, now }: { zone: string; now: Date },
): IdentityPlan {
  const { provider, ready } = signingConditions(identity, faultAt(validityOf(authority), now));
  if (!makesTrust) {
    const disabled = condition('MeshTrustCreated', 'False', 'MeshTrustCreationDisabled', 'meshTrustCreation is Disabled');
    return withStatus(identity, [provider, disabled, ready], authorityId(authority));
  }
  if (trust !== undefined && trust.spec['trustDomain'] !== trustDomain) {
    const message = `MeshTrust ${trust.name} has another trust domain than ${trustDomain}; delete it when no proxy needs it`;
    const conflict = condition('MeshTrustCreated', 'False', 'TrustDomainChanged', message);
    return withStatus(identity, [provider, conflict, condition('Ready', 'False', 'TrustDomainChanged', message)]);
  }
  const created = condition('MeshTrustCreated', 'True', 'MeshTrustCreated', 'the MeshTrust holds the authority');
  const status = changedStatus(identity, [provider, created, ready], authorityId(authority));
  const held = heldAuthorities(authority, rotation, now);
  const isChanging = rotation !== undefined && readRotation(rotation)?.step === 'distribute';
  const made = wantedTrust(identity, trust, trustDomain, held, { zone, now });
  const asking = { ...made, labels: askingLabels(made.labels, isChanging) };
  const wanted = trust !== undefined && sameContent(trust, asking) ? null : asking;
  if (wanted === null && status === null) return { needs: 'nothing' };
  return { needs: 'writes', trust: wanted, status };
}

/** Milliseconds until an authority that is not valid is looked at again: the date may be set right. */
const FAULT_LOOK_MS = 60_000;

/**
 * The time at which the validity of the authority begins or ends next, in milliseconds since 1970; null if there is no such time.
 */
export function validityWake({ certificate }: Pick<IdentityRows, 'certificate'>, now: Date): number | null {
  const [authority] = certificate === undefined ? [] : certificatesIn([{ pem: { value: secretText(certificate) } }]);
  if (authority === undefined) return null;
  const validity = validityOf(authority);
  const next = nextChange(validity, now)?.getTime() ?? null;
  if (faultAt(validity, now) === null) return next;
  return Math.min(next ?? Infinity, now.getTime() + FAULT_LOOK_MS);
}

const REMEDIES: Readonly<Record<AuthorityFault['reason'], (name: string, mesh: string) => string>> = {
  AuthorityExpired: (name, mesh) => `run meridian identity rotate ${name} --mesh ${mesh} in this zone`,
  AuthorityNotYetValid: () => 'set the date of this machine right, or wait',
};

/** Proxies keep an identity whose authority cannot sign: in plain text nothing would be checked. */
function signingConditions(
  { mesh, labels, name }: Resource,
  fault: AuthorityFault | null,
): Record<'provider' | 'ready', Condition> {
  if (fault === null)
    return { provider: condition('Provider', 'True', 'ProviderInitialized', 'the authority can sign'), ready: READY };
  const message = `${fault.message}, so proxies get no certificates; ${REMEDIES[fault.reason](displayNameOf({ labels, name }), mesh)}`;
  const [provider, ready] = failed(fault.reason, message);
  return { provider, ready };
}

/** Certificates in PEM. */
type HeldAuthorities = { readonly needed: readonly string[]; readonly dropped: readonly string[] };

/** The next authority stands in the MeshTrust before it signs; the last one stays there until its certificates have ended. */
function heldAuthorities(authority: string, row: Resource | undefined, now: Date): HeldAuthorities {
  const rotation: Rotation | null = row === undefined ? null : readRotation(row);
  const normal = (pem: string): string[] => certificatesIn([{ pem: { value: pem } }]);
  const others = otherAuthorities(rotation).flatMap(normal);
  const isOver = rotation?.step === 'renew' && Date.parse(rotation.until) <= now.getTime();
  return isOver ? { needed: [authority], dropped: others } : { needed: [authority, ...others], dropped: [] };
}

/** The MeshTrust with the authorities in it. A new authority stands beside the old ones. */
function wantedTrust(
  identity: Resource,
  trust: Resource | undefined,
  trustDomain: string,
  { needed, dropped }: HeldAuthorities,
  { zone, now }: { zone: string; now: Date },
): Resource {
  const { mesh, name } = identity;
  const base: Resource = trust ?? {
    ...newRow({ type: 'MeshTrust', mesh, name }, now),
    labels: {
      // The label has the stored name: two MeshIdentities of one display name have two MeshTrusts.
      [label.displayName]: name,
      [label.mesh]: mesh,
      [label.env]: 'universal',
      [label.zone]: zone,
      [label.origin]: 'zone',
    },
  };
  // A bundle in which no certificate can be read stays: a person wrote it.
  const kept = objectsOf(base.spec['caBundles']).filter((bundle) => {
    const pems = certificatesIn([bundle]);
    return pems.length === 0 || !pems.every((pem) => dropped.includes(pem));
  });
  const held = certificatesIn(kept);
  const missing = needed.filter((pem) => !held.includes(pem));
  const caBundles = [...kept, ...missing.map((value) => ({ type: 'Pem', pem: { value } }))];
  return {
    ...base,
    spec: { ...base.spec, trustDomain, caBundles },
    status: { ...base.status, origin: { kri: kriOf(identity) } },
  };
}

const READY = condition('Ready', 'True', 'Ready', 'proxies get certificates');

function condition(type: string, status: Condition['status'], reason: string, message: string): Condition {
  return { type, status, reason, message };
}

function failed(reason: string, message: string): [provider: Condition, ready: Condition] {
  return [condition('Provider', 'False', reason, message), condition('Ready', 'False', reason, message)];
}

function withStatus(identity: Resource, conditions: readonly Condition[], authority?: string): IdentityPlan {
  const status = changedStatus(identity, conditions, authority);
  return status === null ? { needs: 'nothing' } : { needs: 'writes', trust: null, status };
}

/**
 * Returns null if type, status and reason are unchanged. Messages do not count: other writers word them differently.
 * @param authority id of the one that signs; its proxies get certificates of it
 */
function changedStatus({ status }: Resource, conditions: readonly Condition[], authority?: string): JsonObject | null {
  const brief = (list: readonly JsonObject[]): string =>
    JSON.stringify(list.map(({ type, status: state, reason }) => [type, state, reason]));
  const isSame = brief(objectsOf(status['conditions'])) === brief(conditions);
  if (isSame && (authority === undefined || status['authority'] === authority)) return null;
  return { ...status, conditions: [...conditions], ...(authority !== undefined && { authority }) };
}
