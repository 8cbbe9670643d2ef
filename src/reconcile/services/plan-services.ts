// Compares the wanted services of a zone with the stored ones, and returns the writes (policies 9.2 to 9.5). Pure, except that it
// clears the marks of the view. Invariant: without marks or differences there are no writes.
import { kriOf } from '../../resource/kri.ts';
import { keyText, type Resource } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';
import { newRow, sameContent } from '../computed-row.ts';
import { generateService, LEAVE } from './generate-service.ts';
import { isLocal } from '../../resource/ownership.ts';
import { earliest, type MeshView, type ServiceEntry } from './mesh-view.ts';
import { multiZoneStatus, countProxies, externalServiceRow, meshServiceRow, multiZoneServiceRow } from './service-row.ts';
import type { Moment, PlannedWrite } from '../reconcile.ts';
import { serviceTagsOf } from './service-groups.ts';
import type { ServicesView } from './services-view.ts';
import { publishedAddress, wantedAddresses } from './zone-proxies.ts';

export type Conflict = { readonly mesh: string; readonly service: string; readonly dataplanes: readonly string[] };

type Plan = {
  readonly writes: readonly PlannedWrite[];
  /** Milliseconds until the next plan without a change; null if there is none. */
  readonly waitMs: number | null;
  /** Planned generated services whose Dataplanes disagree on the ports (policies 9.4). */
  readonly conflicts: readonly Conflict[];
  /** The number of checked services without a free virtual address. */
  readonly withoutVip: number;
};

type PlanOptions = Moment & {
  /** The time for which a generated service without proxies stays, in milliseconds; null disables the generator (policies 9.4). */
  readonly graceMs: number | null;
};

export function planServices(view: ServicesView, { now, elapsed, graceMs }: PlanOptions): Plan {
  const writes: PlannedWrite[] = [];
  const conflicts: Conflict[] = [];
  const meshes = [...view.meshes.values()].filter(({ isThere }) => isThere);
  view.refreshClaims();
  const settles = meshes.map((mesh) => mesh.settle(elapsed));
  for (const mesh of meshes) generate(view, mesh, { now, graceMs }, { writes, conflicts });
  const withoutVip = view.allocateVips();
  for (const mesh of meshes) {
    for (const id of mesh.dirty) {
      const entry = mesh.services.get(id);
      if (entry === undefined) continue;
      const row = wantedRow(view, mesh, entry);
      if (entry.stored === undefined || !sameContent(entry.stored, row)) writes.push({ op: 'put', row, before: entry.stored });
    }
    mesh.dirty.clear();
    publish(view, mesh, now, writes);
  }
  const graces = meshes.map(({ wakes }) => earliest(wakes.values()));
  const waits = [untilNext(settles, elapsed), untilNext(graces, now.getTime())];
  return { writes, waitMs: earliest(waits), conflicts, withoutVip };
}

/** The time from `now` to the first of the times. */
function untilNext(times: readonly (number | null)[], now: number): number | null {
  const first = earliest(times);
  return first === null ? null : first - now;
}

/** Runs the generator for every marked or due group. Its services are completed with the others. */
function generate(
  view: ServicesView,
  mesh: MeshView,
  { now, graceMs }: Pick<PlanOptions, 'now' | 'graceMs'>,
  { writes, conflicts }: { writes: PlannedWrite[]; conflicts: Conflict[] },
): void {
  for (const [service, at] of mesh.wakes) if (at <= now.getTime()) mesh.dirtyGroups.add(service);
  for (const service of mesh.dirtyGroups) {
    const entry = mesh.serviceNamed(service);
    const stored = entry?.stored;
    const members = mesh.groups.membersOf(service);
    const input = { mesh: mesh.mesh, zone: view.zone, service, members, stored, now };
    const { want, wakeAt, conflicting } = graceMs === null ? LEAVE : generateService({ ...input, graceMs });
    if (wakeAt === null) mesh.wakes.delete(service);
    else mesh.wakes.set(service, wakeAt);
    if (conflicting.length > 0) conflicts.push({ mesh: mesh.mesh, service, dataplanes: conflicting });
    if (want === 'gone') {
      if (stored !== undefined) writes.push({ op: 'delete', before: stored });
      if (entry !== undefined) mesh.dirty.delete(entry.id);
      continue;
    }
    const key = { type: 'MeshService', mesh: mesh.mesh, name: service };
    if (want !== null) rebase(mesh, entry, { ...(stored ?? newRow(key, now)), ...want });
    else if (stored !== undefined) rebase(mesh, entry, stored);
    else if (entry !== undefined) view.remove(key);
  }
  mesh.dirtyGroups.clear();
}

function rebase(mesh: MeshView, entry: ServiceEntry | undefined, base: Resource): void {
  if (entry !== undefined && sameContent(entry.base, base)) mesh.dirty.add(entry.id);
  else mesh.putService({ id: keyText(base), stored: entry?.stored, base });
}

function wantedRow(view: ServicesView, mesh: MeshView, entry: ServiceEntry): Resource {
  const { id, base } = entry;
  const common = { vip: view.vipOf(entry), hostnames: mesh.claimsOf(base.type).statusOf(id) };
  if (base.type === 'MeshExternalService')
    return externalServiceRow(base, common, { egress: mesh.settled.egress.value, hasHashedSni: mesh.snis.hasHashed(base) });
  if (base.type === 'MeshMultiZoneService')
    return multiZoneServiceRow(base, common, multiZoneStatus(mesh.matchedBy(entry), view.zone));
  if (!isLocal(base, 'zone')) return meshServiceRow(base, common, null);
  const selected = mesh.selectedBy(entry);
  const kri = kriOf(base) ?? '';
  return meshServiceRow(base, common, {
    proxies: countProxies(base.spec, selected, (dataplane) => mesh.isOnline(dataplane)),
    serviceTags: selected.flatMap(serviceTagsOf),
    spiffeIds: selected.flatMap((facts) => mesh.identities.idsOf(facts)),
    ingress: mesh.settled.ingress.value,
    hasHashedSni: mesh.snis.hasHashed(base),
    acceptTls: acceptTls(mesh, selected),
    isCalledInPlaintext: mesh.isCalledInPlaintext(kri),
    withdrawal: mesh.identities.withdrawalOf(kri),
  });
}

/** A proxy without a ready inbound is no endpoint. One that has lost its identity may not have said so yet. */
function acceptTls(mesh: MeshView, selected: readonly DataplaneFacts[]): boolean {
  const endpoints = selected.filter(({ inbounds }) => inbounds.some(({ state }) => state === 'Ready'));
  return (
    endpoints.length > 0 && endpoints.every((facts) => mesh.acceptsTls(facts.name) && mesh.identities.idsOf(facts).length > 0)
  );
}

function publish(view: ServicesView, mesh: MeshView, now: Date, writes: PlannedWrite[]): void {
  const wanted = wantedAddresses(mesh.settled.ingresses.value, mesh.zoneAddresses);
  for (const name of new Set([...mesh.zoneAddresses.keys(), ...wanted.keys()])) {
    const before = mesh.zoneAddresses.get(name);
    const want = publishedAddress(before, wanted.get(name) ?? null, { mesh: mesh.mesh, zone: view.zone, name });
    if (want === null) continue;
    if (want === 'gone') {
      if (before !== undefined) writes.push({ op: 'delete', before });
      continue;
    }
    const key = { type: 'MeshZoneAddress', mesh: mesh.mesh, name };
    const row = { ...(before ?? newRow(key, now)), ...want };
    if (before === undefined || !sameContent(before, row)) writes.push({ op: 'put', row, before });
  }
}
