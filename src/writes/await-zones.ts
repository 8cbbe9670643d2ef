// `?wait=zones`: the answer waits until the zones have acknowledged the change. The write is stored before the wait, so a failed wait is
// only a warning.
import type { FastifyReply } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import { parseGoDuration } from '../base/duration.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Answer } from '../answers/answers.ts';
import { badQuery } from '../http/error-body.ts';

const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 300_000;

/** @property version the change with at least this version of the row; null for the newest, which may be its removal */
export type RolloutQuestion = { readonly version: number | null; readonly waitMs: number };

/** The state of a change of a row at each peer. */
export type FollowRollout = (key: ResourceKey, question: RolloutQuestion, signal: AbortSignal) => Promise<Answer<'Rollout'>>;

/** The milliseconds to wait for the zones; 0 without `wait`. @throws ApiError 400 */
export function waitOf(query: URLSearchParams): number {
  const wait = query.get('wait') ?? '';
  const timeout = query.get('timeout') ?? '';
  if (wait !== '' && wait !== 'zones') throw badQuery('wait', 'must be zones');
  const ms = timeout === '' ? DEFAULT_WAIT_MS : parseGoDuration(timeout);
  if (ms === null || ms <= 0 || ms > MAX_WAIT_MS) throw badQuery('timeout', 'must be a duration such as 30s, at most 5m');
  if (wait === '' && timeout !== '') throw badQuery('timeout', 'needs wait=zones');
  return wait === '' ? 0 : ms;
}

/** A signal that aborts when the client has gone, or the server closes. */
export function whileConnected({ raw }: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** The rollout of a stored write, or a warning that gives the reason why there is none. */
export async function awaitZones(
  follow: () => Promise<Answer<'Rollout'>>,
): Promise<Pick<Answer<'Written'>, 'rollout' | 'warnings'>> {
  try {
    return { rollout: await follow() };
  } catch (error) {
    if (!(error instanceof MeridianError)) throw error;
    return { warnings: [`the write is stored, and the answers of zones are not known: ${error.message}`] };
  }
}
