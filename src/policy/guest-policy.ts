// The limits of a producer policy in other zones: there it applies only to services and routes of its own zone (MADR 063). So no zone
// can configure the service of another zone for third parties.
import { placeOf, type Policy } from './parse-policy.ts';
import { describeRef, type TargetRef } from './target-ref.ts';
import type { Resource } from '../resource/types.ts';

/**
 * Whether this is a producer policy of another zone.
 * @param zone of the proxy, `''` if it is unknown
 */
export function isGuest({ role, zone: home }: Pick<Policy, 'role' | 'zone'>, zone: string): boolean {
  return role === 'producer' && home !== '' && home !== zone;
}

/** The destinations that a guest may configure: those of its own zone. Services of global belong to no zone. */
export function ownDestinations({ zone }: Policy, found: readonly Resource[]): Resource[] {
  return found.filter((resource) => placeOf(resource).zone === zone);
}

/** Why a guest has no effect on the resources of its reference. */
export function whyForeign({ zone }: Policy, ref: TargetRef, found: readonly Resource[]): string {
  const homes = [...new Set(found.map((resource) => placeOf(resource).zone))].sort();
  const where = homes.map((home) => (home === '' ? 'global' : `zone ${home}`)).join(', ');
  return `${describeRef(ref)} is of ${where || 'the whole mesh'}; a producer policy of zone ${zone} has an effect in other zones only on services of zone ${zone}`;
}
