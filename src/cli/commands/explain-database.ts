// Explains an unreachable database to the person who starts a control plane: the address, its configuration keys, and the remedy.
import type { Config } from '../../base/config.ts';
import { MeridianError, messageOf } from '../../base/errors.ts';

/** @throws MeridianError `unavailable` (exit code 4) when the database does not answer, else the original error */
export async function explainDatabase(error: unknown, store: Config['store']): Promise<never> {
  const { isNoAnswer } = await import('../../store/pg-errors.ts');
  const cause = [error, (error as { cause?: unknown } | undefined)?.cause].find((one) => isNoAnswer(one));
  if (store.type !== 'postgres' || cause === undefined) throw error;
  const where = `${store.host}:${String(store.port)} (store.postgres.host, .port)`;
  // Several addresses refused at once make an error without a text.
  const why = messageOf(cause) || String((cause as { code?: unknown }).code);
  throw new MeridianError('unavailable', `cannot reach PostgreSQL at ${where}: ${why}; is it running?`, { cause });
}
