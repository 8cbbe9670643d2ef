// The clock and logger of change feed followers in tests with real time.
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';

export const following = { clock: systemClock, log: createLogger('silent') };
