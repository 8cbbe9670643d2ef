// All of fast-check, with an `assert` whose number of runs follows TEST_SIZE.
import { assert as assertOnce, configureGlobal, type IAsyncProperty, type IProperty, type Parameters } from 'fast-check';
import { isFull } from './test-size.ts';

export * from 'fast-check';

/** The default number of runs of fast-check. */
const DEFAULT_RUNS = 100;
/** Share of the runs on each push, */
const SHARE = 0.2;
/** and their minimum. A test with fewer runs keeps its number. */
const MIN_RUNS = 25;

configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

/** The number of runs of a property with this requested number. */
export function runsOf(asked = DEFAULT_RUNS, full = isFull): number {
  return full ? asked : Math.min(asked, Math.max(MIN_RUNS, Math.ceil(asked * SHARE)));
}

/** As `assert` of fast-check: throws with the seed and the smallest counterexample. */
export function assert<Ts>(property: IAsyncProperty<Ts>, parameters?: Parameters<Ts>): Promise<void>;
export function assert<Ts>(property: IProperty<Ts>, parameters?: Parameters<Ts>): void;
export function assert<Ts>(property: IProperty<Ts> | IAsyncProperty<Ts>, parameters: Parameters<Ts> = {}): Promise<void> | void {
  return assertOnce(property as IProperty<Ts>, { ...parameters, numRuns: runsOf(parameters.numRuns) });
}
