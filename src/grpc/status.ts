// Errors as gRPC statuses. Only this file maps the error catalogue to them (kds-wire 2.6).
import { status as code } from '@grpc/grpc-js';
import { MeridianError, messageOf } from '../base/errors.ts';

/** A status travels in headers, which a peer may limit to 8 KiB. */
const MAX_DETAILS = 1_000;

/** An Error, so that the reader of the stream can report why it ended. */
export class StatusError extends Error {
  readonly code: code;
  readonly details: string;

  constructor(status: code, text: string) {
    const details = text.slice(0, MAX_DETAILS).toWellFormed();
    super(details);
    this.code = status;
    this.details = details;
  }
}

/** The status of a stream that this side ends without an error (kds-wire 2.6). */
export function canceled(details: string): StatusError {
  return new StatusError(code.CANCELLED, details);
}

/** The error of a peer that exceeds one of its quotas. */
export function exhausted(details: string): StatusError {
  return new StatusError(code.RESOURCE_EXHAUSTED, details);
}

/** Status code and message with which a stream ends: those of the catalogue, unless the error has its own. */
export function statusOf(error: unknown): StatusError {
  return error instanceof StatusError ? error : new StatusError(codeOf(error), messageOf(error));
}

/** Returns true if this process cannot serve now, such as while its database does not answer. The caller did nothing wrong. */
export function isOwnFailure(error: unknown): boolean {
  return statusOf(error).code === code.UNAVAILABLE;
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
