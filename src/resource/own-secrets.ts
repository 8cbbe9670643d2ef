// The Secrets of a mesh that control planes keep for themselves. No document may name one: who may write documents, and may not read Secrets,
// could sign with it otherwise (decision 93). Pure.
import type { ResourceKey } from './types.ts';

/** The ends of the names of the Secrets of a MeshIdentity, after its stored name. Kuma zones use the first two as well. */
export const AUTHORITY_CERTIFICATE = '-root-ca';
export const AUTHORITY_KEY = '-private-key';
export const ROTATION = '-rotation';
export const IN_FORCE = '-in-force';

const OF_IDENTITY = [AUTHORITY_CERTIFICATE, AUTHORITY_KEY, ROTATION, IN_FORCE];
const TOKENS = /^dataplane-token-(signing-key|signing-public-key|revocations)(-|$)/;
/** Kuma's authorities of a Mesh with `mtls`, in a store that was taken over. */
const BUILTIN = /\.ca-builtin-(cert|key)-/;

/** Whether a row of the mesh exists. */
export type Has = (type: string, name: string) => boolean;

/**
 * The purpose of a Secret that a control plane keeps for itself; null for a Secret that documents may name. A name with an ending
 * of those of MeshIdentities is free where there is no such MeshIdentity, nor the rest of its Secrets.
 */
export function ownSecretPurpose(name: string, has: Has): string | null {
  if (TOKENS.test(name)) return 'it is for the tokens of Dataplanes';
  if (BUILTIN.test(name)) return 'it is for the authority of the Mesh';
  const identity = identityIn(name);
  return identity !== null && isOfIdentity(name, identity, has) ? `it is for the MeshIdentity ${identity}` : null;
}

/** The rows of which `ownSecretPurpose` asks whether they exist. */
export function relatedToSecret(mesh: string, name: string): ResourceKey[] {
  const identity = identityIn(name);
  if (identity === null) return [];
  const secrets = OF_IDENTITY.map((ending) => ({ type: 'Secret', mesh, name: `${identity}${ending}` }));
  return [{ type: 'MeshIdentity', mesh, name: identity }, ...secrets];
}

/** The stored name of the MeshIdentity to which a Secret of this name may belong. */
function identityIn(name: string): string | null {
  const ending = OF_IDENTITY.find((one) => name.endsWith(one));
  return ending === undefined || name === ending ? null : name.slice(0, -ending.length);
}

function isOfIdentity(name: string, identity: string, has: Has): boolean {
  const isThere = (ending: string): boolean => name === identity + ending || has('Secret', identity + ending);
  return (
    has('MeshIdentity', identity) ||
    (isThere(AUTHORITY_CERTIFICATE) && isThere(AUTHORITY_KEY)) ||
    [ROTATION, IN_FORCE].some((ending) => name !== identity + ending && has('Secret', identity + ending))
  );
}
