// The Workloads of a zone and the Dataplanes behind them, all meshes together; fed with rows, read by the planner. Pure.
// Invariant: a change marks exactly the Workloads that it can affect.
import { label } from '../../resource/labels.ts';
import { keyText, type Resource, type ResourceKey } from '../../resource/types.ts';
import { isLocal } from '../../resource/ownership.ts';
import { RFC_1035_LABEL } from '../../resource/stored-name.ts';
import type { ReconciledView } from '../reconcile.ts';
import { dataplaneFacts } from '../services/dataplane-facts.ts';
import { sameContent } from '../computed-row.ts';
import { isOnline } from '../../resource/online-status.ts';

/** The types of the view's rows. */
export const viewedTypes = ['Mesh', 'Dataplane', 'DataplaneInsight', 'Workload'] as const;

/** The proxies of a Workload, by state. */
export type ProxyCounts = {
  readonly total: number;
  /** The number of proxies with an online insight. */
  readonly connected: number;
  /** The number of proxies with at least one Ready inbound. */
  readonly healthy: number;
};

/** A Dataplane that names its Workload. */
type Proxy = { readonly key: ResourceKey; readonly workload: string; readonly isHealthy: boolean };

/** A Workload that is stored or has proxies. */
type Entry = { readonly key: ResourceKey; stored: Resource | undefined; readonly proxies: Set<string> };

export class WorkloadsView implements ReconciledView {
  readonly #meshes = new Set<string>();
  readonly #entries = new Map<string, Entry>();
  /** The proxies by id of the Dataplane. */
  readonly #proxies = new Map<string, Proxy>();
  /** Ids of the Dataplanes with an online insight. */
  readonly #online = new Map<string, ResourceKey>();
  readonly #marked = new Set<string>();

  put(row: Resource): void {
    if (row.type === 'Mesh') this.#putMesh(row.name);
    else if (row.type === 'Dataplane') this.#setProxy(row, proxyOf(row));
    else if (row.type === 'DataplaneInsight') this.#setOnline(row, isOnline(row.spec));
    else if (row.type === 'Workload' && isLocal(row, 'zone')) this.#putWorkload(row);
  }

  remove(key: ResourceKey): void {
    if (key.type === 'Mesh') this.#meshes.delete(key.name);
    else if (key.type === 'Dataplane') this.#setProxy(key, undefined);
    else if (key.type === 'DataplaneInsight') this.#setOnline(key, false);
    else if (key.type === 'Workload') this.#removeWorkload(key);
  }

  accept(row: Resource): void {
    this.#entryOf(row).stored = row;
  }

  touch(key: ResourceKey): void {
    this.#marked.add(keyText(key));
  }

  touchAll(): void {
    for (const id of this.#entries.keys()) this.#marked.add(id);
  }

  /** Returns the marked Workloads of existing meshes, and clears the marks. */
  takeMarked(): { readonly key: ResourceKey; readonly stored: Resource | undefined; readonly counts: ProxyCounts }[] {
    const entries = [...this.#marked].map((id) => this.#entries.get(id)).filter((entry) => entry !== undefined);
    this.#marked.clear();
    return entries
      .filter(({ key }) => this.#meshes.has(key.mesh))
      .map(({ key, stored, proxies }) => ({ key, stored, counts: this.#count(proxies) }));
  }

  #count(proxies: ReadonlySet<string>): ProxyCounts {
    const counts = { total: proxies.size, connected: 0, healthy: 0 };
    for (const id of proxies) {
      if (this.#online.has(id)) counts.connected += 1;
      if (this.#proxies.get(id)?.isHealthy === true) counts.healthy += 1;
    }
    return counts;
  }

  #putMesh(name: string): void {
    if (this.#meshes.has(name)) return;
    this.#meshes.add(name);
    for (const [id, { key }] of this.#entries) if (key.mesh === name) this.#marked.add(id);
  }

  #putWorkload(row: Resource): void {
    const entry = this.#entryOf(row);
    if (entry.stored === undefined || !sameContent(entry.stored, row)) this.#marked.add(keyText(entry.key));
    entry.stored = row;
  }

  #removeWorkload(key: ResourceKey): void {
    const entry = this.#entryOf(key);
    entry.stored = undefined;
    this.#marked.add(keyText(entry.key));
    this.#dropIfEmpty(entry);
  }

  #setProxy(key: ResourceKey, proxy: Proxy | undefined): void {
    const id = dataplaneId(key);
    const before = this.#proxies.get(id);
    if (before?.workload === proxy?.workload && before?.isHealthy === proxy?.isHealthy) return;
    if (proxy === undefined) this.#proxies.delete(id);
    else this.#proxies.set(id, proxy);
    if (before !== undefined) {
      const entry = this.#entryOf(workloadKey(before));
      entry.proxies.delete(id);
      this.#marked.add(keyText(entry.key));
      this.#dropIfEmpty(entry);
    }
    if (proxy === undefined) return;
    const entry = this.#entryOf(workloadKey(proxy));
    entry.proxies.add(id);
    this.#marked.add(keyText(entry.key));
  }

  #setOnline(key: ResourceKey, online: boolean): void {
    const id = dataplaneId(key);
    if (this.#online.has(id) === online) return;
    if (online) this.#online.set(id, key);
    else this.#online.delete(id);
    const proxy = this.#proxies.get(id);
    if (proxy !== undefined) this.#marked.add(keyText(workloadKey(proxy)));
  }

  #entryOf({ mesh, name }: ResourceKey): Entry {
    const key = { type: 'Workload', mesh, name };
    const id = keyText(key);
    let entry = this.#entries.get(id);
    if (entry === undefined) this.#entries.set(id, (entry = { key, stored: undefined, proxies: new Set() }));
    return entry;
  }

  #dropIfEmpty(entry: Entry): void {
    if (entry.stored === undefined && entry.proxies.size === 0) this.#entries.delete(keyText(entry.key));
  }

  keysOf(type: string): ResourceKey[] {
    if (type === 'Mesh') return [...this.#meshes].map((name) => ({ type, mesh: '', name }));
    if (type === 'Dataplane') return [...this.#proxies.values()].map(({ key }) => key);
    if (type === 'DataplaneInsight') return [...this.#online.values()].map(({ mesh, name }) => ({ type, mesh, name }));
    return [...this.#entries.values()].filter(({ stored }) => stored !== undefined).map(({ key }) => key);
  }
}

/** Returns undefined for a Dataplane that names no Workload, or one whose name is no RFC 1035 label. */
function proxyOf(row: Resource): Proxy | undefined {
  const workload = row.labels[label.workload] ?? '';
  if (!RFC_1035_LABEL.test(workload)) return undefined;
  const { type, mesh, name } = row;
  const isHealthy = dataplaneFacts(row).inbounds.some(({ state }) => state === 'Ready');
  return { key: { type, mesh, name }, workload, isHealthy };
}

function workloadKey({ key, workload }: Proxy): ResourceKey {
  return { type: 'Workload', mesh: key.mesh, name: workload };
}

function dataplaneId({ mesh, name }: ResourceKey): string {
  return keyText({ type: 'Dataplane', mesh, name });
}
