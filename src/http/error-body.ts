// Errors as HTTP. Only this file maps the error catalogue to status codes and to the body that Kuma's clients read (rest-api 2.6).
import { MeridianError, type ErrorCode, type MissingResource, type Violation } from '../base/errors.ts';
import { cut } from '../base/violations.ts';
import { describeKey, type ResourceKey } from '../resource/types.ts';
import type { Answer } from '../answers/answers.ts';

type ErrorBody = Answer<'Error'>;

const STATUS: Record<ErrorCode, readonly [number, string]> = {
  invalid: [400, 'Could not process a resource'],
  bad_request: [400, 'Bad Request'],
  not_found: [404, 'Could not retrieve a resource'],
  conflict: [409, 'Conflict'],
  read_only: [405, 'Method not allowed'],
  too_large: [413, 'Payload too large'],
  forbidden: [403, 'Access Denied'],
  unavailable: [503, 'Service unavailable'],
  schema_outdated: [503, 'Service unavailable'],
  config: [500, 'Internal Server Error'],
  internal: [500, 'Internal Server Error'],
};

/** The character limit of a message, which may repeat a part of the request. */
const MAX_DETAIL = 2_000;

/** Errors whose text is internal: callers must not see it. */
const INSIDE = new Set<ErrorCode>(['config', 'internal', 'schema_outdated', 'unavailable']);

/** An error with the title of the operation that failed. */
export class ApiError extends MeridianError {
  readonly title: string;
  /** Overrides the status of the code. */
  readonly status: number | undefined;
  /** Seconds after which the same request may pass: the header `Retry-After`. */
  readonly retryAfterS: number | undefined;

  constructor(
    code: ErrorCode,
    title: string,
    detail: string,
    violations: readonly Violation[] = [],
    options: { readonly status?: number; readonly missing?: MissingResource; readonly retryAfterS?: number } = {},
  ) {
    super(code, detail, { violations, missing: options.missing });
    this.title = title;
    this.status = options.status;
    this.retryAfterS = options.retryAfterS;
  }
}

/** 404 of a resource that a caller asked for. @param what was looked for, if it is more than the resource */
export function missingResource(key: ResourceKey, title = 'Could not retrieve a resource', what = describeKey(key)): ApiError {
  const { type, mesh, name } = key;
  const missing = { type, ...(mesh !== '' && { mesh }), name };
  return new ApiError('not_found', title, `Not found: ${what}`, [], { missing });
}

/** 401: the credentials of the caller are not valid (rest-api 2.6). */
export function unauthenticated(detail: string): ApiError {
  return new ApiError('forbidden', 'Invalid authentication data', detail, [], { status: 401 });
}

/** 400 of a query or header; `field` is its name (rest-api 2.6). */
export function badQuery(field: string, reason: string, title = 'Bad Request'): ApiError {
  return new ApiError('bad_request', title, `${field}: ${reason}`, [{ field, reason }]);
}

/** The body for any thrown value. One outside the catalogue reveals no internals. */
export function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof MeridianError)) return body(500, 'Internal Server Error', 'Internal Server Error');
  const [known, knownTitle] = STATUS[error.code];
  const status = (error instanceof ApiError ? error.status : undefined) ?? known;
  const title = error instanceof ApiError ? error.title : knownTitle;
  return body(status, title, detailOf(error), error);
}

function detailOf(error: MeridianError): string {
  if (error.violations.length > 0 && error.code === 'invalid') return 'Resource is not valid';
  if (error instanceof ApiError || !INSIDE.has(error.code)) return error.message;
  return error.code === 'internal' || error.code === 'config'
    ? 'Internal Server Error'
    : 'the store cannot be used now; try again';
}

function body(
  status: number,
  title: string,
  sentence: string,
  { violations = [], missing }: Partial<Pick<MeridianError, 'violations' | 'missing'>> = {},
): ErrorBody {
  const detail = cut(sentence, MAX_DETAIL);
  const parameters = violations.length > 0 && {
    invalid_parameters: violations,
    causes: violations.map(({ field, reason }) => ({ field, message: reason })),
  };
  return {
    type: '/std-errors',
    status,
    title,
    detail,
    ...parameters,
    details: detail,
    ...(missing !== undefined && { missing }),
  };
}
