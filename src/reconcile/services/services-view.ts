// The rows of a zone that its services depend on, all meshes together; fed with rows, read by the planner. Pure.
// Invariant: after any puts and removes it equals a new view of the same rows.
import { keyText, type Resource, type ResourceKey } from '../../resource/types.ts';
import { byAge, sameContent } from '../computed-row.ts';
import { isLeaving, listensIn } from './absences.ts';
import { tlsFactsOf } from './accepted-tls.ts';
import { HostnameGenerators } from './hostnames.ts';
import { MeshView, waitsForCallers, type ServiceEntry } from './mesh-view.ts';
import type { ReconciledView } from '../reconcile.ts';
import { virtualAddress } from '../../resource/virtual-address.ts';
import { defaultVipNetworks, VipPool, type VipNetworks } from './vip-pool.ts';
import { isPublishedName } from './zone-proxies.ts';
import { identityNameOf, inForceKey } from '../../resource/identity-in-force.ts';

/** The types of the view's rows, in the order with the cheapest first read. */
export const viewedTypes = [
  'Mesh',
  'HostnameGenerator',
  'Dataplane',
  'DataplaneInsight',
  'MeshZoneAddress',
  'MeshIdentity',
  'Secret',
  'MeshService',
  'MeshExternalService',
  'MeshMultiZoneService',
] as const;

/** The default of `xdsServer.dataplaneDeregistrationDelay`, in milliseconds. */
const RECONNECT_MS = 10_000;

type ServiceType = keyof VipNetworks;

export class ServicesView implements ReconciledView {
  readonly zone: string;
  readonly meshes = new Map<string, MeshView>();
  readonly #reconnectMs: number;
  readonly #vips: Readonly<Record<ServiceType, VipPool>>;
  readonly #generators = new HostnameGenerators();
  readonly #generatorRows = new Map<string, Resource>();
  #generatorsChanged = false;

