import { fc } from '../../test/support/property.ts';
import { expect, it } from 'vitest';
import { MAX_ANONYMOUS, MAX_PER_ADDRESS, MAX_WATCHES, WatchPermits, type Watcher } from './watch-permits.ts';

const anonymous = (address: string): Watcher => ({ address, isAnonymous: true });
const known = (address: string): Watcher => ({ address, isAnonymous: false });

/** The number of permits that these watchers get, one after the other. */
function taken(permits: WatchPermits, watchers: readonly Watcher[]): number {
  return watchers.filter((watcher) => 'release' in permits.take(watcher)).length;
}
const times = <T>(count: number, of: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => of(index));

it('limits one anonymous address to a share of the watches', () => {
  const permits = new WatchPermits();
  expect(
    taken(
      permits,
      times(1_000, () => anonymous('192.0.2.1')),
    ),
  ).toBe(MAX_PER_ADDRESS);
  expect(taken(permits, [anonymous('192.0.2.2'), known('192.0.2.1'), known('127.0.0.1')])).toBe(3);
});

it('keeps a reserve for known callers against any number of anonymous addresses', () => {
  const permits = new WatchPermits();
  expect(
    taken(
      permits,
      times(10_000, (index) => anonymous(`2001:db8::${index.toString(16)}`)),
    ),
  ).toBe(MAX_ANONYMOUS);
  expect(
    taken(
      permits,
      times(1_000, () => known('192.0.2.1')),
    ),
  ).toBe(MAX_WATCHES - MAX_ANONYMOUS);
});

it('gives known callers the permits that anonymous callers do not use', () => {
  expect(
    taken(
      new WatchPermits(),
      times(1_000, () => known('127.0.0.1')),
    ),
  ).toBe(MAX_WATCHES);
});

it('counts permits as a list of the open watches does, after any takes and releases', () => {
  const step = fc.oneof(
    fc.record({ address: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), isAnonymous: fc.boolean() }),
    fc.nat(),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 800, size: 'max' }), (steps) => {
      const permits = new WatchPermits();
      const open: { watcher: Watcher; release: () => void }[] = [];
      for (const one of steps) {
        if (typeof one === 'number') {
          const [gone] = open.splice(open.length === 0 ? 0 : one % open.length, 1);
          gone?.release();
          gone?.release();
          continue;
        }
        const strangers = open.filter(({ watcher }) => watcher.isAnonymous);
        const mayOpen =
          open.length < MAX_WATCHES &&
          (!one.isAnonymous ||
            (strangers.length < MAX_ANONYMOUS &&
              strangers.filter(({ watcher }) => watcher.address === one.address).length < MAX_PER_ADDRESS));
        const answer = permits.take(one);
        expect('release' in answer).toBe(mayOpen);
        if ('release' in answer) open.push({ watcher: one, release: answer.release });
      }
    }),
    { numRuns: 50 },
  );
});
