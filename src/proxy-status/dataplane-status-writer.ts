// Notes in Dataplanes where their Envoys have opened their sections (decision 105), and whether they demand TLS (decision 52). `observe` only
// updates memory, so no stream waits for the store. Invariant: what the last events of a proxy say is in its row, or waits here.
import { isDeepStrictEqual } from 'node:util';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { rest, type Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { withDemandedTls } from '../policy/demanded-tls.ts';
import { openedStatus, withOpened, type SectionPlace } from '../resource/section-places.ts';
import { nameText, type JsonObject, type Resource, type RowVersion } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { dataplaneKey, type DataplaneName } from './proxy-keys.ts';

type DataplaneStatusWriterOptions = {
  readonly store: Pick<ResourceStore, 'getMany' | 'writeBatch'>;
  readonly log: Logger;
  readonly clock: Clock;
};

/** A field is null if there was no such event. */
type Waiting = {
  readonly at: DataplaneName;
  readonly open: readonly SectionPlace[] | null;
  readonly demandsTls: boolean | null;
  /** The places that the row should name if it is of this version; null if it is not. */
  readonly known: { readonly row: RowVersion; readonly next: readonly SectionPlace[] } | null;
  readonly isFirst: boolean;
};

const NOTHING = { open: null, known: null, demandsTls: null, isFirst: false };
/** The reason with which a wait ends. An error would be made for each event. */
const NEWS = 'an event';
/** The number of rows of one statement: other work of this process waits for few. */
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
  /** The waiting events, by the text of the name of the Dataplane. */
  readonly #waiting = new Map<string, Waiting>();
  #wake: (() => void) | null = null;
  /** It is true while the writer waits until no more proxies join. */
  #isJoining = false;
  /** The number of proxies that joined since the last quiet time, with the times of the first and of the last. */
  #joining = { count: 0, since: 0, last: -Infinity };

  constructor(options: DataplaneStatusWriterOptions) {
    this.#options = options;
  }

  /** Takes an event in; never throws, never waits. */
  observe(event: ProxyEvent): void {
    if (event.kind !== 'moved' && event.kind !== 'demands TLS') return;
    const { mesh, name } = event;
    const id = nameText(event);
    const before = this.#waiting.get(id) ?? { ...NOTHING, at: { mesh, name } };
    const waiting = withEvent(before, event);
    if (event.kind === 'moved' && event.isFirst) this.#noteJoining();
    this.#waiting.set(id, waiting);
    if (!waiting.isFirst || !this.#isJoining) this.#wake?.();
  }

  #noteJoining(): void {
    const now = this.#options.clock.elapsed();
    const { count, since, last } = this.#joining;
    this.#joining = now - last >= QUIET_MS ? { count: 1, since: now, last: now } : { count: count + 1, since, last: now };
  }

  /** The milliseconds until first places may be written. */
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
    const woken = new AbortController();
    this.#wake = () => woken.abort(NEWS);
    const either = AbortSignal.any([signal, woken.signal]);
    this.#isJoining = this.#waiting.size > 0;
    if (this.#isJoining) await this.#options.clock.sleep(this.#joiningMs(), either);
    else if (!either.aborted)
      await new Promise<void>((resolve) => either.addEventListener('abort', () => resolve(), { once: true }));
    this.#isJoining = false;
    this.#wake = null;
  }

  /** Rows are large, so one is read only where its version is not known. */
  async #store(batch: readonly [id: string, waiting: Waiting][]): Promise<void> {
    const { store } = this.#options;
    const unknown = batch.flatMap(([, waiting]) => (mustRead(waiting) ? [dataplaneKey(waiting.at)] : []));
    const rows = new Map((unknown.length === 0 ? [] : await store.getMany(unknown)).map((row) => [nameText(row), row]));
    const planned = batch.map(([id, waiting]) => ({ id, waiting, write: writeOf(waiting, rows.get(id)) }));
    const writes = planned.flatMap(({ write }) => write ?? []);
    const outcomes = (writes.length === 0 ? [] : await store.writeBatch(writes)).values();
    for (const { id, waiting, write } of planned) {
      // The row was written by others meanwhile.
      const isConflict = write !== null && outcomes.next().value?.result === 'conflict';
      if (this.#waiting.get(id) !== waiting) continue;
      if (isConflict) this.#waiting.set(id, { ...waiting, known: null });
      else this.#waiting.delete(id);
    }
  }
}

function withEvent(before: Waiting, event: ProxyEvent): Waiting {
  if (event.kind === 'demands TLS') return { ...before, demandsTls: event.demandsTls };
  if (event.kind !== 'moved') return before;
  const { open, next, row, isFirst } = event;
  return { ...before, open, known: { row, next }, isFirst };
}

/** Whether the row must be read first. A member of a status is taken away with the others at hand. */
function mustRead({ known, demandsTls }: Waiting): boolean {
  return known === null || demandsTls === false;
}

/** The write of a row. It is null where the row says all already, and where it is gone. @param row the row as it was read */
function writeOf(waiting: Waiting, row: Resource | undefined): Write | null {
  const { at, open, known, demandsTls } = waiting;
  const demanding = (status: JsonObject): JsonObject => (demandsTls === null ? status : withDemandedTls(status, demandsTls));
  if (known !== null && !mustRead(waiting)) {
    const { version, creationTime } = known.row;
    const status = demanding(openedStatus(known.next));
    return { op: 'status', key: dataplaneKey(at), status, expectVersion: version, expectCreation: creationTime };
  }
  if (row === undefined) return null;
  const status = demanding(open === null ? row.status : withOpened(row, open));
  if (isDeepStrictEqual(status, row.status)) return null;
  const { labels, spec, version, syncVersion } = row;
  return { op: 'update', key: dataplaneKey(at), labels, spec, status, syncVersion, expectVersion: version };
}
