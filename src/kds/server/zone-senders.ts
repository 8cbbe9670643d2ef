// The senders of the zones that are connected to this process: how many zones there are, which are behind, and which may move.
import type { Sender } from '../sender/sender.ts';

export class ZoneSenders {
  /** The zones by sender, in the order in which the senders opened. */
  readonly #senders = new Map<Sender, string>();

  /** Adds a sender. Call the result when the stream has ended. */
  add(zone: string, sender: Sender): () => void {
    this.#senders.set(sender, zone);
    return () => void this.#senders.delete(sender);
  }

  /** The (zone, type) pairs with an incomplete state. */
  *behind(): Generator<{ zone: string; type: string }> {
    for (const [sender, zone] of this.#senders) for (const type of sender.behind()) yield { zone, type };
  }

  has(zone: string): boolean {
    return [...this.#senders.values()].includes(zone);
  }

  /** The number of zones that have a sender. */
  get zoneCount(): number {
    return this.#newest().size;
  }

  /**
   * The zones that have their first state and have answered everything, those with the oldest streams first. Zones that are sent
   * everything again when they reconnect, as those of Kuma, come last.
   * @param latest the streams that opened later are too young, by the clock of the process
   */
  movable(latest: number): string[] {
    return [...this.#newest()]
      .filter(([, { isSettled, openedAt }]) => isSettled && openedAt <= latest)
      .toSorted(([, a], [, b]) => Number(b.resumes) - Number(a.resumes) || a.openedAt - b.openedAt)
      .map(([zone]) => zone);
  }

  /** The newest sender of each zone, with the oldest of these first. */
  #newest(): Map<string, Sender> {
    const newest = new Map<string, Sender>();
    for (const [sender, zone] of this.#senders) {
      newest.delete(zone);
      newest.set(zone, sender);
    }
    return newest;
  }
}
