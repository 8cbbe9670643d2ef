// A resource with a namespace is stored as `name.namespace`, with display name `name` (decisions D2).
import type { TypeInfo } from './type-registry.ts';

/** Kubernetes gives these no namespace (Mesh, Zone, insights): a label that names one is a label like any other. */
export function isClusterWide({ scope, codec, adminOnly }: TypeInfo): boolean {
  return scope === 'Global' && codec.kind === 'proto' && !adminOnly;
}

/**
 * The name of the row and the name for people of what a caller calls `name`.
 * @param namespace label `k8s.kuma.io/namespace`; a name that ends with it already is taken as the stored one
 */
export function storedNameOf(name: string, namespace: string | undefined): { storedName: string; displayName: string } {
  if (namespace === undefined || namespace === '') return { storedName: name, displayName: name };
  const suffix = `.${namespace}`;
  return name.endsWith(suffix)
    ? { storedName: name, displayName: name.slice(0, -suffix.length) }
    : { storedName: name + suffix, displayName: name };
}
