// What a process says of its fake zones: sums over them, at once when the last of them has more than before.
import { report } from '../../bench/commands.ts';
import type { FakeZone } from './fake-zone.ts';
import { nowMs } from '../../bench/measure.ts';

/** Address → zones. */
export type Replicas = Readonly<Record<string, number>>;

export function sumOf(all: readonly Replicas[]): Replicas {
  const sum: Record<string, number> = {};
  for (const one of all) for (const [address, zones] of Object.entries(one)) sum[address] = (sum[address] ?? 0) + zones;
  return sum;
}

/** The addresses with the zones that have chosen each. @param states of all processes */
export function chosenOf(addresses: readonly string[], states: readonly (ZonesState | null)[]): Replicas {
  const chosen = sumOf(states.map((state) => state?.chosen ?? {}));
  return Object.fromEntries(addresses.map((address) => [address, chosen[address] ?? 0]));
}

export type ZonesState = {
  readonly kind: 'state';
  /** Zones with everything on their connection, by address. */
  readonly up: Replicas;
  /** Zones by the address that they have chosen. */
  readonly chosen: Replicas;
  /** The least number of MeshTimeouts that a zone received, and when the last zone did, in milliseconds of `nowMs`. */
  readonly least: number;
  readonly at: number;
  /** Zones that have received all that there were when they joined. */
  readonly complete: number;
  /** Sums over the zones. */
  readonly again: number;
  readonly failures: number;
  readonly refused: number;
  readonly refusedByPeer: number;
};

/** Milliseconds between two reports of a changed state. A new least number is reported at once. */
const REPORT_MS = 50;

export class ZoneStates {
  readonly zones: FakeZone[] = [];
  /** MeshTimeouts of a full state. */
  all = 0;
  /** How many zones of all processes each replica has. */
  replicas: Replicas = {};
  #least = -1;
  /** Index of a zone that has no more. */
  #last = 0;
  #at = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Something of a zone has changed. */
  readonly changed = (): void => {
    if (this.#hasLast()) {
      this.#timer ??= setTimeout(() => this.report(), REPORT_MS);
      return;
    }
    this.#least = this.zones.reduce((most, { received }) => Math.min(most, received), Infinity);
    this.#last = 0;
    this.#at = nowMs();
    this.report();
  };

  /** Of two replicas the one with fewer zones, as a load balancer does that counts connections. */
  readonly choose = (): string => {
    const known = Object.keys(this.replicas);
    const first = Math.floor(Math.random() * known.length);
    const second = (first + 1 + Math.floor(Math.random() * (known.length - 1))) % known.length;
    const [one = '', other = ''] = [known[first], known[second]];
    return (this.replicas[one] ?? 0) <= (this.replicas[other] ?? 0) ? one : other;
  };

  report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const up: Record<string, number> = {};
    const chosen: Record<string, number> = {};
    for (const { address, isUp } of this.zones) {
      if (address === '') continue;
      chosen[address] = (chosen[address] ?? 0) + 1;
      if (isUp) up[address] = (up[address] ?? 0) + 1;
    }
    const sum = (key: 'again' | 'failures' | 'refused' | 'refusedByPeer'): number =>
      this.zones.reduce((all, zone) => all + zone[key], 0);
    report({
      ...{ kind: 'state', up, chosen, least: this.#least, at: this.#at },
      complete: this.zones.filter(({ received }) => received >= this.all).length,
      ...{ again: sum('again'), failures: sum('failures'), refused: sum('refused'), refusedByPeer: sum('refusedByPeer') },
    } satisfies ZonesState);
  }

  /** Some zone has no more than the least number. Looks on from the zone that was found before. */
  #hasLast(): boolean {
    const { zones } = this;
    while (this.#last < zones.length && (zones[this.#last]?.received ?? 0) > this.#least) this.#last += 1;
    return this.#last < zones.length;
  }
}
