// Failures as HTTP: the one place that maps the catalogue to status codes and the body that Kuma's clients read (rest-api 2.6).
import { MeridianError, type ErrorCode, type Violation } from '../base/errors.ts';

export type ErrorBody = {
  readonly type: '/std-errors';
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly invalid_parameters?: readonly Violation[];
  /** The next two mirror `detail` and `invalid_parameters` for old clients. */
  readonly details: string;
  readonly causes?: readonly { readonly field: string; readonly message: string }[];
};

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

/** An error with the title of the operation that failed. */
export class ApiError extends MeridianError {
  readonly title: string;

  constructor(code: ErrorCode, title: string, detail: string, violations: readonly Violation[] = []) {
    super(code, detail, { violations });
    this.title = title;
  }
}

/** The body for anything thrown. What is not of the catalogue says nothing of the inside. */
export function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof MeridianError)) return body(500, 'Internal Server Error', 'Internal Server Error', []);
  const [status, title] = STATUS[error.code];
  const detail = error.violations.length > 0 && error.code === 'invalid' ? 'Resource is not valid' : error.message;
  return body(status, error instanceof ApiError ? error.title : title, detail, error.violations);
}

function body(status: number, title: string, detail: string, violations: readonly Violation[]): ErrorBody {
  const parameters = violations.length > 0 && {
    invalid_parameters: violations,
    causes: violations.map(({ field, reason }) => ({ field, message: reason })),
  };
  return { type: '/std-errors', status, title, detail, details: detail, ...parameters };
}
