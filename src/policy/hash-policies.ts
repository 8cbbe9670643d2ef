// The hash policies that a merged MeshLoadBalancingStrategy means: the new field wins over the nested old ones, whatever the
// priority of the policies they came from (MADR 075, policies 5, D16).
import type { Json, JsonObject } from '../resource/types.ts';
import { objectOf } from '../resource/read-json.ts';

const NESTED: ReadonlyMap<Json | undefined, string> = new Map([
  ['RingHash', 'ringHash'],
  ['Maglev', 'maglev'],
]);

/** The list in force, `[]` when hashing is turned off, null when there is none: the balancer's type decides about old lists. */
export function hashPoliciesOf(conf: JsonObject): Json[] | null {
  const root = conf['hashPolicies'];
  if (Array.isArray(root)) return root;
  const loadBalancer = objectOf(conf['loadBalancer']);
  const nested = objectOf(loadBalancer[NESTED.get(loadBalancer['type']) ?? ''])['hashPolicies'];
  return Array.isArray(nested) ? nested : null;
}
