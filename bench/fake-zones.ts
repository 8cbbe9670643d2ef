// All fake zones of a section, spread over processes, as one thing that can be waited for.
import type { ChildProcess } from 'node:child_process';
import { endChild, nextMessage, startScript } from './children.ts';
import type { Manners } from './fake-zone.ts';
import type { JoinCommand, ZonesReport } from './fake-zones-process.ts';

/** The time limit of a join or a change in milliseconds. */
const PATIENCE_MS = 300_000;

type Member = {
  readonly child: ChildProcess;
  readonly zones: string[];
  count: number;
  at: number;
  complete: number;
  failures: number;
};
type Waiter = { readonly count: number; readonly resolve: (at: number) => void; readonly reject: (error: Error) => void };

/** Of a zone by its number among all fake zones. */
export function fakeZoneName(index: number): string {
  return `bench-${String(index)}`;
}

export class FakeZones {
  readonly #members: readonly Member[];
  readonly #waiters = new Set<Waiter>();
  #failure: Error | null = null;
  #isEnding = false;

  private constructor(members: readonly Member[]) {
    this.#members = members;
    for (const member of members) {
      member.child.on('message', (report: ZonesReport) => this.#take(member, report));
      member.child.once('exit', () => this.#fail('a process of fake zones ended'));
    }
  }

  static async start(zones: number, perProcess: number): Promise<FakeZones> {
    const members: Member[] = [];
    for (let first = 0; first < zones; first += perProcess) {
      const size = Math.min(perProcess, zones - first);
      const names = Array.from({ length: size }, (_, index) => fakeZoneName(first + index));
      members.push({ child: startScript('fake-zones-process.ts'), zones: names, count: -1, at: 0, complete: 0, failures: 0 });
    }
    await Promise.all(members.map(({ child }) => nextMessage(child)));
    return new FakeZones(members);
  }

  /** @param all MeshTimeouts of a full state */
  join(address: string, all: number): void {
    for (const { child, zones } of this.#members)
      child.send({ address, zones, manners: 'good' satisfies Manners, all } satisfies JoinCommand);
  }

  /**
   * Waits until every zone has received that many MeshTimeouts.
   * @returns when the last of them had, in milliseconds of `nowMs`
   */
  async received(count: number): Promise<number> {
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(`not all zones had ${String(count)} MeshTimeouts in time`), PATIENCE_MS);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        count,
        resolve: (at) => {
          done();
          resolve(at);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
      this.#settle();
    });
  }

  /** Of the join: the zones that held all a second ago, and the failed connections until then. */
  get progress(): { readonly complete: number; readonly failures: number } {
    const sum = (key: 'complete' | 'failures'): number => this.#members.reduce((all, member) => all + member[key], 0);
    return { complete: sum('complete'), failures: sum('failures') };
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#members.map(({ child }) => endChild(child)));
  }

  #take(member: Member, report: ZonesReport): void {
    if (report.kind === 'failed') this.#fail(report.reason);
    else if (report.kind === 'progress') Object.assign(member, { complete: report.complete, failures: report.failures });
    else if (report.kind === 'received') {
      member.count = report.count;
      member.at = report.at;
      this.#settle();
    }
  }

  #fail(reason: string): void {
    if (this.#isEnding) return;
    this.#failure ??= new Error(reason);
    this.#settle();
  }

  #settle(): void {
    const count = Math.min(...this.#members.map((member) => member.count));
    for (const waiter of [...this.#waiters]) {
      if (this.#failure !== null) waiter.reject(this.#failure);
      else if (count >= waiter.count) waiter.resolve(Math.max(...this.#members.map(({ at }) => at)));
    }
  }
}
