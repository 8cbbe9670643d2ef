// The resources that a zone loses and gets by a write of its Zone, for the answer of the write and of its preview.
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import { profileOf } from '../resource/zone-profile.ts';
import { permitted, type Callers } from '../http/access.ts';
import type { Membership, MembershipChangeOf } from './membership-change.ts';
import type { FastifyRequest } from 'fastify';

type Context = {
  readonly options: { readonly membershipChange?: MembershipChangeOf | undefined };
  readonly callers: Callers;
};

/**
 * The answer has names of types that the caller may read, and totals of all types.
 * @param before undefined for a Zone that is new: a zone without a Zone has nothing
 * @returns nothing for another type, and for a change that moves nothing
 */
export async function membershipReceipt(
  { options, callers }: Context,
  before: Resource | undefined,
  after: Resource | undefined,
  request: FastifyRequest,
): Promise<{ membership?: Membership }> {
  if (options.membershipChange === undefined || before?.type !== 'Zone' || after === undefined) return {};
  const change = { zone: after.name, before: profileOf(before), after: profileOf(after) };
  const moved = await options.membershipChange(change);
  if (moved === null || [moved.loses, moved.gets, moved.othersLose, moved.othersGet].every(({ total }) => total === 0)) return {};
  const mayRead = permitted((type) => callers.requireMay(typeOf(type), request));
  const shown = ({ total, groups }: Membership['loses']): Membership['loses'] => ({
    total,
    groups: groups.map((group) => (mayRead(group.type) ? group : { ...group, names: [] })),
  });
  const { zone, loses, gets, othersLose, othersGet } = moved;
  return {
    membership: { zone, loses: shown(loses), gets: shown(gets), othersLose: shown(othersLose), othersGet: shown(othersGet) },
  };
}
