// When listeners and clusters that are gone from the view may be removed from one proxy. What replaces them has been accepted; connections
// that began before still use them. Invariant: a cluster stays as long as Envoy drains the listeners that led to it.
import { SparseMap } from '../base/sparse-map.ts';
import type { XdsResource, XdsType } from './session-messages.ts';

/** Types whose removals are sent on their own, in this order. */
export const REMOVED = ['Listener', 'Cluster'] as const;
export type RemovedType = (typeof REMOVED)[number];

/** How long a listener that others connect to stays open after it has gone: other zones hear of another address within seconds. */
const LASTING_MS = 10_000;

/** How time passes for a session. */
export type SessionTime = {
  /** Milliseconds since a fixed moment. */
  readonly elapsed: () => number;
  /** How long connections go on with a listener that was replaced or removed; 0 also ends the stay of listeners. */
  readonly drainMs: number;
};
export const NO_TIME: SessionTime = { elapsed: () => 0, drainMs: 0 };

export class RemovalTimes {
  readonly #time: SessionTime;
  /** When each was replaced everywhere, in milliseconds. */
  readonly #replaced: Readonly<Record<RemovedType, SparseMap<string, number>>> = {
    Listener: new SparseMap(),
    Cluster: new SparseMap(),
  };
  /** Listeners that the proxy was sent and others connect to. */
  readonly #lasting = new SparseMap<string, true>();

  constructor(time: SessionTime) {
    this.#time = time;
  }

  sent(resources: readonly XdsResource[]): void {
    for (const resource of resources) this.held(resource);
  }

  /** The proxy has it, also from before its stream. */
  held({ name, isLasting }: XdsResource): void {
    if (isLasting === true) this.#lasting.set(name, true);
  }

  /** Others still use a listener that is gone: it lasts from when they do not. */
  keep(name: string): void {
    this.#lasting.set(name, true);
    this.#replaced.Listener.delete(name);
  }

  /** It is gone from the view now. */
  begin(type: XdsType, name: string): void {
    if (type === 'Listener' || type === 'Cluster') this.#replaced[type].delete(name);
  }

  /** Its removal is sent. */
  end(type: XdsType, name: string): void {
    this.begin(type, name);
    if (type === 'Listener') this.#lasting.delete(name);
  }

  /** Those that may be removed now. Everything that replaces them has been accepted. */
  due(type: RemovedType, gone: Iterable<string>): string[] {
    const now = this.#time.elapsed();
    const replaced = this.#replaced[type];
    return [...gone].filter((name) => {
      if (!replaced.has(name)) replaced.set(name, now);
      return now - (replaced.get(name) ?? now) >= this.#stayMs(type, name);
    });
  }

  /** `elapsed` when the first of those that wait may be removed; null without one. */
  next(type: RemovedType, gone: Iterable<string>): number | null {
    const times = [...gone].flatMap((name) => {
      const since = this.#replaced[type].get(name);
      return since === undefined ? [] : [since + this.#stayMs(type, name)];
    });
    return times.length === 0 ? null : Math.min(...times);
  }

  #stayMs(type: RemovedType, name: string): number {
    const { drainMs } = this.#time;
    if (type === 'Cluster') return drainMs;
    return drainMs > 0 && this.#lasting.has(name) ? LASTING_MS : 0;
  }
}
