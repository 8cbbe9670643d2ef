// The health of the database, derived from the statements that ran. It is logged once on failure and once on recovery. Readiness
// reads it.
import { sql, type Kysely } from 'kysely';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { CHANNEL } from './change-feed.ts';
import type { Tables } from './database.ts';
import {
  isLockTimeout,
  isLoginRefused,
  isNeverSent,
  isNoAnswer,
  isSerializationFailure,
  isStalePlan,
  takesNoWrites,
} from './pg-errors.ts';

/** The message for a write without an answer. */
export const MAY_BE_STORED = 'the write may have been stored: read the resource before you write it again';
const NO_ANSWER = 'the database does not answer';
const LOGIN_REFUSED = 'the database refuses the login of the control plane';

export class StoreHealth {
  readonly #log: Logger;
  readonly #db: Kysely<Tables>;
  /** The last logged reason for no answer; null while the database answers. */
  #silence: string | null = null;
  /** The last write that failed on a full disk or a read-only database; null after a trial that was stored. */
  #refusal: MeridianError | null = null;
  #isTrying = false;

  /** @param db the database in which a trial is stored */
  constructor(log: Logger, db: Kysely<Tables>) {
    this.#log = log;
    this.#db = db;
  }

  /** It is false after a refused write until a trial is stored. Another stored write proves nothing: a small one may fit. */
  get takesWrites(): boolean {
    return this.#refusal === null;
  }

  /**
   * Runs a statement or a transaction.
   * @throws MeridianError `unavailable` if the database failed and may recover, `conflict` if another transaction locks the rows;
   *   else the thrown error
   */
  async watch<T>(kind: 'read' | 'write', run: () => Promise<T>): Promise<T> {
    const result = await this.#judge(kind, run);
    // The log reports the recovery where no probe reads the readiness, too.
    if (kind === 'write' && !this.takesWrites && !this.#isTrying) void this.#tryAlone();
    return result;
  }

  async #judge<T>(kind: 'read' | 'write', run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      this.#answered();
      return result;
    } catch (error) {
      const reason = messageOf(error);
      if (takesNoWrites(error)) {
        if (this.takesWrites)
          this.#log.error(
            { reason },
            'the database stores nothing: free its disk, point the store at the primary, or end the session that keeps its NOTIFY queue full',
          );
        this.#refusal = new MeridianError('unavailable', `the database stores nothing now: ${reason}`, { cause: error });
        throw this.#refusal;
      }
      if (isLockTimeout(error) || isSerializationFailure(error)) {
        const text = 'another transaction holds a lock on the rows: end it (see pg_stat_activity), or try again later';
        throw new MeridianError('conflict', text, { cause: error });
      }
      if (!isNoAnswer(error)) throw error;
      throw this.#noAnswer(kind, error, reason);
    }
  }

  #noAnswer(kind: 'read' | 'write', error: unknown, reason: string): MeridianError {
    if (isLoginRefused(error)) {
      if (this.#silence !== LOGIN_REFUSED)
        this.#log.error({ reason }, `${LOGIN_REFUSED}: correct the role, its password or store.postgres, and restart`);
      this.#silence = LOGIN_REFUSED;
      // Callers and peers do not learn the name of the role.
      return new MeridianError('unavailable', `${LOGIN_REFUSED}; its log has the reason`, { cause: error });
    }
    if (this.#silence !== NO_ANSWER) this.#log.warn({ reason }, NO_ANSWER);
    this.#silence = NO_ANSWER;
    const isUnknown = kind === 'write' && !isNeverSent(error) && !isStalePlan(error);
    const text = `${NO_ANSWER}: ${reason}${isUnknown ? `; ${MAY_BE_STORED}` : ''}`;
    return new MeridianError('unavailable', text, { cause: error });
  }

  /**
   * Resolves if the database answers. After a write that failed on a full disk or a read-only database, it must also store again.
   * @throws as `watch`
   */
  async ping(): Promise<void> {
    // The setting is also on for a standby, so that it is detected before a write fails.
    const { rows } = await this.watch('read', () =>
      sql<{ read_only: string }>`select current_setting('transaction_read_only') as read_only`.execute(this.#db),
    );
    if (rows[0]?.read_only === 'on' || !this.takesWrites) await this.#try();
  }

  /**
   * Stores a trial.
   * @throws as `watch`, also if another write was refused during the trial: the trial may have been stored before the disk was
   * full
   */
  async #try(): Promise<void> {
    const refusal = this.#refusal;
    await this.#judge('write', () => tryWrite(this.#db));
    if (this.#refusal === null) return;
    if (this.#refusal !== refusal) throw this.#refusal;
    this.#log.warn('the database stores again');
    this.#refusal = null;
  }

  async #tryAlone(): Promise<void> {
    this.#isTrying = true;
    await this.#try().catch(() => undefined);
    this.#isTrying = false;
  }

  #answered(): void {
    if (this.#silence !== null) this.#log.warn('the database answers again');
    this.#silence = null;
  }
}

/** Stores 64 kB and rolls back. A small row may fit into an existing page although the disk is full. */
async function tryWrite(db: Kysely<Tables>): Promise<void> {
  const undo = new Error('only a trial');
  const trial = db.transaction().execute(async (tx) => {
    await sql`insert into resources (name, mesh, type, version, spec)
      select 'trial', '', '', 0, string_agg(md5(random()::text), '') from generate_series(1, 2000)`.execute(tx);
    throw undo;
  });
  await trial.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  // A rolled back transaction sends no notification. Reading the usage of a full queue shortens it. No reader waits for the mark.
  await sql`select pg_notification_queue_usage()`.execute(db);
  await sql`select pg_notify(${CHANNEL}, '{"mark":"trial"}')`.execute(db);
}
