// The state of proxies as this control plane knows it: the only reader of DataplaneInsights for people. There are three answers: the row,
// no row because the proxy has never connected, and no row because global keeps only counts of the zone (decision 84).
// Invariant: a proxy without a kept state is never shown as offline.
import { insightKeysOf, joinInsights } from '../resource/insight-owner.ts';
import { isOfZone, zoneOf } from '../resource/ownership.ts';
import { dataplaneFacts, insightFacts, NEVER_CONNECTED, proxyFacts, type ProxyGroup } from '../resource/proxy-facts.ts';
import { nameText, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { countedProxies } from './zone-proxies.ts';

/** With `counts`, this global stores no insights of the proxies of zones. */
export type InsightsKept = 'all' | 'counts';

type KeptInsights = {
  /** The DataplaneInsight of a Dataplane, if there is one. */
  readonly rowOf: (dataplane: Pick<ResourceKey, 'mesh' | 'name'>) => Resource | undefined;
  /** The reason why the state of a proxy without a row is not known here; `''` if the proxy has never connected. */
  readonly whyUnknown: (dataplane: Resource) => string;
};

type Options = { readonly store: Pick<ResourceStore, 'getMany' | 'list'>; readonly kept: InsightsKept };

export class ProxyInsights {
  readonly #store: Options['store'];
  readonly #kept: InsightsKept;

  constructor({ store, kept }: Options) {
    this.#store = store;
    this.#kept = kept;
  }

  /**
   * The insights of these Dataplanes. Rejects as the store does.
   * @param rows the DataplaneInsights, if they are read already
   */
  async of(dataplanes: readonly Resource[], rows: readonly Resource[] | null = null): Promise<KeptInsights> {
    const read = rows ?? (await this.#store.getMany(insightKeysOf(dataplanes)));
    const byType = Map.groupBy(read, ({ type }) => type);
    const found = joinInsights(dataplanes, byType.get('DataplaneInsight') ?? [], byType.get('Dataplane'));
    const without = dataplanes.filter((row) => !found.has(nameText(row)));
    const counted = await this.#countedZones(new Set(without.flatMap(zonesOf)));
    return {
      rowOf: (dataplane) => found.get(nameText(dataplane)),
      whyUnknown: (dataplane) => {
        const [zone] = found.has(nameText(dataplane)) ? [] : zonesOf(dataplane);
        return zone !== undefined && counted.has(zone) ? askZone(zone) : '';
      },
    };
  }

  /**
   * The insights of all Dataplanes of a mesh, as `of` gives them: it reads all rows of the mesh.
   * @returns also the insights, each under the name of its Dataplane
   */
  async ofMesh(mesh: string, dataplanes: readonly Resource[]): Promise<KeptInsights & { readonly rows: readonly Resource[] }> {
    const rows = await this.#store.list({ type: 'DataplaneInsight', mesh });
    const kept = await this.of(dataplanes, rows);
    const named = dataplanes.flatMap((dataplane) => {
      const row = kept.rowOf(dataplane);
      return row === undefined ? [] : [row.name === dataplane.name ? row : { ...row, name: dataplane.name }];
    });
    return { ...kept, rows: named };
  }

  /** The insights of proxies whose configuration has problems, which their zone alone knows. Rejects as the store does. */
  async withProblems(limit: number): Promise<readonly Resource[]> {
    return await this.#store.list({ type: 'DataplaneInsight', statusKey: 'proxyProblems', limit });
  }

  /** All proxies in groups of equal facts. @param zoneInsights all ZoneInsights */
  async groups(dataplanes: readonly Resource[], zoneInsights: readonly Resource[]): Promise<ProxyGroup[]> {
    const insights = joinInsights(dataplanes, await this.#store.list({ type: 'DataplaneInsight' }));
    const counted = new Map<string, readonly ProxyGroup[]>();
    for (const { name, status } of zoneInsights) {
      const groups = countedProxies(status);
      if (groups !== null) counted.set(name, groups);
    }
    const others = dataplanes.flatMap((row): ProxyGroup[] => {
      const [zone] = zonesOf(row);
      if (zone !== undefined && counted.has(zone)) return [];
      const insight = insights.get(nameText(row));
      const isUnknown = insight === undefined && zone !== undefined && this.#kept === 'counts';
      const said = insight === undefined ? NEVER_CONNECTED : insightFacts(insight.spec);
      return [{ ...proxyFacts(dataplaneFacts(row), isUnknown ? null : said), proxies: 1 }];
    });
    return [...[...counted.values()].flat(), ...others];
  }

  /**
   * Requires that the insights of proxies are all here.
   * @throws the error that `refuse` makes of the reason, if the insights of proxies are not all here
   */
  requireAll(refuse: (reason: string) => Error): void {
    if (this.#kept === 'counts') throw refuse(askZone(null));
  }

  /** The zones among these for which only counts are kept. */
  async #countedZones(zones: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    if (this.#kept === 'counts' || zones.size === 0) return zones;
    // Another replica may still keep counts, or have kept them a moment ago.
    const rows = await this.#store.getMany([...zones].map((name) => ({ type: 'ZoneInsight', mesh: '', name })));
    return new Set(rows.filter(({ status }) => countedProxies(status) !== null).map(({ name }) => name));
  }
}

function zonesOf(dataplane: Resource): string[] {
  return isOfZone(dataplane) ? [zoneOf(dataplane)] : [];
}

function askZone(zone: string | null): string {
  const whose = zone === null ? 'of zones' : `of zone ${zone}`;
  const where = zone === null ? 'their zone' : `zone ${zone}`;
  return `global keeps only counts of the proxies ${whose} (multizone.global.insights): ask a control plane of ${where}`;
}
