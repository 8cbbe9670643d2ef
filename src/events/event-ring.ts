// The last events of this process, so that a stream that broke off goes on where it was. Pure. Invariant: at most MAX_EVENTS events and
// MAX_CHARACTERS of text are kept; a reader who lacks dropped events learns it.

export const MAX_EVENTS = 1_000;
export const MAX_CHARACTERS = 4_000_000;

export const TOPICS = ['zones', 'lag', 'changes', 'problems', 'leader'] as const;
export type Topic = (typeof TOPICS)[number];

/** One object of an event: its newest state. */
export type EventItem = {
  /** The state as compact JSON. */
  readonly json: string;
  /** The item goes only to callers who may read this type of resource. Null means all callers. */
  readonly type: string | null;
};

export type RingEvent = {
  /** It grows by one with each event. */
  readonly sequence: number;
  readonly topic: Topic;
  readonly items: readonly EventItem[];
  readonly characters: number;
};

export class EventRing {
  readonly #events: RingEvent[] = [];
  #newest = 0;
  #characters = 0;

  /** The sequence of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  append(topic: Topic, items: readonly EventItem[]): void {
    const characters = items.reduce((sum, { json }) => sum + json.length, 0);
    this.#events.push({ sequence: ++this.#newest, topic, items, characters });
    this.#characters += characters;
    while (this.#events.length > MAX_EVENTS || (this.#characters > MAX_CHARACTERS && this.#events.length > 1))
      this.#characters -= this.#events.shift()?.characters ?? 0;
  }

  /** Drops all events: readers of every earlier position learn that they lack some. */
  leaveGap(): void {
    this.#newest += 1;
    this.#events.length = 0;
    this.#characters = 0;
  }

  /** The events after this one, the oldest first. Null if some of them are no longer kept, or it is no event of this ring. */
  after(sequence: number): readonly RingEvent[] | null {
    const oldest = this.#newest - this.#events.length + 1;
    if (sequence > this.#newest || sequence < oldest - 1) return null;
    return this.#events.slice(sequence - oldest + 1);
  }
}
