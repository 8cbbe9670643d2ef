// Keeps the port for zones closed on a database that a Kuma global has used, until its zones lose nothing by this global, or until a person
// has accepted each loss by name. Invariant: a database passes once, and again only after a Kuma control plane has run on it.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { findType } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { lossesOf, unaccepted, type Loss } from './losses.ts';
import { releaseOf, type KumaRelease } from './taken-row.ts';

/** Each Kuma control plane writes its replicas there, at its start too. */
const KUMA_RAN: ResourceKey = { type: 'Config', mesh: '', name: 'cp-catalog' };
/** It is written when a database has passed. */
export const TAKEN_OVER: ResourceKey = { type: 'Config', mesh: '', name: 'meridian-takeover' };
/** The interval of the looks at a database that has not passed, in milliseconds. */
const AGAIN_MS = 5_000;

export type GuardOptions = {
  readonly store: ResourceStore;
  /** The value of `multizone.global.takeover.accept`: kinds of losses, or types. */
  readonly accept: readonly string[];
  /** The value of `multizone.global.takeover.release`; null to tell it from the zones. */
  readonly release: KumaRelease | null;
  readonly clock: Clock;
  readonly log: Logger;
};

export class TakeoverGuard {
  readonly #options: GuardOptions;
  #losses: readonly Loss[] = [];

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** The kinds of losses that keep the port closed now; none while it may open. */
  kinds(): string[] {
    return [...new Set(this.#losses.map(({ kind }) => kind))];
  }

  /** Looks at the database. Resolves to whether zones may connect. Rejects when the store does not answer. */
  async passes(): Promise<boolean> {
    const { store, accept } = this.#options;
    if (await this.#hasPassed()) {
      this.#losses = [];
      return true;
    }
    const rows = await this.#rows();
    this.#losses = unaccepted(lossesOf(rows, this.#options.release ?? releaseOf(rows)), accept);
    if (this.#losses.length > 0) return false;
    await store.write({ op: 'put', key: TAKEN_OVER, labels: {}, spec: { config: JSON.stringify({ accepted: accept }) } });
    return true;
  }

  /** Resolves when zones may connect: at once, or when the losses are mended. Rejects with the signal. */
  async passed(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (let known = ''; !(await this.#passesNow()); await clock.sleep(AGAIN_MS, signal)) {
      signal.throwIfAborted();
      const kinds = this.kinds().join(', ');
      if (kinds !== known)
        log.error(
          { losses: this.#losses.length, kinds },
          'no zone can connect: zones would lose resources by the takeover. `meridian takeover check` lists them',
        );
      known = kinds;
    }
  }

  async #passesNow(): Promise<boolean> {
    return await this.passes().catch((error: unknown) => {
      this.#options.log.warn({ reason: messageOf(error) }, 'the check of the takeover failed and is repeated');
      return false;
    });
  }

  /** Whether no Kuma control plane has run on the database, or none since it passed. */
  async #hasPassed(): Promise<boolean> {
    const rows = await this.#options.store.getMany([KUMA_RAN, TAKEN_OVER]);
    const [kuma, passed] = [KUMA_RAN, TAKEN_OVER].map((key) => rows.find(({ name }) => name === key.name));
    return kuma === undefined || (passed !== undefined && passed.modificationTime >= kuma.modificationTime);
  }

  /** The rows that zones may lose, and those that tell the release. */
  async #rows(): Promise<Resource[]> {
    const { store } = this.#options;
    const types = new Set((await store.countAll()).map(({ type }) => type));
    const rows: Resource[] = [];
    for (const type of types) {
      const info = findType(type);
      if (type === 'ZoneInsight' || info === undefined || info.kds.globalToZone || info.kds.acrossZones)
        rows.push(...(await store.list({ type })));
    }
    return rows;
  }
}
