// A process with a few fake zones: joins when told, reports when all its zones have received one more than before.
import { FakeZone } from './fake-zone.ts';

export type JoinCommand = { readonly address: string; readonly zones: readonly string[] };
export type ZonesReport =
  | { readonly kind: 'up' }
  /** Every zone of the process has received `count`; the last of them at `at`, in milliseconds of `nowMs`. */
  | { readonly kind: 'received'; readonly count: number; readonly at: number }
  | { readonly kind: 'failed'; readonly reason: string };

function report(message: ZonesReport): void {
  process.send?.(message);
}

// The terminal interrupts everyone; the process that measures decides when this one ends.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.once('message', ({ address, zones: names }: JoinCommand) => {
  const zones: FakeZone[] = [];
  let least = -1;
  const onReceived = (at: number): void => {
    const count = Math.min(...zones.map(({ received }) => received));
    if (count <= least) return;
    least = count;
    report({ kind: 'received', count, at });
  };
  for (const name of names) {
    zones.push(new FakeZone(name, address, onReceived, (reason) => report({ kind: 'failed', reason: `${name}: ${reason}` })));
  }
  for (const zone of zones) zone.join();
});
report({ kind: 'up' });
