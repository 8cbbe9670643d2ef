// All zones that connect again, over their processes, as one thing that can be waited for.
import type { ChildProcess } from 'node:child_process';
import { endChild, nextMessage, startScript } from './children.ts';
import { fakeZoneName } from './fake-zones.ts';
import { nowMs } from './measure.ts';
import type { Replicas, ZonesCommand, ZonesReport, ZonesState } from './resuming-zones-process.ts';

/** The time limit of one step in milliseconds. */
const PATIENCE_MS = 300_000;
/** Milliseconds between two messages about the replicas. */
const TELL_MS = 200;

type Member = { readonly child: ChildProcess; readonly zones: readonly string[]; state: ZonesState | null };
type Waiter = { readonly isDone: () => boolean; readonly resolve: () => void; readonly reject: (error: Error) => void };

export class ResumingZones {
  readonly #members: readonly Member[];
  readonly #waiters = new Set<Waiter>();
  readonly #timer: NodeJS.Timeout;
  #addresses: readonly string[] = [];
  #isEnding = false;

  private constructor(members: readonly Member[]) {
    this.#members = members;
    for (const member of members) {
      member.child.on('message', (report: ZonesReport) => {
        if (report.kind === 'state') member.state = report;
        for (const waiter of [...this.#waiters]) if (waiter.isDone()) waiter.resolve();
      });
      member.child.once('exit', () => this.#fail(new Error('a process of zones ended')));
    }
    this.#timer = setInterval(() => this.#tell('replicas'), TELL_MS);
  }

  static async start(zones: number, perProcess: number): Promise<ResumingZones> {
    const members: Member[] = [];
    for (let first = 0; first < zones; first += perProcess) {
      const names = Array.from({ length: Math.min(perProcess, zones - first) }, (_, index) => fakeZoneName(first + index));
      members.push({ child: startScript('resuming-zones-process.ts'), zones: names, state: null });
    }
    await Promise.all(members.map(({ child }) => nextMessage(child)));
    return new ResumingZones(members);
  }

  /** @param addresses of the replicas, for this and all later connections */
  join(addresses: readonly string[]): void {
    this.#addresses = addresses;
    this.#tell('join');
  }

  /** The replicas for later connections. */
  setAddresses(addresses: readonly string[]): void {
    this.#addresses = addresses;
    this.#tell('replicas');
  }

  /** Ends the connections of all zones at once; they connect again. */
  async dropAll(): Promise<void> {
    const dropped = this.#members.map(
      ({ child }) =>
        new Promise<void>((resolve) => {
          const take = (report: ZonesReport): void => {
            if (report.kind !== 'dropped') return;
            child.off('message', take);
            resolve();
          };
          child.on('message', take);
        }),
    );
    for (const { child } of this.#members) child.send({ kind: 'drop' } satisfies ZonesCommand);
    await Promise.all(dropped);
  }

  /** How many zones have everything, by address. */
  get up(): Replicas {
    return sumOf(this.#members.map(({ state }) => state?.up ?? {}));
  }

  /** Resources that zones got although they had them. */
  get again(): number {
    return this.#sum('again');
  }

  get failures(): number {
    return this.#sum('failures');
  }

  /** Every zone has everything, at one of the addresses. */
  get areAllUp(): boolean {
    const zones = this.#members.reduce((sum, one) => sum + one.zones.length, 0);
    const up = this.up;
    const here = this.#addresses.reduce((sum, address) => sum + (up[address] ?? 0), 0);
    return here === zones;
  }

  /** Waits until every zone has received that many MeshTimeouts. @returns when the last of them had, in milliseconds of `nowMs` */
  async received(count: number): Promise<number> {
    await this.until(`all zones had ${String(count)} changes`, () =>
      this.#members.every(({ state }) => (state?.least ?? -1) >= count),
    );
    return Math.max(...this.#members.map(({ state }) => state?.at ?? 0));
  }

  /** Waits for a state of the zones, in the time limit of `limitMs` milliseconds. @returns milliseconds */
  async until(what: string, isDone: () => boolean, limitMs = PATIENCE_MS): Promise<number> {
    const began = nowMs();
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
    const digests = await Promise.all(
      this.#members.map(
        ({ child }) =>
          new Promise<string[]>((resolve) => {
            const take = (report: ZonesReport): void => {
              if (report.kind !== 'digests') return;
              child.off('message', take);
              resolve(report.digests);
            };
            child.on('message', take);
            child.send({ kind: 'digest' } satisfies ZonesCommand);
          }),
      ),
    );
    return new Set(digests.flat()).size;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    clearInterval(this.#timer);
    await Promise.all(this.#members.map(({ child }) => endChild(child)));
  }

  #tell(kind: 'join' | 'replicas'): void {
    const chosen = sumOf(this.#members.map(({ state }) => state?.chosen ?? {}));
    const replicas = Object.fromEntries(this.#addresses.map((address) => [address, chosen[address] ?? 0]));
    for (const { child, zones } of this.#members)
      if (child.connected) child.send((kind === 'join' ? { kind, zones, replicas } : { kind, replicas }) satisfies ZonesCommand);
  }

  #fail(error: Error): void {
    if (!this.#isEnding) for (const waiter of [...this.#waiters]) waiter.reject(error);
  }

  #sum(key: 'again' | 'failures'): number {
    return this.#members.reduce((sum, { state }) => sum + (state?.[key] ?? 0), 0);
  }
}

function sumOf(all: readonly Replicas[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of all) for (const [address, zones] of Object.entries(one)) sum[address] = (sum[address] ?? 0) + zones;
  return sum;
}
