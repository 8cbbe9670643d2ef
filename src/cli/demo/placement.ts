// The control planes, name and labels that a resource must have when everything is in step. Computed only from the applied resource,
// without the engine, because the demo verifies the engine with it (kds-wire 5.2 to 5.4).
import { hashName } from '../../resource/hash-name.ts';
import { label } from '../../resource/labels.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Labels } from '../../resource/types.ts';

/** `global`, or the name of a zone. */
export type Place = string;

export type AppliedResource = {
  readonly at: Place;
  readonly info: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
};

export type Holding = { readonly place: Place; readonly storedName: string; readonly labels: Labels };

/** All control planes that must have the resource. The first is the one it was applied on. */
export function placements({ at, info, mesh, name, labels }: AppliedResource, zones: readonly string[]): Holding[] {
  const own: Holding = {
    place: at,
    storedName: name,
    labels: { [label.displayName]: name, [label.origin]: at === 'global' ? 'global' : 'zone' },
  };
  if (labels[label.kdsSync] === 'disabled') return [own];
  if (at === 'global') {
    if (!info.kds.globalToZone) return [own];
    const storedName = info.kds.skipHash ? name : hashName({ mesh, name });
    return [
      own,
      ...zones.map((place) => ({ place, storedName, labels: { [label.displayName]: name, [label.origin]: 'global' } })),
    ];
  }
  if (!info.kds.zoneToGlobal) return [own];
  const storedName = hashName({ mesh, name, zone: at });
  const copy = { [label.displayName]: name, [label.zone]: at };
  const others = info.kds.acrossZones && info.policy === null ? zones.filter((zone) => zone !== at) : [];
  return [
    own,
    { place: 'global', storedName, labels: { ...copy, [label.origin]: 'zone' } },
    ...others.map((place) => ({ place, storedName, labels: { ...copy, [label.origin]: 'global' } })),
  ];
}
