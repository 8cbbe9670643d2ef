// The effect of a change of a Zone, from the logs of this process: the resources that the zone loses and gets, and those of the zone that
// the other zones lose and get. Invariants: it compares the same slots as the stream of the zone does after the change; the number of
// names is bounded; the cost grows with the rows of the affected meshes alone.
import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../../base/compare-text.ts';
import type { Steps } from '../../base/steps.ts';
import type { ResourceKey } from '../../resource/types.ts';
import { isMember, type ZoneProfile } from '../../resource/zone-profile.ts';
import type { Changelog } from './changelog.ts';
import { WithheldEntry } from './entry.ts';
import { isVisibleTo, type ProfileOf } from '../protocol/rules.ts';
import type { Slot, TypeLog } from './type-log.ts';
import type { ZoneChange } from '../protocol/zone-access.ts';

/** The largest number of listed names of a type and mesh. */
export const MAX_ROW_NAMES = 5;
/** The largest number of groups in one list, the largest groups first. */
export const MAX_ROW_GROUPS = 200;
/** The number of slots between two interruptions. */
const STEP = 1_000;

/** Rows of one type and mesh. @property names the first of them, as this control plane stores them */
export type RowGroup = {
  readonly type: string;
  readonly mesh: string;
  readonly total: number;
  readonly names: readonly string[];
};
/** @property total the number of resources, also of groups that are not listed */
export type RowGroups = { readonly total: number; readonly groups: readonly RowGroup[] };

export type MembershipChange = {
  readonly zone: string;
  readonly loses: RowGroups;
  readonly gets: RowGroups;
  /** Resources of this zone that the other zones no longer get, or begin to get. */
  readonly othersLose: RowGroups;
  readonly othersGet: RowGroups;
};

/** @property features the features of the zone; null while they are unknown: the zone then counts as one that has all */
export type MembershipView = { readonly features: ReadonlySet<string> | null; readonly profileOf: ProfileOf };

/** The slots of a log that a zone may lose or get by a change of its Zone. */
export function slotsToReview(log: TypeLog, { before, after }: Pick<ZoneChange, 'before' | 'after'>): Slot[] {
  const isAffected = (mesh: string): boolean => isMember(before, mesh) !== isMember(after, mesh);
  const slots = [...log.meshes()].filter(isAffected).flatMap((mesh) => [...log.ofMesh(mesh)]);
  if (isDeepStrictEqual(before.labels, after.labels)) return slots;
  return [...new Set([...slots, ...log.exported()])];
}

/** Computes the change in steps. The change has not been made: the logs are as they are before it. */
export function* membershipChange(
  changelog: Changelog,
  change: ZoneChange,
  { features, profileOf }: MembershipView,
): Steps<MembershipChange> {
  const { zone, before, after } = change;
  const viewerWith = (own: ZoneProfile): { zone: string; features: MembershipView['features']; profileOf: ProfileOf } => ({
    zone,
    features,
    profileOf: (name) => (name === zone ? own : profileOf(name)),
  });
  const [viewerBefore, viewerAfter] = [viewerWith(before), viewerWith(after)];
  const [loses, gets, othersLose, othersGet] = [new Counted(), new Counted(), new Counted(), new Counted()];
  let looked = 0;
  for (const log of changelog.logs()) {
    for (const slot of slotsToReview(log, change)) {
      if (++looked % STEP === 0) yield;
      const { entry } = slot;
      // No zone gets a withheld resource.
      if (entry === null || entry instanceof WithheldEntry) continue;
      const [had, has] = [isVisibleTo(entry.visibility, viewerBefore), isVisibleTo(entry.visibility, viewerAfter)];
      if (had !== has) (had ? loses : gets).add(changelog.rowOf(log, slot));
    }
  }
  for (const { mesh, slots } of changelog.slotsFrom(zone)) {
    const isSent = (profile: ZoneProfile): boolean => profile.isEnabled && (mesh === '' || isMember(profile, mesh));
    if (isSent(before) === isSent(after)) continue;
    for (const [slot, log] of slots) {
      if (++looked % STEP === 0) yield;
      if (!(slot.entry instanceof WithheldEntry)) (isSent(before) ? othersLose : othersGet).add(changelog.rowOf(log, slot));
    }
  }
  return {
    zone,
    ...{ loses: loses.groups(), gets: gets.groups() },
    ...{ othersLose: othersLose.groups(), othersGet: othersGet.groups() },
  };
}

/** Counts rows by type and mesh. */
class Counted {
  #total = 0;
  readonly #groups = new Map<string, { type: string; mesh: string; total: number; names: string[] }>();

  add(row: ResourceKey | undefined): void {
    if (row === undefined) return;
    this.#total += 1;
    const id = JSON.stringify([row.type, row.mesh]);
    const group = this.#groups.get(id) ?? { type: row.type, mesh: row.mesh, total: 0, names: [] };
    this.#groups.set(id, group);
    group.total += 1;
    if (group.names.length < MAX_ROW_NAMES) group.names.push(row.name);
  }

  groups(): RowGroups {
    const sorted = [...this.#groups.values()].sort(
      (a, b) => b.total - a.total || compareText(a.type, b.type) || compareText(a.mesh, b.mesh),
    );
    return { total: this.#total, groups: sorted.slice(0, MAX_ROW_GROUPS) };
  }
}
