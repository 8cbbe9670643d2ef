// The conf in force of one policy type, among those of an outbound or a route.
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import type { JsonObject } from '../resource/types.ts';

/** `{}` where none is. */
export function confOf(policies: readonly Pick<EffectivePolicy, 'type' | 'conf'>[], type: string): JsonObject {
  return policies.find((policy) => policy.type === type)?.conf[0] ?? {};
}
