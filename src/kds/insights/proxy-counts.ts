// The memory of a global that keeps only counts of proxies, for one stream: the name of each proxy and its group. Proxies that summaries
// cannot tell apart share a group. Invariants: a change costs as much as the proxies that it names; an empty group takes no memory.
import { compareText } from '../../base/compare-text.ts';
import {
  dataplaneFacts,
  insightFacts,
  NEVER_CONNECTED,
  proxyFacts,
  type DataplaneFacts,
  type InsightFacts,
  type ProxyFacts,
  type ProxyGroup,
} from '../../resource/proxy-facts.ts';
import { insightNamesOf } from '../../resource/insight-owner.ts';
import { storablePart } from '../../resource/storable-text.ts';
import { nameText, type Resource } from '../../resource/types.ts';

/** The types that describe a proxy. */
export type CountedType = 'Dataplane' | 'DataplaneInsight';

/** The type of the state of a proxy. */
export const INSIGHT_TYPE = 'DataplaneInsight' satisfies CountedType;

export function isCountedType(name: string): name is CountedType {
  return name === 'Dataplane' || name === INSIGHT_TYPE;
}

/** The largest number of groups with versions and certificates. Further groups have only mesh and status. */
const MAX_GROUPS = 200;
/**
 * The limits of the characters of a version or of the name of a backend, which a proxy may choose, and of the number of backends.
 */
const MAX_TEXT = 100;
const MAX_BACKENDS = 10;

type Group = {
  readonly key: string;
  readonly dataplane: DataplaneFacts | null;
  readonly insight: InsightFacts | null;
  size: number;
};

export class ProxyCounts {
  /** The group of each proxy, by `nameText`. */
  readonly #groupOf = new Map<string, Group>();
  readonly #groups = new Map<string, Group>();
  /** The Dataplane of the other names of an insight of a Dataplane with a namespace, both as `nameText`. */
  readonly #owners = new Map<string, string>();
  /** The other names of each Dataplane, both as `nameText`. */
  readonly #otherNames = new Map<string, readonly string[]>();
  #isChanged = true;

  /** The number of names that are remembered. */
  get size(): number {
    return this.#groupOf.size;
  }

  has(text: string): boolean {
    return this.#groupOf.has(this.#ownerOf(text));
  }

  /** Counts a resource. @param row the resource in its stored form */
  put(type: CountedType, row: Pick<Resource, 'mesh' | 'name' | 'labels' | 'spec'>): void {
    const text = nameText(row);
    if (type === INSIGHT_TYPE) return this.#change(this.#ownerOf(text), { insight: bounded(insightFacts(row.spec)) });
    this.#disown(text);
    this.#change(text, { dataplane: dataplaneFacts(row) });
    this.#nameInsights(text, row);
  }

  /** Forgets a resource that is gone. @param text its `nameText` */
  remove(type: CountedType, text: string): void {
    if (type === INSIGHT_TYPE) return this.#change(this.#ownerOf(text), { insight: null });
    this.#change(text, { dataplane: null });
    for (const other of this.#otherNames.get(text) ?? []) if (this.#owners.get(other) === text) this.#owners.delete(other);
    this.#otherNames.delete(text);
  }

  /** Removes all resources of the type that are not named. */
  keepOnly(type: CountedType, named: ReadonlySet<string>): void {
    const kept = type === 'Dataplane' ? named : new Set([...named].map((text) => this.#ownerOf(text)));
    for (const text of [...this.#groupOf.keys()]) if (!kept.has(text)) this.remove(type, text);
  }

  /** The proxy of an insight: the Dataplane of this name, else one whose insight may have it. */
  #ownerOf(text: string): string {
    return this.#owners.get(text) ?? text;
  }

  /** An insight of this name is of this Dataplane alone, and perhaps was counted for another one. */
  #disown(text: string): void {
    const other = this.#owners.get(text);
    if (other === undefined) return;
    this.#owners.delete(text);
    this.#moveInsight(other, text);
  }

  #nameInsights(text: string, row: Pick<Resource, 'mesh' | 'name' | 'labels'>): void {
    const [, ...others] = insightNamesOf(row).map((name) => nameText({ mesh: row.mesh, name }));
    if (others.length === 0) return;
    this.#otherNames.set(text, others);
    for (const other of others) {
      if ((this.#groupOf.get(other)?.dataplane ?? null) !== null) continue;
      if (this.#groupOf.get(text)?.insight === null) this.#moveInsight(other, text);
      this.#owners.set(other, text);
    }
  }

  #moveInsight(from: string, to: string): void {
    const insight = this.#groupOf.get(from)?.insight ?? null;
    if (insight === null) return;
    this.#change(from, { insight: null });
    this.#change(to, { insight });
  }

  /** The groups of the proxies that have a Dataplane, if they have changed since the last call; else null. */
  takeChanged(): readonly ProxyGroup[] | null {
    if (!this.#isChanged) return null;
    this.#isChanged = false;
    const counted = new Map<string, { facts: ProxyFacts; proxies: number }>();
    const add = (facts: ProxyFacts, proxies: number): void => {
      const key = JSON.stringify(facts);
      const known = counted.get(key) ?? { facts, proxies: 0 };
      counted.set(key, { facts, proxies: known.proxies + proxies });
    };
    const groups = [...this.#groups.values()].toSorted((a, b) => b.size - a.size || compareText(a.key, b.key));
    let listed = 0;
    for (const { dataplane, insight, size } of groups) {
      if (dataplane === null) continue;
      listed += 1;
      const said = insight ?? NEVER_CONNECTED;
      add(proxyFacts(dataplane, listed > MAX_GROUPS ? { ...NEVER_CONNECTED, isConnected: said.isConnected } : said), size);
    }
    // The groups have one order, so that equal counts are equal rows.
    return [...counted].toSorted(([a], [b]) => compareText(a, b)).map(([, { facts, proxies }]) => ({ ...facts, proxies }));
  }

  #change(text: string, facts: Partial<Pick<Group, 'dataplane' | 'insight'>>): void {
    const before = this.#groupOf.get(text);
    const { dataplane = null, insight = null } = { ...before, ...facts };
    const key = JSON.stringify([dataplane, insight]);
    if (before?.key === key) return;
    if (before !== undefined) this.#leave(before);
    if (dataplane === null && insight === null) this.#groupOf.delete(text);
    else {
      const after = this.#groups.get(key) ?? { key, dataplane, insight, size: 0 };
      after.size += 1;
      this.#groups.set(key, after);
      this.#groupOf.set(text, after);
    }
    if (before !== undefined || this.#groupOf.has(text)) this.#isChanged = true;
  }

  #leave(group: Group): void {
    group.size -= 1;
    if (group.size === 0) this.#groups.delete(group.key);
  }
}

function bounded({ isConnected, kumaDp, envoy, issuedBackend, supportedBackends }: InsightFacts): InsightFacts {
  const cut = (text: string | null): string | null => (text === null ? null : storablePart(text, MAX_TEXT) || null);
  const backends = supportedBackends.slice(0, MAX_BACKENDS).map((one) => storablePart(one, MAX_TEXT));
  return { isConnected, kumaDp: cut(kumaDp), envoy: cut(envoy), issuedBackend: cut(issuedBackend), supportedBackends: backends };
}
