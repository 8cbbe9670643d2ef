// The role of a policy: system, producer, consumer or workload-owner (MADR 063, kds-wire 5.2, D9).
import { label } from './labels.ts';
import type { Json, JsonObject, Labels } from './types.ts';
import { objectOf, textOf } from './read-json.ts';

export type PolicyRole = 'system' | 'producer' | 'consumer' | 'workload-owner';

/** The namespace of policies that belong to the whole mesh (D36). */
export const SYSTEM_NAMESPACE = 'kuma-system';

const PRODUCER_KINDS = new Set(['MeshService', 'MeshHTTPRoute', 'MeshTCPRoute']);
const IDENTITY_LABELS = new Set<string>([label.displayName, label.namespace]);

/**
 * The way in which an item that selects by labels is read: with `own` it is a consumer item; with `kuma` it is a producer item if
 * it has the two labels that identify one service, because Kuma has no names there (D9).
 */
type RoleRule = 'own' | 'kuma';

/**
 * The role that a policy's spec and namespace give it.
 * @param rule `own` for policies written here, `kuma` for policies that a Kuma peer may send or receive
 * @returns null when `to[]` mixes producer and consumer items, which no policy may do
 */
export function policyRole(policy: { spec: JsonObject; labels: Labels }, rule: RoleRule = 'own'): PolicyRole | null {
  const namespace = policy.labels[label.namespace];
  if (namespace === undefined || namespace === '' || namespace === SYSTEM_NAMESPACE) return 'system';
  const items = Array.isArray(policy.spec['to']) ? policy.spec['to'] : [];
  if (items.length === 0) return 'workload-owner';
  const producers = items.filter((item) => isProducerItem(item, namespace, rule)).length;
  if (producers === items.length) return 'producer';
  return producers === 0 ? 'consumer' : null;
}

/** Whether an item names one object of the policy's namespace: by `name`, or, with rule `kuma`, by the two labels that identify it. */
function isProducerItem(item: Json, namespace: string, rule: RoleRule): boolean {
  const ref = objectOf(objectOf(item)['targetRef']);
  if (!PRODUCER_KINDS.has(textOf(ref['kind']))) return false;
  const refNamespace = ref['namespace'];
  if (typeof ref['name'] === 'string' && ref['name'] !== '')
    return refNamespace === undefined || refNamespace === '' || refNamespace === namespace;
  if (rule === 'own') return false;
  const labels = objectOf(ref['labels']);
  const named = labels[label.namespace];
  return (
    typeof labels[label.displayName] === 'string' &&
    labels[label.displayName] !== '' &&
    Object.keys(labels).every((key) => IDENTITY_LABELS.has(key)) &&
    (named === undefined || named === '' || named === namespace)
  );
}
