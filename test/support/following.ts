// What followers of the change feed wait and log with in tests that do not turn the clock.
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';

export const following = { clock: systemClock, log: createLogger('silent') };
