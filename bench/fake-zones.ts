// All fake zones of a section, spread over processes, as one thing that can be waited for.
import { Crew, parted } from './crew.ts';
import type { Manners } from '../test/fakes/fake-zone.ts';
import type { ZonesCommand, ZonesReport } from './fake-zones-process.ts';
import { nowMs } from './measure.ts';
import { chosenOf, sumOf, type Replicas, type ZonesState } from '../test/fakes/zone-states.ts';

/** The time limit of one step in milliseconds. */
const PATIENCE_MS = 300_000;
/** Milliseconds between two messages about the replicas. */
const TELL_MS = 200;

type Waiter = { readonly isDone: () => boolean; readonly resolve: () => void; readonly reject: (error: Error) => void };

/** @property all MeshTimeouts of a full state @property remembers: on its next connection a zone is sent what it lacks */
type Joining = { readonly all: number; readonly manners?: Manners; readonly remembers?: boolean };

/** Of a zone by its number among all fake zones. */
export function fakeZoneName(index: number): string {
  return `bench-${String(index)}`;
}

export class FakeZones {
  readonly #crew: Crew<ZonesCommand, ZonesReport>;
  readonly #states: (ZonesState | null)[];
  readonly #waiters = new Set<Waiter>();
  #addresses: readonly string[] = [];
  #failure: Error | null = null;
  #timer: NodeJS.Timeout | undefined;

  private constructor(crew: Crew<ZonesCommand, ZonesReport>) {
    this.#crew = crew;
    this.#states = crew.parts.map(() => null);
    crew.listen(
      (report, at) => {
        if (report.kind === 'state') this.#states[at] = report;
        else if (report.kind === 'failed') this.#fail(new Error(`the server ended the connection of ${report.zone}`));
        for (const waiter of [...this.#waiters]) if (waiter.isDone()) waiter.resolve();
      },
      (error) => this.#fail(error),
    );
  }

  /** @param zones their names, or how many */
  static async start(zones: number | readonly string[], perProcess: number): Promise<FakeZones> {
    const names = typeof zones === 'number' ? Array.from({ length: zones }, (_, index) => fakeZoneName(index)) : zones;
    return new FakeZones(await Crew.start('fake-zones-process.ts', parted(names, perProcess)));
  }

  /** @param addresses of the replicas, for this and all later connections */
  join(addresses: readonly string[], { all, manners = 'good', remembers = false }: Joining): void {
    this.#addresses = addresses;
    const replicas = chosenOf(addresses, this.#states);
    this.#crew.tell((zones) => ({ kind: 'join', zones, replicas, manners, remembers, all }));
    if (remembers) this.#timer = setInterval(() => this.setAddresses(this.#addresses), TELL_MS);
  }

  /** The replicas for later connections. */
  setAddresses(addresses: readonly string[]): void {
    this.#addresses = addresses;
    const replicas = chosenOf(addresses, this.#states);
    this.#crew.tell(() => ({ kind: 'replicas', replicas }));
  }

  /** Ends the connections of all zones at once; they connect again. */
  async dropAll(): Promise<void> {
    await this.#crew.each(
      () => ({ kind: 'drop' }),
      ({ kind }) => (kind === 'dropped' ? kind : null),
    );
  }

  /** How many zones have everything, by address. */
  get up(): Replicas {
    return sumOf(this.#states.map((state) => state?.up ?? {}));
  }

  /** Every zone has everything, at one of the addresses. */
  get areAllUp(): boolean {
    const { up } = this;
    const here = this.#addresses.reduce((sum, address) => sum + (up[address] ?? 0), 0);
    return here === this.#crew.parts.flat().length;
  }

  /**
   * Over all zones.
   * @param key `complete`: those that have received all; `again`: resources that they got although they had them; `failures`: connections
   */
  sum(key: 'complete' | 'again' | 'failures'): number {
    return this.#states.reduce((sum, state) => sum + (state?.[key] ?? 0), 0);
  }

  /** Waits until every zone has received that many MeshTimeouts. @returns when the last of them had, in milliseconds of `nowMs` */
  async received(count: number): Promise<number> {
    await this.until(`all zones had ${String(count)} MeshTimeouts`, () =>
      this.#states.every((state) => (state?.least ?? -1) >= count),
    );
    return Math.max(...this.#states.map((state) => state?.at ?? 0));
  }

  /** Waits for a state of the zones, in the time limit of `limitMs` milliseconds. @returns milliseconds */
  async until(what: string, isDone: () => boolean, limitMs = PATIENCE_MS): Promise<number> {
    const began = nowMs();
    if (this.#failure !== null) throw this.#failure;
    if (isDone()) return 0;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiter: Waiter = { isDone, resolve: () => resolve(undefined), reject };
    const limit = setTimeout(() => reject(new Error(`not reached in time: ${what}`)), limitMs);
    this.#waiters.add(waiter);
    await promise.finally(() => {
      clearTimeout(limit);
      this.#waiters.delete(waiter);
    });
    return nowMs() - began;
  }

  /** How many different stores the zones hold: one where all are equal. */
  async differentStores(): Promise<number> {
    const digests = await this.#crew.each(
      () => ({ kind: 'digest' }),
      (report) => (report.kind === 'digests' ? report.digests : null),
    );
    return new Set(digests.flat()).size;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#crew.end();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const waiter of [...this.#waiters]) waiter.reject(error);
  }
}
