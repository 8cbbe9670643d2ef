// The effect of a change of a Zone on the resources that zones have, as the API asks for it.
import type { ZoneProfile } from '../resource/zone-profile.ts';
import type { Answer } from '../answers/answers.ts';

/** The resources that zones lose and get. */
export type Membership = NonNullable<Answer<'Written'>['membership']>;

/** The effect of a change of a Zone; null if this control plane sends nothing to zones. */
export type MembershipChangeOf = (change: {
  readonly zone: string;
  readonly before: ZoneProfile;
  readonly after: ZoneProfile;
}) => Promise<Membership | null>;
