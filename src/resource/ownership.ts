// The ownership of rows: the control plane that wrote a row, its origin zone, and who may change it. Pure. Invariant: nothing else
// decides this. `mayReplace` is repeated in SQL (`mayReplaceRow` in store/single-write.ts), and a test holds the two together.
import type { ControlPlaneIdentity } from './compute-labels.ts';
import { hashNameOf } from './hash-name.ts';
import { displayNameOf, label } from './labels.ts';
import { storedNameOf } from './stored-name.ts';
import type { TypeInfo } from './type-registry.ts';
import type { Labels, Mode, Resource } from './types.ts';

/** A stored row, or a resource from a peer that may become one. */
export type OwnedRow = Pick<Resource, 'name' | 'labels'> & Partial<Pick<Resource, 'syncVersion' | 'owner'>>;

/**
 * Whether a control plane of this mode wrote the row itself: no other origin, not stored by KDS, no Zone as its owner. A row without
 * labels is local: control planes make some for themselves (engine 13, policies 9.3).
 */
export function isLocal({ labels, syncVersion, owner }: Omit<OwnedRow, 'name'>, mode: Mode): boolean {
  const origin = labels[label.origin];
  return (origin === undefined || origin === mode) && (syncVersion ?? null) === null && owner?.type !== 'Zone';
}

/** Whether a row on global comes from a zone. */
export function isOfZone({ labels, owner }: Pick<OwnedRow, 'labels' | 'owner'>): boolean {
  return owner?.type === 'Zone' || labels[label.origin] === 'zone';
}

/** The zone of a row on global: the Zone that owns it, else its label, else the prefix of a legacy name (kds-wire 5.2.5b). */
export function zoneOf({ name, labels, owner }: OwnedRow): string {
  return owner?.type === 'Zone' ? owner.name : (labels[label.zone] ?? name.split('.', 1)[0] ?? '');
}

/**
 * Whether a row on global is this zone's to change (kds-wire 6.1). The owner decides: a row keeps it when an edit loses the labels,
 * and can be healed (engine 12).
 */
export function belongsToZone({ name, labels, owner }: OwnedRow, zone: string): boolean {
  if (owner?.type === 'Zone') return owner.name === zone;
  if (labels[label.origin] === 'global') return false;
  return labels[label.zone] === zone || (labels[label.zone] === undefined && name.startsWith(`${zone}.`));
}

/** The zone whose control plane wrote a row, as a control plane of this mode sees it; undefined for global. */
export function sourceZoneOf(row: OwnedRow, mode: Mode): string | undefined {
  return mode === 'global' ? zoneOf(row) : row.labels[label.zone];
}

/**
 * The zone label that an update must keep. It is undefined if the label may change, as global's own resources belong to no zone.
 */
export function fixedZoneOf({ labels }: Pick<OwnedRow, 'labels'>, mode: Mode): string | undefined {
  return mode === 'global' && labels[label.origin] === 'global' ? undefined : labels[label.zone];
}

/** Whether a row in a zone came from global (kds-wire 6.1). A row that a Kuma zone stored has no version of the wire. */
export function isFromGlobal({ labels, syncVersion }: Pick<OwnedRow, 'labels' | 'syncVersion'>): boolean {
  const origin = labels[label.origin];
  return (origin !== undefined && origin !== 'zone') || (syncVersion ?? null) !== null;
}

/**
 * Whether a write with these labels may replace the stored row unread: the row is as local as the write, of the same zone, and of the
 * same namespace, as two resources of different namespaces can have one stored name.
 */
export function mayReplace(stored: Omit<OwnedRow, 'name'>, { labels: written }: Pick<OwnedRow, 'labels'>): boolean {
  const isAs = (key: string): boolean => stored.labels[key] === undefined || stored.labels[key] === written[key];
  return (
    (stored.syncVersion ?? null) === null &&
    stored.owner?.type !== 'Zone' &&
    isAs(label.origin) &&
    isAs(label.zone) &&
    (stored.labels[label.namespace] ?? '') === (written[label.namespace] ?? '')
  );
}

