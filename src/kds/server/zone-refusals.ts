// The refusals of callers: the gRPC statuses of one without a valid zone name, or without the right to speak for the zone, and
// the delay of one over its quota.
import { status as code } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { MeridianError, messageOf } from '../../base/errors.ts';
import { StatusError, statusOf } from '../../grpc/status.ts';
import type { StreamKind } from '../protocol/sync-events.ts';

/** The delay of the refusal of a zone over its quota, in milliseconds. It bounds the cost of a zone that retries at once. */
export const REFUSAL_MS = 1_000;

/** The store of the caller does not speak for the zone. A person must decide; a retry changes nothing. */
export function foreignStore(details: string): StatusError {
  return new StatusError(code.FAILED_PRECONDITION, details);
}

/** The stream has no `client-id` (kds-wire 2.1). */
export function missingName(kind: StreamKind, error: unknown): StatusError {
  const { code: usual, details } = statusOf(error);
  return new StatusError(kind === 'globalToZone' || kind === 'zoneToGlobal' ? code.UNKNOWN : usual, details);
}

/** The error of a stream whose name no zone can have (kds-wire 2.6). Errors of the store stay unchanged. */
export function noZone(error: unknown): unknown {
  if (!(error instanceof MeridianError) || error.code !== 'invalid') return error;
  return new StatusError(code.INTERNAL, `stream failed: ${messageOf(error)}`);
}

/** Refuses a response over a quota after a short delay. The next response of the zone waits for that time. */
export async function slowToRefuse(clock: Clock, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (error instanceof StatusError && error.code === code.RESOURCE_EXHAUSTED)
      await clock.sleep(REFUSAL_MS, undefined, { ref: false });
    throw error;
  }
}
