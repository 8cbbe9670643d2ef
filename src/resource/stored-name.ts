// A resource with a namespace is stored as `name.namespace`, with display name `name` (D2).
import type { TypeInfo } from './type-registry.ts';

/** The names of types that become host names, of zones and of services (`TypeInfo.labelName`). */
export const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
export const RFC_1035_REASON =
  'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63 characters';

/** Types without a namespace in Kubernetes (Mesh, Zone, insights): a namespace label on them has no meaning. */
export function isClusterWide({ scope, codec, adminOnly }: TypeInfo): boolean {
  return scope === 'Global' && codec.kind === 'proto' && !adminOnly;
}

/** The key name of a row. @param namespace label `k8s.kuma.io/namespace`, `''` where there is none */
export function storedNameOf({ displayName, namespace }: { displayName: string; namespace: string }): string {
  return namespace === '' ? displayName : `${displayName}.${namespace}`;
}

/**
 * The stored name and the display name for a caller's `name`: a name that ends with its namespace is the stored one, any other
 * the display name.
 * @param namespace the namespace as in `storedNameOf`
 */
export function namesOf(name: string, namespace: string): { readonly storedName: string; readonly displayName: string } {
  const suffix = `.${namespace}`;
  if (namespace === '') return { storedName: name, displayName: name };
  if (name.endsWith(suffix)) return { storedName: name, displayName: name.slice(0, -suffix.length) };
  return { storedName: storedNameOf({ displayName: name, namespace }), displayName: name };
}
