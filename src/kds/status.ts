// Failures as gRPC statuses; the one place that maps the catalogue (kds-wire 2.6).
import { status as code } from '@grpc/grpc-js';
import { MeridianError, messageOf } from '../base/errors.ts';

/** A status travels in headers, which a peer may limit to 8 KiB. */
const LONGEST_DETAILS = 1_000;

/** An Error, so that whoever reads the stream can say why it ended. */
export type StatusError = Error & { readonly code: code; readonly details: string };

/** Status code and sentence with which a stream ends. */
export function statusOf(error: unknown): StatusError {
  const details = messageOf(error).slice(0, LONGEST_DETAILS).toWellFormed();
  return Object.assign(new Error(details), { code: codeOf(error), details });
}

function codeOf(error: unknown): code {
  if (!(error instanceof MeridianError)) return code.INTERNAL;
  switch (error.code) {
    case 'invalid':
    case 'bad_request':
    case 'too_large':
      return code.INVALID_ARGUMENT;
    case 'forbidden':
      return code.UNAUTHENTICATED;
    case 'conflict':
      return code.ABORTED;
    case 'unavailable':
      return code.UNAVAILABLE;
    default:
      return code.INTERNAL;
  }
}
