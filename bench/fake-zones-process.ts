// A process with a few fake zones: joins when told, reports when all its zones have received one more than before.
import { FakeZone, type Manners } from './fake-zone.ts';

export type JoinCommand = {
  readonly address: string;
  readonly zones: readonly string[];
  readonly manners: Manners;
  /** MeshTimeouts of a full state. */
  readonly all: number;
};
export type ZonesReport =
  | { readonly kind: 'up' }
  /** Every zone of the process has received `count`; the last of them at `at`, in milliseconds of `nowMs`. */
  | { readonly kind: 'received'; readonly count: number; readonly at: number }
  /** While zones join: how many hold all, and the failed connections of all. */
  | { readonly kind: 'progress'; readonly complete: number; readonly failures: number }
  | { readonly kind: 'failed'; readonly reason: string };

/** How long a restless zone stays, in milliseconds. */
const STAY_MS = 1_000;
/** Milliseconds between two reports of the progress. */
const PROGRESS_MS = 1_000;

function report(message: ZonesReport): void {
  process.send?.(message);
}

// The terminal interrupts everyone; the process that measures decides when this one ends.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.once('message', ({ address, zones: names, manners, all }: JoinCommand) => {
  const zones: FakeZone[] = [];
  let least = -1;
  const onReceived = (at: number): void => {
    const count = Math.min(...zones.map(({ received }) => received));
    if (count <= least) return;
    least = count;
    report({ kind: 'received', count, at });
  };
  const open = (name: string): FakeZone =>
    new FakeZone({ name, address, manners, all }, onReceived, (reason) =>
      report({ kind: 'failed', reason: `${name}: ${reason}` }),
    );
  zones.push(...names.map(open));
  for (const zone of zones) zone.join();
  if (manners === 'good') reportProgress(zones, all);
  if (manners === 'restless') setInterval(() => rejoin(zones, names.map(open)), STAY_MS);
});
report({ kind: 'up' });

function reportProgress(zones: readonly FakeZone[], all: number): void {
  const timer = setInterval(() => {
    const complete = zones.filter(({ received }) => received >= all).length;
    report({ kind: 'progress', complete, failures: zones.reduce((sum, zone) => sum + zone.failures, 0) });
    if (complete === zones.length) clearInterval(timer);
  }, PROGRESS_MS);
}

function rejoin(zones: FakeZone[], next: readonly FakeZone[]): void {
  for (const zone of zones.splice(0, zones.length, ...next)) zone.leave();
  for (const zone of next) zone.join();
}
