// The reports of a receiver about the proxies of a zone. With counts it reports how many proxies of each kind exist (decision 84). With
// stored insights it reports once that it counts nothing. Invariant: rows of insights are deleted only after the report that replaces them.
import type { ProxyGroup } from '../../resource/proxy-facts.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { CountedProxies } from './counted-proxies.ts';
import type { PeerRows } from '../receiver/peer-rows.ts';
import { INSIGHT_TYPE, isCountedType, type CountedType } from './proxy-counts.ts';

export type ProxyReportsOptions = {
  /** It is null if insights are stored. */
  readonly proxies: Pick<CountedProxies, 'takeChanged'> | null;
  readonly rows: Pick<PeerRows, 'inScope' | 'delete'>;
  /** @param groups null if nothing is counted @param replacesRows whether there are rows of insights */
  readonly report: (groups: readonly ProxyGroup[] | null, replacesRows: boolean) => void;
};

export class ProxyReports {
  readonly #options: ProxyReportsOptions;
  #hasReported = false;

  constructor(options: ProxyReportsOptions) {
    this.#options = options;
  }

  /**
   * Reports the proxies when all are known, and whenever they change.
   * @param type the type of the response that was kept
   * @param awaits whether the full state of a type is not complete
   */
  async kept(type: string, awaits: (type: CountedType) => boolean): Promise<void> {
    const { proxies, rows } = this.#options;
    if (!isCountedType(type)) return;
    const isFirst = !this.#hasReported;
    if (awaits(INSIGHT_TYPE)) return;
    if (proxies === null) {
      if (isFirst && type === INSIGHT_TYPE) this.#report(null, false);
      return;
    }
    if (awaits('Dataplane')) return;
    const replaced = isFirst ? await rows.inScope([typeOf(INSIGHT_TYPE)]) : [];
    const groups = proxies.takeChanged();
    if (groups !== null) this.#report(groups, replaced.length > 0);
    await rows.delete(replaced);
  }

  #report(groups: readonly ProxyGroup[] | null, replacesRows: boolean): void {
    this.#hasReported = true;
    this.#options.report(groups, replacesRows);
  }
}
