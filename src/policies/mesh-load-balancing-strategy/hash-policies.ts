// The hash policies of a MeshLoadBalancingStrategy (MADR 075, policies 5): the field `hashPolicies` wins over the nested old lists, whatever
// the priority of their policies (D16).
import type { Json, JsonObject } from '../../resource/types.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import type { Conf } from '../confs.ts';

type Strategy = Conf<'MeshLoadBalancingStrategy'>;
type HashPolicies = NonNullable<Strategy['hashPolicies']>;

const NESTED: ReadonlyMap<Json | undefined, string> = new Map([
  ['RingHash', 'ringHash'],
  ['Maglev', 'maglev'],
]);

/** The list in force: `[]` turns hashing off, null means no list. The type of the balancer selects among the old lists. */
export function hashPoliciesOf(conf: Strategy): HashPolicies | null;
export function hashPoliciesOf(conf: JsonObject): Json[] | null;
export function hashPoliciesOf(conf: Strategy | JsonObject): unknown[] | null {
  const root = conf.hashPolicies;
  if (Array.isArray(root)) return root;
  const loadBalancer = objectOf(conf.loadBalancer);
  const nested = objectOf(loadBalancer[NESTED.get(loadBalancer['type']) ?? ''])['hashPolicies'];
  return Array.isArray(nested) ? nested : null;
}

/** Why the hash policies of a conf do nothing; null if they work, or if there are none. */
export function whyNoHashing(conf: JsonObject): string | null {
  if ((hashPoliciesOf(conf) ?? []).length === 0) return null;
  const { type = 'RoundRobin' } = objectOf(conf['loadBalancer']);
  return NESTED.has(type) ? null : `hash policies do nothing under ${textOf(type)}: the loadBalancer must be RingHash or Maglev`;
}
