// The topic `changes`: each change of the log, and how many peers have it. A count is kept with the answers of peers, so an event costs
// nothing for each zone.
import { aborted } from '../base/supervise.ts';
import type { Change, Tally } from '../receipts/recent-changes.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { EventSource, Tell } from './event-hub.ts';
import type { EventItem } from './event-ring.ts';

type Watched = Pick<Receipts, 'changes' | 'audienceOf'>;

export class ChangeEvents implements EventSource {
  readonly name = 'changes';
  readonly render: EventSource['render'] = { changes: (id) => this.#render(id) };
  readonly #receipts: Watched;
  /** Changes that were told and may change again. */
  readonly #open = new Map<string, Change>();

  constructor(receipts: Watched) {
    this.#receipts = receipts;
  }

  async run({ touch, loaded }: Tell, signal: AbortSignal): Promise<void> {
    const { changes } = this.#receipts;
    const tell = (change: Change): void => {
      const key = String(change.id);
      this.#open.set(key, change);
      touch('changes', key);
    };
    changes.onProgress = tell;
    loaded();
    await aborted(signal);
    if (changes.onProgress === tell) changes.onProgress = null;
    this.#open.clear();
  }

  #render(id: string): EventItem | null {
    const change = this.#open.get(id);
    if (change === undefined) return null;
    this.#open.delete(id);
    return { json: JSON.stringify(changeProgress(change, change.tally, this.#receipts.audienceOf(change))), type: change.type };
  }
}

/** `applied` of `targets` peers have acknowledged the change. */
export function changeProgress(
  { id, type, mesh, name, version, isRemoval, at }: Change,
  { sent, acknowledged, refused, slowestMs }: Tally,
  targets: number,
): object {
  return {
    ...{ id, type, name, ...(mesh !== '' && { mesh }), version, isRemoval, committedAt: new Date(at).toISOString() },
    ...{ targets, sent: Math.min(sent, targets), applied: Math.min(acknowledged, targets), refused: Math.min(refused, targets) },
    ...(acknowledged > 0 && { slowestMs }),
  };
}
