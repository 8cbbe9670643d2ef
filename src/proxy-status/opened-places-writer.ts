// Notes in Dataplanes where their Envoys have opened their sections (decision 105). `observe` only updates memory, so no stream waits for the
// store. Invariant: what the last event of a proxy says is in its row, or waits here.
import { isDeepStrictEqual } from 'node:util';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { rest, type Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { withOpened, type SectionPlace } from '../resource/section-places.ts';
import { nameText, type Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { dataplaneKey } from './dataplane-insight-writer.ts';

export type OpenedPlacesWriterOptions = {
  readonly store: Pick<ResourceStore, 'getMany' | 'writeBatch'>;
  readonly log: Logger;
  readonly clock: Clock;
};

type DataplaneName = { readonly mesh: string; readonly name: string };
type Waiting = { readonly at: DataplaneName; readonly open: readonly SectionPlace[] };

/** Rows of one statement. */
const BATCH = 500;
/** The pause after a batch, as a multiple of its duration: proxies that join together share statements. */
const REST_TIMES = 4;
/** Milliseconds until the next attempt when the store does not answer. */
const RETRY_MS = 1_000;

export class OpenedPlacesWriter {
  readonly #options: OpenedPlacesWriterOptions;
  /** By the text of the name of the Dataplane. */
  readonly #waiting = new Map<string, Waiting>();
  #wake: (() => void) | null = null;

  constructor(options: OpenedPlacesWriterOptions) {
    this.#options = options;
  }

  /** Takes an event in; never throws, never waits. */
  observe(event: ProxyEvent): void {
    if (event.kind !== 'moved') return;
    const { mesh, name, open } = event;
    this.#waiting.set(nameText(event), { at: { mesh, name }, open });
    this.#wake?.();
  }

  /** Stores what waits until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
    while (!signal.aborted) {
      if (this.#waiting.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
      if (signal.aborted) return;
      const began = clock.elapsed();
      try {
        await this.#storeSome();
        await rest(clock, began, REST_TIMES, signal);
      } catch (error) {
        log.warn(
          { reason: messageOf(error), proxies: this.#waiting.size },
          'places of proxies could not be stored; they are tried again',
        );
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  async #storeSome(): Promise<void> {
    const { store } = this.#options;
    const batch = [...this.#waiting].slice(0, BATCH);
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
function writeOf(row: Resource | undefined, { open }: Waiting): Write | null {
  if (row === undefined) return null;
  const status = withOpened(row, open);
  if (isDeepStrictEqual(status, row.status)) return null;
  const { type, mesh, name, labels, spec, version, syncVersion } = row;
  return { op: 'update', key: { type, mesh, name }, labels, spec, status, syncVersion, expectVersion: version };
}
