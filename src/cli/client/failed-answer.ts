// Converts the error answer to a request, or the end of a watch, to a MeridianError with a remedy.
import type { Answer } from '../../answers/answers.ts';
import { MeridianError, type ErrorCode } from '../../base/errors.ts';

const CODES: Record<number, ErrorCode> = {
  400: 'invalid',
  401: 'forbidden',
  403: 'forbidden',
  404: 'not_found',
  405: 'read_only',
  409: 'conflict',
  413: 'too_large',
  429: 'unavailable',
  503: 'unavailable',
};

const TOKEN_HINT =
  'Send a token with --token-file FILE, keep one in `meridian config control-planes add`, or call from the machine of the control plane.';

/** Statuses of a server that is no control plane. A proxy in front of one answers others, such as 502, with a text of its own. */
const STRANGE = new Set([400, 401, 403, 404, 405, 415, 421, 426]);

/**
 * @param body the JSON body (rest-api 2.6), or undefined if it is not JSON
 * @param text the body as text
 * @param caller whether the request had a token or a client certificate
 */
export function failedAnswer(status: number, body: unknown, text: string, caller: { isKnown: boolean }): MeridianError {
  const answer = (body ?? {}) as Partial<Answer<'Error'>>;
  const { title = '', detail = text.trim().slice(0, 500), invalid_parameters: violations = [] } = answer;
  if (title === '' && status === 404) return notControlPlane('is not a control plane, or one without this path');
  if (title === '' && body === undefined && STRANGE.has(status))
    return notControlPlane(`answers with status ${String(status)} and not as a control plane`);
  const said = violations.length > 0 ? title : [title, detail].filter(Boolean).join(': ');
  const message = said === '' ? `the answer has status ${String(status)}` : said;
  // A violation names what to correct, and a caller with a token has one to send.
  const wantsToken = (status === 401 || status === 403) && violations.length === 0 && !caller.isKnown;
  return new MeridianError(CODES[status] ?? 'internal', message + (wantsToken ? `\n${TOKEN_HINT}` : ''), {
    violations,
    missing: answer.missing,
  });
}

/** The error for an answer that no REST API of a control plane gives. @param what what is known about the server */
export function notControlPlane(what = 'is not a control plane'): MeridianError {
  return new MeridianError(
    'invalid',
    `the server at this address ${what}; is it the port of the REST API (5681, or 5682 with https)?`,
  );
}
