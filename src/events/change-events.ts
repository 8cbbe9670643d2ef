// The topic `changes`: each change of the log, and how many peers have it. The count is kept as peers answer, so an event has no cost for
// each zone. Other replicas count the zones that are connected there: one question a second asks about all changes in flight.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Tally } from '../receipts/peer-marks.ts';
import type { Change } from '../receipts/kept-change.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { MAX_TALLIES } from '../receipts/tally-questions.ts';
import type { Following } from '../store/follow-feed.ts';
import type { EventSource, Tell } from './event-hub.ts';
import type { EventItem } from './event-ring.ts';

/** Milliseconds between two questions to other replicas. */
const ASK_MS = 1_000;
/** Milliseconds from the first news of a change after which it is no longer asked for: a zone that takes so long is a problem of its own. */
const ASK_FOR_MS = 300_000;
/** The largest number of changes on their way to zones of other replicas. */
const MAX_ON_THE_WAY = 200;

export type ChangeEventsOptions = Following & {
  readonly receipts: Pick<Receipts, 'changes' | 'audienceOf' | 'talliesAt'>;
  /** The ids of the other replicas that live. */
  readonly others: () => ReadonlySet<string>;
  /** Whether a zone is connected to another replica. */
  readonly isElsewhere: (zone: string) => boolean;
};

export class ChangeEvents implements EventSource {
  readonly name = 'changes';
  readonly render: EventSource['render'] = { changes: (id) => this.#render(id) };
  readonly #options: ChangeEventsOptions;
  /** Changes that wait for their event. */
  readonly #open = new Map<string, Change>();
  /** Changes that zones of other replicas may lack, the oldest first. */
  readonly #onTheWay = new Set<Change>();
  /** The time of the first news of each change, in milliseconds of `elapsed`: the date may be set. */
  readonly #heardAt = new WeakMap<Change, number>();
  /** The last answers of other replicas. */
  readonly #elsewhere = new WeakMap<Change, Tally>();

  constructor(options: ChangeEventsOptions) {
    this.#options = options;
  }

  async run({ touch, loaded }: Tell, signal: AbortSignal): Promise<void> {
    const { receipts, others, clock, log } = this.#options;
    const tell = (change: Change): void => {
      const key = String(change.id);
      this.#open.set(key, change);
      touch('changes', key);
    };
    const { changes } = receipts;
    const hear = (change: Change): void => {
      tell(change);
      if (!this.#heardAt.has(change)) this.#heardAt.set(change, clock.elapsed());
      if (others().size > 0) this.#onTheWay.add(change);
      const [oldest] = this.#onTheWay;
      if (oldest !== undefined && this.#onTheWay.size > MAX_ON_THE_WAY) this.#onTheWay.delete(oldest);
    };
    changes.onProgress = hear;
    loaded();
    await every(clock, ASK_MS, signal, async () => {
      await this.#ask(tell, signal).catch((error: unknown) =>
        log.debug({ reason: messageOf(error) }, 'the other replicas were not asked about changes'),
      );
    });
    if (changes.onProgress === hear) changes.onProgress = null;
    this.#open.clear();
    this.#onTheWay.clear();
  }

  async #ask(tell: (change: Change) => void, signal: AbortSignal): Promise<void> {
    const { receipts, others, clock } = this.#options;
    const replicas = others();
    const latest = clock.elapsed() - ASK_FOR_MS;
    for (const change of this.#onTheWay)
      if (replicas.size === 0 || (this.#heardAt.get(change) ?? 0) < latest || this.#isEverywhere(change))
        this.#onTheWay.delete(change);
    const asked = [...this.#onTheWay].slice(-MAX_TALLIES);
    if (asked.length === 0) return;
    const tallies = await receipts.talliesAt(replicas, asked, signal);
    for (const [index, change] of asked.entries()) {
      const [before, after] = [this.#elsewhere.get(change), tallies[index]];
      if (after === undefined || JSON.stringify(before) === JSON.stringify(after)) continue;
      this.#elsewhere.set(change, after);
      tell(change);
    }
  }

  #isEverywhere(change: Change): boolean {
    const { acknowledged, refused } = this.#total(change);
    return acknowledged + refused >= this.#options.receipts.audienceOf(change);
  }

  #total(change: Change): Tally {
    const elsewhere = this.#elsewhere.get(change);
    if (elsewhere === undefined) return change.tally;
    const { receipts, isElsewhere } = this.#options;
    // A zone that moved to another replica is counted there.
    const here = receipts.changes.tallyOf(change, (zone, { streams }) => streams.size > 0 || !isElsewhere(zone));
    return {
      sent: here.sent + elsewhere.sent,
      acknowledged: here.acknowledged + elsewhere.acknowledged,
      refused: here.refused + elsewhere.refused,
      slowestMs: Math.max(here.slowestMs, elsewhere.slowestMs),
    };
  }

  #render(id: string): EventItem | null {
    const change = this.#open.get(id);
    if (change === undefined) return null;
    this.#open.delete(id);
    const progress = changeProgress(change, this.#total(change), this.#options.receipts.audienceOf(change));
    return { json: JSON.stringify(progress), type: change.type };
  }
}

/** `applied` of `targets` peers have acknowledged the change. */
function changeProgress(
  { id, type, mesh, name, version, isRemoval, isNew, at }: Change,
  { sent, acknowledged, refused, slowestMs }: Tally,
  targets: number,
): object {
  return {
    ...{ id, type, name, ...(mesh !== '' && { mesh }), version, isRemoval, isNew },
    ...{ committedAt: new Date(at).toISOString() },
    ...{ targets, sent: Math.min(sent, targets), applied: Math.min(acknowledged, targets), refused: Math.min(refused, targets) },
    ...(acknowledged > 0 && { slowestMs }),
  };
}
