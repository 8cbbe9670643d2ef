// The statuses with which global refuses a caller that is no zone, or not the zone that it says.
import { status as code } from '@grpc/grpc-js';
import { MeridianError, messageOf } from '../base/errors.ts';
import { StatusError, statusOf } from '../grpc/status.ts';
import type { StreamKind } from './sync-events.ts';

/** Of a call from a store that does not speak for the zone. A person must decide: trying again changes nothing. */
export function foreignStore(details: string): StatusError {
  return new StatusError(code.FAILED_PRECONDITION, details);
}

/** Of a stream without `client-id` (kds-wire 2.1). */
export function missingName(kind: StreamKind, error: unknown): StatusError {
  const { code: usual, details } = statusOf(error);
  return new StatusError(kind === 'globalToZone' || kind === 'zoneToGlobal' ? code.UNKNOWN : usual, details);
}

/** The error of a stream whose name no zone can have (kds-wire 2.6). Errors of the store stay unchanged. */
export function noZone(error: unknown): unknown {
  if (!(error instanceof MeridianError) || error.code !== 'invalid') return error;
  return new StatusError(code.INTERNAL, `stream failed: ${messageOf(error)}`);
}
