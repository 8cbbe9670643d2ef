// The conf in force of one policy type, among the usable policies of an outbound or a route.
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { Conf, Confs } from '../policies/confs.ts';

/** @param policies whose confs are checked: those of `usablePolicies` */
export function confOf<T extends keyof Confs>(policies: readonly Pick<EffectivePolicy, 'type' | 'conf'>[], type: T): Conf<T> {
  return (policies.find((policy) => policy.type === type)?.conf[0] ?? {}) as Conf<T>;
}