  /** @param reconnectMs the time in which a proxy may open its stream again, in milliseconds */
  constructor(zone: string, networks: VipNetworks = defaultVipNetworks, reconnectMs = RECONNECT_MS) {
    this.zone = zone;
    this.#reconnectMs = reconnectMs;
    this.#vips = {
      MeshService: new VipPool(networks.MeshService),
      MeshExternalService: new VipPool(networks.MeshExternalService),
      MeshMultiZoneService: new VipPool(networks.MeshMultiZoneService),
    };
  }

  put(row: Resource): void {
    if (row.type === 'Mesh') this.#mesh(row.name).setThere(true);
    else if (row.type === 'HostnameGenerator') this.#putGenerator(row);
    else if (row.type === 'Dataplane') this.#mesh(row.mesh).putDataplane(row);
    else if (row.type === 'MeshIdentity') this.#mesh(row.mesh).putIdentity(row);
    else if (row.type === 'Secret') this.#putSecret(row);
    else if (row.type === 'DataplaneInsight') this.#putInsight(row);
    else if (isServiceType(row.type)) this.#putService(row);
    else if (isOwnAddress(row)) this.#mesh(row.mesh).zoneAddresses.set(row.name, row);
  }

  remove(key: ResourceKey): void {
    const mesh = this.#mesh(key.type === 'Mesh' ? key.name : key.mesh);
    if (key.type === 'Mesh') mesh.setThere(false);
    else if (key.type === 'HostnameGenerator') this.#removeGenerator(key.name);
    else if (key.type === 'Dataplane') mesh.removeDataplane(key.name);
    else if (key.type === 'MeshIdentity') mesh.removeIdentity(key.name);
    else if (key.type === 'Secret') mesh.removeInForce(key);
    else if (key.type === 'DataplaneInsight') {
      mesh.setTls(key.name, null);
      mesh.setInsight(key.name, null);
      mesh.setLeaving(key.name, false);
      mesh.setListens(key.name, null);
    } else if (isServiceType(key.type)) this.#removeService(key.type, mesh, key);
    else if (isOwnAddress(key)) mesh.zoneAddresses.delete(key.name);
  }

  accept(row: Resource): void {
    const mesh = this.#mesh(row.mesh);
    if (isOwnAddress(row)) mesh.zoneAddresses.set(row.name, row);
    if (!isServiceType(row.type)) return;
    const entry = { id: keyText(row), stored: row, base: row };
    const before = mesh.services.get(entry.id);
    mesh.services.set(entry.id, entry);
    // The demand of a service is decided after its clients know that it accepts TLS.
    if (waitsForCallers(row)) mesh.dirty.add(entry.id);
    // The stored age may differ from the planned one, and hostnames depend on age.
    if (before !== undefined && !sameAge(before.base, row)) mesh.claimHostnames(entry);
    mesh.shareSnis(before?.base, row);
  }

  touch(key: ResourceKey): void {
    const mesh = this.#mesh(key.mesh);
    const id = keyText(key);
    if (mesh.services.has(id)) mesh.dirty.add(id);
    if (key.type === 'MeshService') mesh.dirtyGroups.add(key.name);
  }

  touchAll(): void {
    for (const mesh of this.meshes.values()) mesh.touchAll();
  }

  /** Updates the hostname claims of all services after a change of generators. */
  refreshClaims(): void {
    if (!this.#generatorsChanged) return;
    this.#generatorsChanged = false;
    for (const mesh of this.meshes.values()) {
      for (const entry of mesh.services.values()) {
        mesh.claimHostnames(entry);
        mesh.dirty.add(entry.id);
      }
    }
  }

  /** Gives an address to every marked service without one, the oldest first. @returns the number of services without a free address */
  allocateVips(): number {
    const without = [...this.meshes.values()]
      .filter(({ isThere }) => isThere)
      .flatMap(({ dirty, services }) => [...dirty].map((id) => services.get(id)))
      .filter((entry) => entry !== undefined)
      .filter(({ id, base }) => isServiceType(base.type) && this.#vips[base.type].addressOf(id) === undefined);
    return without.sort(byRowAge).filter(({ id, base }) => isServiceType(base.type) && this.#vips[base.type].take(id) === null)
      .length;
  }

  vipOf({ id, base }: ServiceEntry): string {
    return (isServiceType(base.type) ? this.#vips[base.type].addressOf(id) : undefined) ?? '';
  }

  #mesh(name: string): MeshView {
    let mesh = this.meshes.get(name);
    if (mesh === undefined) this.meshes.set(name, (mesh = new MeshView(name, this.zone, this.#generators, this.#reconnectMs)));
    return mesh;
  }

  /** Few Secrets matter to services. */
  #putSecret(row: Resource): void {
    if (identityNameOf(row) !== null) this.#mesh(row.mesh).putInForce(row);
  }

  #putInsight({ mesh: name, name: dataplane, spec, status }: Resource): void {
    const mesh = this.#mesh(name);
    mesh.setTls(dataplane, tlsFactsOf(status));
    mesh.setInsight(dataplane, { spec, status });
    mesh.setLeaving(dataplane, isLeaving(status));
    mesh.setListens(dataplane, listensIn(status));
  }

  #putGenerator(row: Resource): void {
    const before = this.#generatorRows.get(row.name);
    this.#generatorRows.set(row.name, row);
    if (before !== undefined && sameContent(before, row) && sameAge(before, row)) return;
    this.#generators.put(row);
    this.#generatorsChanged = true;
  }

  #removeGenerator(name: string): void {
    if (!this.#generatorRows.delete(name)) return;
    this.#generators.remove(name);
    this.#generatorsChanged = true;
  }

  #putService(row: Resource): void {
    const mesh = this.#mesh(row.mesh);
    const id = keyText(row);
    const before = mesh.services.get(id);
    const { stored } = before ?? {};
    if (before !== undefined && stored !== undefined && sameContent(stored, row) && sameAge(stored, row)) {
      // Only the version or wire version changed: keep it for the next write.
      const { version, syncVersion } = row;
      mesh.services.set(id, { id, stored: row, base: { ...before.base, version, syncVersion } });
      return;
    }
    mesh.putService({ id, stored: row, base: row });
    if (row.type === 'MeshService') mesh.dirtyGroups.add(row.name);
    this.#holdVip(mesh, id, row);
  }

  #removeService(type: ServiceType, mesh: MeshView, key: ResourceKey): void {
    const id = keyText(key);
    mesh.removeService(id);
    this.#vips[type].release(id);
    if (type === 'MeshService') mesh.dirtyGroups.add(key.name);
  }

  /** If two rows have one address, the older keeps it, and the other gets a new one. */
  #holdVip(mesh: MeshView, id: string, row: Resource): void {
    const address = virtualAddress(row);
    if (!isServiceType(row.type) || address === '') return;
    const pool = this.#vips[row.type];
    const holder = this.#findEntry(pool.holderOf(address));
    if (holder !== undefined && holder.entry.id !== id) {
      if (byRowAge(holder.entry, { id, base: row }) < 0) return;
      holder.mesh.dirty.add(holder.entry.id);
    }
    pool.hold(id, address);
  }

  #findEntry(id: string | undefined): { mesh: MeshView; entry: ServiceEntry } | undefined {
    if (id === undefined) return undefined;
    for (const mesh of this.meshes.values()) {
      const entry = mesh.services.get(id);
      if (entry !== undefined) return { mesh, entry };
    }
    return undefined;
  }

  *keysOf(type: string): Generator<ResourceKey> {
    if (type === 'HostnameGenerator') for (const row of this.#generatorRows.values()) yield row;
    for (const [name, mesh] of this.meshes) {
      if (type === 'Mesh') yield { type, mesh: '', name };
      if (type === 'MeshZoneAddress') yield* mesh.zoneAddresses.values();
      if (type === 'MeshIdentity')
        for (const identity of [...mesh.identities.names()]) yield { type, mesh: name, name: identity };
      if (type === 'Secret') for (const identity of [...mesh.identities.namesInForce()]) yield inForceKey(name, identity);
      if (type === 'Dataplane' || type === 'DataplaneInsight')
        for (const dataplane of mesh.dataplaneNames()) yield { type, mesh: name, name: dataplane };
      for (const { stored, base } of mesh.services.values()) if (base.type === type) yield stored ?? base;
    }
  }
}

export function isServiceType(type: string): type is ServiceType {
  return Object.hasOwn(defaultVipNetworks, type);
}

/** A copy of another zone's address has a hashed name. */
function isOwnAddress({ type, name }: ResourceKey): boolean {
  return type === 'MeshZoneAddress' && isPublishedName(name);
}

function sameAge(a: Resource, b: Resource): boolean {
  return a.creationTime.getTime() === b.creationTime.getTime();
}

function byRowAge(a: Pick<ServiceEntry, 'id' | 'base'>, b: Pick<ServiceEntry, 'id' | 'base'>): number {
  const aged = ({ id, base }: Pick<ServiceEntry, 'id' | 'base'>): { created: number; name: string } => ({
    created: base.creationTime.getTime(),
    name: id,
  });
  return byAge(aged(a), aged(b));
}
