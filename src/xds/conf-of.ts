// The confs in force among the usable policies of an outbound or a route.
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { ConfsInForce } from '../policies/parts.ts';

type Checked = readonly Pick<EffectivePolicy, 'type' | 'conf'>[];

/** @param policies whose confs are checked: those of `usablePolicies` */
export function confOf<T extends keyof Confs>(policies: Checked, type: T): Conf<T> {
  return (policies.find((policy) => policy.type === type)?.conf[0] ?? {}) as Conf<T>;
}

/** The same for every type. */
export function confsOf(policies: Checked): ConfsInForce {
  return (type) => confOf(policies, type);
}
