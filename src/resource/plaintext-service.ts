// Whether a MeshService takes plain text although its mesh has an identity (decision 52). Pure.
import { objectOf } from './read-json.ts';
import type { Resource } from './types.ts';

/** Returns true for an available service whose servers may not demand TLS yet. Ask only in a mesh with a MeshIdentity. */
export function takesPlaintext({ spec, status }: Pick<Resource, 'spec' | 'status'>): boolean {
  return spec['state'] === 'Available' && objectOf(status['tls'])['enforced'] !== true;
}