/**
 * Whether a row of a zone on global has a name that the zone can have there: the hash of its labels, or `<zone>.<name>` of a peer
 * without hashes. Another name would occupy one of global or of another zone.
 */
export function isNameOfZone(row: Pick<Resource, 'mesh' | 'name' | 'labels'>): boolean {
  return row.name === hashNameOf(row) || row.name.startsWith(`${row.labels[label.zone] ?? ''}.`);
}

/** The origin that the labels name: `global`, `zone`, or undefined where they name none. */
export function originOf(labels: Labels): string | undefined {
  return labels[label.origin];
}

/** The zone that the labels name. On global a row may be of a zone without it (`zoneOf`). */
export function zoneNamed(labels: Labels): string | undefined {
  return labels[label.zone];
}

/** The zone whose rows are as local as a row: its zone label, or `here` for a row of this zone that has none. */
export function homeZoneOf<Here>({ labels }: Pick<OwnedRow, 'labels'>, here: Here): string | Here {
  return labels[label.zone] ?? here;
}

/** Whether all zones have a row: rows of global, and those of a zone that other zones receive: services and producer policies. */
export function isInAllZones({ labels }: Pick<OwnedRow, 'labels'>, info: Pick<TypeInfo, 'kds' | 'policy'> | undefined): boolean {
  if (labels[label.kdsSync] === 'disabled') return false;
  if (labels[label.origin] !== 'zone' || (labels[label.zone] ?? '') === '') return true;
  return info?.kds.acrossZones === true && (info.policy === null || labels[label.policyRole] === 'producer');
}

/** A service as a zone stores it: its own under origin `zone`, one that came by KDS under origin `global` and a hashed name. */
export function asStoredIn(service: Pick<Resource, 'type' | 'mesh' | 'name' | 'labels'>, zone: string): typeof service {
  const { type, mesh } = service;
  const home = service.labels[label.zone];
  const isOwn = home === zone || (home === undefined && service.labels[label.origin] === 'zone');
  const displayName = displayNameOf(service);
  const namespace = service.labels[label.namespace];
  const name = isOwn ? storedNameOf({ displayName, namespace: namespace ?? '' }) : hashNameOf(service);
  return { type, mesh, name, labels: { ...service.labels, [label.origin]: isOwn ? 'zone' : 'global' } };
}

/**
 * The reasons why the origin and zone that a caller gives do not allow this control plane to write (rest-api 2.5, D6).
 * @param rules without `checksOrigin` every known origin may be given
 * @returns the label and the allowed value, for each of the two that is at fault
 */
export function ownerLabelFaults(
  info: Pick<TypeInfo, 'codec'>,
  labels: Labels,
  { writer, checksOrigin }: { readonly writer: ControlPlaneIdentity; readonly checksOrigin: boolean },
): (readonly [key: string, reason: string])[] {
  const { mode, zone } = writer;
  const [origin, given] = [labels[label.origin], labels[label.zone]];
  const originReason = originFault(info, origin, writer, checksOrigin);
  // Whatever origin is given, the row gets that of this control plane: with the label of another zone it would count as that zone's.
  const isOtherZone = mode === 'zone' && given !== undefined && given !== zone;
  return [
    ...(originReason === null ? [] : [[label.origin, originReason] as const]),
    ...(isOtherZone ? [[label.zone, `must be ${zone ?? ''}, the name of this zone`] as const] : []),
  ];
}

function originFault(
  info: Pick<TypeInfo, 'codec'>,
  origin: string | undefined,
  { mode, federated }: ControlPlaneIdentity,
  checksOrigin: boolean,
): string | null {
  if (origin !== undefined && origin !== 'global' && origin !== 'zone') return `must be ${mode} here`;
  if (!checksOrigin) return null;
  if (mode === 'global') return origin === undefined || origin === 'global' ? null : 'must be global here';
  if (!federated || info.codec.kind !== 'json' || origin === 'zone') return null;
  return origin === undefined
    ? 'must be zone: a zone that has a global says so with every resource it writes'
    : 'must be zone here';
}
