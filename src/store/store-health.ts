// The health of the database, derived from the statements that ran. It is logged once on failure and once on recovery. Readiness
// reads it.
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { isLockTimeout, isNeverSent, isNoAnswer, isSerializationFailure, isStalePlan, takesNoWrites } from './pg-errors.ts';

/** Of a write whose answer did not come. */
export const MAY_BE_STORED = 'the write may have been stored: read the resource before you write it again';

export class StoreHealth {
  readonly #log: Logger;
  #answers = true;
  #takesWrites = true;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** False from a write that found no room or a read-only database until a write is stored. */
  get takesWrites(): boolean {
    return this.#takesWrites;
  }

  /**
   * Runs a statement or a transaction.
   * @throws MeridianError `unavailable` where the database is at fault and may recover, `conflict` where another transaction holds
   *   a lock on the rows; else the thrown error
   */
  async watch<T>(kind: 'read' | 'write', run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      this.#worked(kind);
      return result;
    } catch (error) {
      const reason = messageOf(error);
      if (takesNoWrites(error)) {
        if (this.#takesWrites)
          this.#log.error(
            { reason },
            'the database stores nothing: free its disk, point the store at the primary, or end the session that keeps its NOTIFY queue full',
          );
        this.#takesWrites = false;
        throw new MeridianError('unavailable', `the database stores nothing now: ${reason}`, { cause: error });
      }
      if (isLockTimeout(error) || isSerializationFailure(error)) {
        const text = 'another transaction holds a lock on the rows: end it (see pg_stat_activity), or try again later';
        throw new MeridianError('conflict', text, { cause: error });
      }
      if (!isNoAnswer(error)) throw error;
      if (this.#answers) this.#log.warn({ reason }, 'the database does not answer');
      this.#answers = false;
      const isUnknown = kind === 'write' && !isNeverSent(error) && !isStalePlan(error);
      const text = `the database does not answer: ${reason}${isUnknown ? `; ${MAY_BE_STORED}` : ''}`;
      throw new MeridianError('unavailable', text, { cause: error });
    }
  }

  #worked(kind: 'read' | 'write'): void {
    if (!this.#answers) this.#log.warn('the database answers again');
    this.#answers = true;
    if (kind === 'read') return;
    if (!this.#takesWrites) this.#log.warn('the database stores again');
    this.#takesWrites = true;
  }
}
