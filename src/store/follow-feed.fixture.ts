// A table with a feed that loses hints, a follower of it whose reads fail, and a clock that the test moves.
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { fc } from '../../test/support/property.ts';
import { createLogger } from '../base/log.ts';
import type { ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from './follow-feed.ts';
import type { StoreChange } from './resource-store.ts';

const TYPES = ['Mesh', 'Zone', 'Secret'];
export const FOLLOWED = ['Mesh', 'Zone'];
export const keyOf = (type: string, name: string): ResourceKey => ({ type, mesh: '', name });

const idOf = ({ type, name }: ResourceKey): string => `${type}/${name}`;

type Change = { readonly key: ResourceKey; readonly isDelete: boolean; readonly hint: StoreChange['kind'] };

/** A table with a feed whose notifications the test may lose, and a copy of it that a follower keeps. */
export class FeedBench {
  readonly clock = new ManualClock();
  readonly stop = new AbortController();
  readonly applied: Hints[] = [];
  /** The version of each row, by `type/name`. */
  readonly table = new Map<string, number>();
  readonly copy = new Map<string, number>();
  failures = 0;
  /** The end of `apply` waits for it. */
  held: Promise<void> = Promise.resolve();
  readonly #queue: StoreChange[] = [];
  #wake = (): void => undefined;
  #isBroken = false;
  /** It is true while the feed has lost its connection: what is pushed does not arrive. */
  isLost = false;
  #running: Promise<void> | undefined;
  readonly follower = new FeedFollower({
    store: { changes: (signal) => this.#changes(signal), mark: async (id) => this.push({ kind: 'mark', id }) },
    ...{
      types: FOLLOWED,
      isMark: (id: string) => id.startsWith('followed '),
      clock: this.clock,
      log: createLogger('silent'),
      maxLagMs: 1e9,
    },
  });

  start(): void {
    this.#running = this.follower.run((hints) => this.#apply(hints), this.stop.signal);
  }

  /** Writes or deletes a row; a hint of another kind than `keys` covers more than the row. */
  change({ key, isDelete, hint }: Change, version: number): void {
    if (isDelete) this.table.delete(idOf(key));
    else this.table.set(idOf(key), version);
    if (hint === 'keys') this.push({ kind: 'keys', keys: [key] });
    else this.push(hint === 'type' ? { kind: 'type', type: key.type } : { kind: 'all' });
  }

  push(change: StoreChange): void {
    // A feed that failed delivers nothing more: what follows a lost change is lost too.
    if (this.isLost || this.#isBroken) return;
    this.#queue.push(change);
    this.#wake();
  }

  /** Lets the feed lose its connection. */
  lose(): void {
    this.push({ kind: 'lost' });
    this.isLost = true;
  }

  /** Gives the feed a connection again. */
  reconnect(): void {
    this.isLost = false;
    this.push({ kind: 'all' });
  }

  /** Lets the feed fail: what it had not delivered is lost. */
  break(): void {
    this.#isBroken = true;
    this.#queue.length = 0;
    this.#wake();
  }

  /** Lets everything run, pauses after errors included, until `done` has settled. */
  async settle(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    void done.finally(() => (isDone = true));
    while (!isDone) await this.clock.advance(1_000);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.#running;
  }

  async *#changes(signal: AbortSignal): AsyncGenerator<StoreChange> {
    this.#isBroken = false;
    signal.addEventListener('abort', () => this.#wake());
    if (!this.isLost) yield { kind: 'all' };
    while (!signal.aborted) {
      const change = this.#queue.shift();
      if (change !== undefined) yield change;
      else if (this.#isBroken) throw new Error('the connection ended');
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async #apply(hints: Hints): Promise<void> {
    this.applied.push(hints);
    await setImmediate();
    await this.held;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('the database does not answer');
    }
    for (const type of hints.types) {
      for (const id of this.copy.keys()) if (id.startsWith(type)) this.copy.delete(id);
      for (const [id, version] of this.table) if (id.startsWith(type)) this.copy.set(id, version);
    }
    for (const key of hints.keys) {
      const version = this.table.get(idOf(key));
      if (version === undefined) this.copy.delete(idOf(key));
      else this.copy.set(idOf(key), version);
    }
  }
}

type Step = ({ readonly kind: 'change' } & Change) | { readonly kind: 'break' | 'fail' | 'lose' | 'reconnect' | 'turn' | 'wait' };

/** Random changes of the table and events of its feed. */
export const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('change' as const),
    key: fc.tuple(fc.constantFrom(...TYPES), fc.constantFrom('a', 'b', 'c')).map(([type, name]) => keyOf(type, name)),
    isDelete: fc.boolean(),
    hint: fc.constantFrom('keys' as const, 'keys' as const, 'type' as const, 'all' as const),
  }),
  fc.record({ kind: fc.constantFrom('break', 'fail', 'lose', 'reconnect', 'turn', 'wait') }),
);

/** The followed rows of one moment. */
export const followed = (rows: ReadonlyMap<string, number>): Map<string, number> =>
  new Map([...rows].filter(([id]) => !id.startsWith('Secret')));
