// The caller for whom the API does work whose cost the caller decides. Callers take turns, and the work ends when its caller
// leaves.
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './error-body.ts';

/** @property caller the owner of the work: a user with a token, else an address @property left aborts when the caller has left */
export type CallerWork = { readonly caller: string; readonly left: AbortSignal };

/** The status of nginx for a caller that closed the connection before the answer. Only metrics see it. */
const CLIENT_CLOSED_REQUEST = 499;

declare module 'fastify' {
  interface FastifyRequest {
    /** The answer to the request. It closes with the connection of the caller. It is null for requests without a route. */
    answer: ServerResponse | null;
  }
}

/** Lets `callerWork` know the callers of an API. */
export function followConnections(app: FastifyInstance): void {
  app.decorateRequest('answer', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.answer = reply.raw;
    done();
  });
}

const known = new WeakMap<FastifyRequest, CallerWork>();

/** The work of a request, the same for every call with it. */
export function callerWork(request: FastifyRequest): CallerWork {
  let work = known.get(request);
  if (work === undefined) known.set(request, (work = { caller: callerOf(request), left: leftSignal(request.answer) }));
  return work;
}

/** One user may have several tokens. Callers without a token are told apart by their addresses. */
function callerOf({ caller, socket }: FastifyRequest): string {
  // It is null for requests without a route.
  const user = caller?.user.name ?? '';
  return caller?.token === undefined ? `${user} ${socket.remoteAddress ?? ''}` : user;
}

function leftSignal(answer: ServerResponse | null): AbortSignal {
  const gone = new AbortController();
  answer?.once('close', () => {
    if (!answer.writableFinished) gone.abort(callerHasLeft());
  });
  return gone.signal;
}

function callerHasLeft(): ApiError {
  return new ApiError('unavailable', 'Client closed request', 'the caller has left', [], { status: CLIENT_CLOSED_REQUEST });
}
