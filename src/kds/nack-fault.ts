// Whose fault a NACK reports. A Kuma peer says it in text alone, so this is the one file of the protocol that matches text.
import type { Refusal } from './refusal.ts';

/** `user`: a person has to change a resource; `other`: anything else. */
export type NackFault = 'user' | 'other';

/** Text with which a Kuma peer, and a Meridian peer that refuses too many resources to name them, starts (kds-wire 6.2.7). */
const USER_ERROR = 'user error';

/**
 * @param named the resources that the details of the NACK name: only a Meridian peer names any
 * @param message the text of the NACK, for a peer that names none
 */
export function nackFaultOf(named: readonly Refusal[], message: string): NackFault {
  return named.length > 0 || message.startsWith(USER_ERROR) ? 'user' : 'other';
}
