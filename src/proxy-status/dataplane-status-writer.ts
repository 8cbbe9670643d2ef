// Notes in Dataplanes where their Envoys have opened their sections (decision 105), and whether they demand TLS (decision 106). `observe` only
// updates memory, so no stream waits for the store. Invariant: what the last events of a proxy say is in its row, or waits here.
import { isDeepStrictEqual } from 'node:util';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { rest, type Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { withDemandedTls } from '../policy/demanded-tls.ts';
import { withOpened, type SectionPlace } from '../resource/section-places.ts';
import { nameText, type Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { dataplaneKey } from './dataplane-insight-writer.ts';

export type DataplaneStatusWriterOptions = {
  readonly store: Pick<ResourceStore, 'getMany' | 'writeBatch'>;
  readonly log: Logger;
  readonly clock: Clock;
};

type DataplaneName = { readonly mesh: string; readonly name: string };
/** Null: there was no such event. */
type Waiting = {
  readonly at: DataplaneName;
  readonly open: readonly SectionPlace[] | null;
  readonly demandsTls: boolean | null;
  readonly isFirst: boolean;
};

/** Rows of one statement: other work of this process waits for few. */
const BATCH = 50;
/** The pause after a batch, as a multiple of its duration. */
const REST_TIMES = 4;
/** Proxies that join one after the other are written at once. More of them have joined when none has come for a second. */
const FEW = 10;
const QUIET_MS = 1_000;
/** Milliseconds for which first places wait at most. */
const MAX_WAIT_MS = 30_000;
/** Milliseconds until the next attempt when the store does not answer. */
const RETRY_MS = 1_000;

export class DataplaneStatusWriter {
  readonly #options: DataplaneStatusWriterOptions;
  /** By the text of the name of the Dataplane. */
  readonly #waiting = new Map<string, Waiting>();
  #wake: (() => void) | null = null;
  /** Proxies that join: how many since the last quiet time, since when, and when the last one came. */
  #joining = { count: 0, since: 0, last: -Infinity };

  constructor(options: DataplaneStatusWriterOptions) {
    this.#options = options;
  }

  /** Takes an event in; never throws, never waits. */
  observe(event: ProxyEvent): void {
    if (event.kind !== 'moved' && event.kind !== 'demands TLS') return;
    const { mesh, name } = event;
    const id = nameText(event);
    const before = this.#waiting.get(id) ?? { at: { mesh, name }, open: null, demandsTls: null, isFirst: false };
    if (event.kind === 'demands TLS') this.#waiting.set(id, { ...before, demandsTls: event.demandsTls });
    else {
      if (event.isFirst) this.#noteJoining();
      this.#waiting.set(id, { ...before, open: event.open, isFirst: event.isFirst });
    }
    this.#wake?.();
  }

  #noteJoining(): void {
    const now = this.#options.clock.elapsed();
    const { count, since, last } = this.#joining;
    this.#joining = now - last >= QUIET_MS ? { count: 1, since: now, last: now } : { count: count + 1, since, last: now };
  }

  /** Milliseconds until first places may be written. */
  #joiningMs(): number {
    const { count, since, last } = this.#joining;
    return count <= FEW ? 0 : Math.max(0, Math.min(last + QUIET_MS, since + MAX_WAIT_MS) - this.#options.clock.elapsed());
  }

  /** A move never waits: clients do. */
  #due(): [id: string, waiting: Waiting][] {
    const mayWriteFirst = this.#joiningMs() === 0;
    return [...this.#waiting].filter(([, { isFirst }]) => mayWriteFirst || !isFirst);
  }

  /** Stores what waits until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      const due = this.#due();
      if (due.length === 0) {
        await this.#news(signal);
        continue;
      }
      const began = clock.elapsed();
      try {
        await this.#store(due.slice(0, BATCH));
        await rest(clock, began, REST_TIMES, signal);
      } catch (error) {
        log.warn(
          { reason: messageOf(error), proxies: this.#waiting.size },
          'statuses of Dataplanes could not be stored; they are tried again',
        );
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /** Resolves with an event, and when first places may be written. */
  async #news(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const either = AbortSignal.any([signal, woken.signal]);
    if (this.#waiting.size > 0) await clock.sleep(this.#joiningMs(), either);
    else if (!either.aborted)
      await new Promise<void>((resolve) => either.addEventListener('abort', () => resolve(), { once: true }));
    this.#wake = null;
  }

  async #store(batch: readonly [id: string, waiting: Waiting][]): Promise<void> {
    const { store } = this.#options;
    const rows = new Map((await store.getMany(batch.map(([, { at }]) => dataplaneKey(at)))).map((row) => [nameText(row), row]));
    const planned = batch.map(([id, waiting]) => ({ id, waiting, write: writeOf(rows.get(id), waiting) }));
    const writes = planned.flatMap(({ write }) => write ?? []);
    const outcomes = (writes.length === 0 ? [] : await store.writeBatch(writes)).values();
    for (const { id, waiting, write } of planned) {
      // The row was written by others meanwhile.
      const isConflict = write !== null && outcomes.next().value?.result === 'conflict';
      if (!isConflict && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }
}

/** Null where the row says it already, and where it is gone. */
function writeOf(row: Resource | undefined, { open, demandsTls }: Waiting): Write | null {
  if (row === undefined) return null;
  const opened = open === null ? row.status : withOpened(row, open);
  const status = demandsTls === null ? opened : withDemandedTls(opened, demandsTls);
  if (isDeepStrictEqual(status, row.status)) return null;
  const { type, mesh, name, labels, spec, version, syncVersion } = row;
  return { op: 'update', key: { type, mesh, name }, labels, spec, status, syncVersion, expectVersion: version };
}
