// The text of every JSON answer (rest-api 1). An answer with long lists is printed in the turns of its caller.
import type { FastifyInstance } from 'fastify';
import type { FairQueue } from '../base/fair-queue.ts';
import { isLarge, printSteps } from '../base/print-json.ts';
import { prettyJson } from './pretty-json.ts';
import { callerWork } from './caller-work.ts';

/** An answer that was printed. */
class Printed {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export function printAnswers(app: FastifyInstance, queue: FairQueue): void {
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    // Most answers are small: they need no promise.
    if (!isLarge(payload)) return void done(null, payload);
    const { caller, left } = callerWork(request);
    queue.run(caller, printSteps(payload, '\n'), left).then(
      (bytes) => done(null, new Printed(bytes)),
      (error: unknown) => done(error as Error),
    );
  });
  const serialize = (payload: unknown): string | Buffer => (payload instanceof Printed ? payload.bytes : prettyJson(payload));
  // Fastify sends bytes as they are, but its type has text alone.
  app.setReplySerializer(serialize as (payload: unknown) => string);
}
