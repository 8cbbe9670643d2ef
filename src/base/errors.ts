// The error catalogue: every failure that a person or a peer can meet has a code here, and one place per transport maps
// the code (src/http/error-body.ts to HTTP, src/grpc/status.ts to gRPC). Outcomes that a caller chooses on are unions instead.

import { boundViolations, type Violation } from './violations.ts';

export type { Violation };

export type ErrorCode =
  | 'invalid' // the input breaks a rule; `violations` says which
  | 'bad_request' // the input cannot be read at all
  | 'not_found'
  | 'conflict' // another writer was first, or the name is taken
  | 'read_only' // this control plane may not write that type
  | 'too_large'
  | 'forbidden' // this caller may not see or do that
  | 'unavailable' // the store or the peer cannot be reached now; trying again may work
  | 'schema_outdated' // the database needs `meridian migrate up`
  | 'config' // the configuration is wrong; the process cannot start
  | 'internal';

/** A resource that does not exist; `mesh` is left out where the type has none. */
export type MissingResource = { readonly type: string; readonly mesh?: string; readonly name: string };

type Options = {
  readonly violations?: readonly Violation[];
  readonly missing?: MissingResource | undefined;
  readonly cause?: unknown;
};

/** A failure with a code of the catalogue and a sentence that says what to do next. */
export class MeridianError extends Error {
  readonly code: ErrorCode;
  readonly violations: readonly Violation[];
  /** The resource that a `not_found` is about: the one that was asked for, or the mesh that it needs. */
  readonly missing: MissingResource | undefined;

  constructor(code: ErrorCode, message: string, options: Options = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MeridianError';
    this.code = code;
    this.violations = boundViolations(options.violations ?? []);
    this.missing = options.missing;
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
