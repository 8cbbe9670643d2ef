// Answers a thrown error and, if a person must act, logs it. The log contains paths, never queries, headers or bodies.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { accepts } from './accept.ts';
import { ApiError, errorBody } from './error-body.ts';
import { prettyJson } from './pretty-json.ts';
import type { Yaml } from './yaml.ts';
import { locate } from './yaml-body.ts';

const PROBLEM = 'application/problem+json';
/** The character limit of one path segment. */
export const MAX_PARAM_LENGTH = 1024;

type Tools = { readonly log: Logger; readonly yaml: Yaml };

export async function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, yaml }: Tools,
): Promise<void> {
  const known = fastifyFailure(error, request);
  const told = errorBody(known);
  const { invalid_parameters } = told;
  const body =
    invalid_parameters === undefined ? told : { ...told, invalid_parameters: await locate(invalid_parameters, request, yaml) };
  const about = { method: request.method, path: pathOf(request.url), requestId: request.id };
  // The health watch of the store logs an unreachable database once.
  if (body.status === 503) log.debug({ ...about, reason: messageOf(error) }, 'a request failed');
  else if (body.status >= 500) log.error({ ...about, err: error }, 'a request failed');
  if (body.status === 405) reply.header('allow', request.method === 'GET' ? '' : 'GET');
  if (error instanceof ApiError && error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  const isProblem = accepts(request.headers.accept, PROBLEM, { named: true });
  await reply
    .code(body.status)
    .type(isProblem ? PROBLEM : 'application/json')
    .send(body);
}

/** Answers a path that the router refuses. Hooks do not run for it, so the whole answer is made here. */
export async function sendRoutingError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  tools: Tools,
): Promise<void> {
  reply.header('x-request-id', request.id);
  reply.serializer(prettyJson);
  await sendError(routingFailure(error), request, reply, tools);
}

function routingFailure(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (code === 'FST_ERR_BAD_URL')
    return new ApiError(
      'bad_request',
      'Bad Request',
      'the path is not valid: every % must begin the UTF-8 code of a character, as in %20',
    );
  if (code !== 'FST_ERR_MAX_PARAM_LENGTH') return error;
  const detail = `a name in the path is longer than ${String(MAX_PARAM_LENGTH)} characters`;
  return new ApiError('bad_request', 'Bad Request', detail, [], { status: 414 });
}

/** The path without its query. */
export function pathOf(url: string): string {
  return url.split('?')[0] ?? url;
}

/** Failures of fastify before a handler runs, as errors of the catalogue. */
function fastifyFailure(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof MeridianError || !(error instanceof Error)) return error;
  const { statusCode } = error as Error & { statusCode?: number };
  if (statusCode === 413) {
    return new MeridianError('too_large', `the body is larger than ${String(request.routeOptions.bodyLimit)} bytes`);
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new MeridianError('bad_request', error.message);
  return error;
}
