// Counts the proxies of a zone for a receiver of global, instead of storing their insights (decision 84). Insights are in memory
// alone, and Dataplanes are counted as they are stored. Invariant: a refused resource is not counted.
import type { Steps } from '../../base/steps.ts';
import type { ProxyGroup } from '../../resource/proxy-facts.ts';
import { typeOf, type TypeInfo } from '../../resource/type-registry.ts';
import { nameText } from '../../resource/types.ts';
import { misnamedResource, type Work } from '../receiver/diff-response.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';
import type { Pace } from '../protocol/pace.ts';
import type { Kept, PeerRows } from '../receiver/peer-rows.ts';
import { INSIGHT_TYPE, isCountedType, ProxyCounts, type CountedType } from './proxy-counts.ts';
import type { ReceiveRules } from '../protocol/rules.ts';

/** The number of proxies between two steps. */
const PROXIES_A_STEP = 64;
/** Counting this many proxies costs as much as storing a row. */
const COUNTED_A_ROW = 20;

export type CountedProxiesOptions = {
  readonly rules: ReceiveRules;
  readonly pace: Pick<Pace, 'run'>;
  /** The number of names that are remembered. */
  readonly most: number;
  readonly rows: Pick<PeerRows, 'keep' | 'inScope' | 'named'>;
  /** The peer sends only changed Dataplanes, so the stored ones are counted first. */
  readonly resumes: boolean;
};

export class CountedProxies {
  readonly #options: CountedProxiesOptions;
  readonly #counts = new ProxyCounts();
  #hasStored = false;

  constructor(options: CountedProxiesOptions) {
    this.#options = options;
  }

  /**
   * Counts a response of insights, and stores every other one. Dataplanes are counted, too.
   * @returns for insights also the number of rows that would have cost as much
   */
  async keep(info: TypeInfo, work: Work, refusedBefore: readonly NackedResource[]): Promise<Kept> {
    const { rows, pace } = this.#options;
    if (!isCountedType(info.name)) return await rows.keep(info, work, refusedBefore);
    await this.#countStored();
    const kept =
      info.name === INSIGHT_TYPE
        ? {
            written: Math.ceil(work.incoming.size / COUNTED_A_ROW),
            refusals: [...refusedBefore, ...(await pace.run(this.#refuse(info, work)))],
          }
        : await rows.keep(info, work, refusedBefore);
    await pace.run(this.#take(info.name, work, kept.refusals));
    return kept;
  }

  takeChanged(): readonly ProxyGroup[] | null {
    return this.#counts.takeChanged();
  }

  /** Counts what was stored before this stream, before a response is stored. */
  async #countStored(): Promise<void> {
    const { rows, resumes } = this.#options;
    if (this.#hasStored || !resumes) return;
    const info = typeOf('Dataplane');
    for (const row of await rows.named(info, await rows.inScope([info]))) this.#counts.put('Dataplane', row);
    this.#hasStored = true;
  }

  /** Refuses new proxies that the table would refuse for their name, and new ones over the quota. */
  *#refuse(info: TypeInfo, { incoming }: Work): Steps<NackedResource[]> {
    const { rules, most } = this.#options;
    const refusals: NackedResource[] = [];
    let room = most - this.#counts.size;
    for (const [text, resource] of incoming) {
      yield;
      if (this.#counts.has(text)) continue;
      const misnamed = misnamedResource(info, rules, resource);
      if (misnamed !== null) refusals.push(misnamed);
      if (misnamed !== null || room-- > 0) continue;
      const { mesh, name } = resource;
      const reason = `global counts ${String(most)} proxies of a zone; delete some, or raise multizone.global.kds.quotas.rows on global`;
      refusals.push(nackedResource(info.name, { mesh, name }, reason));
    }
    return refusals;
  }

  /** Takes a response into the counts. What is refused stays as it was. */
  *#take(type: CountedType, { incoming, removed, prune }: Work, refusals: readonly NackedResource[]): Steps<void> {
    const refused = new Set(refusals.map(nameText));
    let done = 0;
    for (const [text, resource] of incoming) {
      if (done++ % PROXIES_A_STEP === 0) yield;
      if (!refused.has(text)) this.#counts.put(type, resource);
    }
    for (const text of removed.keys()) {
      if (done++ % PROXIES_A_STEP === 0) yield;
      if (!refused.has(text) && !incoming.has(text)) this.#counts.remove(type, text);
    }
    if (prune !== null) this.#counts.keepOnly(type, prune.except);
  }
}
