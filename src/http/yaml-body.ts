// Bodies in YAML, for the routes that take them, and the lines of what is wrong in them. Other code sees JSON alone.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FairQueue } from '../base/fair-queue.ts';
import { mapInSteps } from '../base/steps.ts';
import type { Violation } from '../base/errors.ts';
import { ApiError } from './error-body.ts';
import { parseJsonBody } from './json-body.ts';
import { callerWork } from './caller-work.ts';
import { YAML, type Yaml } from './yaml.ts';

/** The limit of the JSON that the YAML of one resource may become, in bytes, as for a body in JSON. */
const MAX_JSON_BYTES = 1024 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came, if it was YAML. */
    yamlText: string | null;
  }
}

export function readYamlBodies(app: FastifyInstance, yaml: Yaml, queue: FairQueue): void {
  app.decorateRequest('yamlText', null);
  app.addContentTypeParser(YAML, { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (!isUtf8(bytes)) throw new ApiError('bad_request', 'Bad Request', 'the body is not UTF-8');
    const text = bytes.toString();
    request.yamlText = text;
    const work = callerWork(request);
    const documents = await yaml.read(text, work);
    const { bodyLimit, config } = request.routeOptions;
    requireSize(documents, Math.max(bodyLimit, MAX_JSON_BYTES));
    const { rawBody = false } = config;
    if (!rawBody) return await queue.run(work.caller, mapInSteps(documents, parseJsonBody), work.left);
    const [only = '', second] = documents;
    if (second !== undefined)
      throw new ApiError('bad_request', 'Bad Request', 'the body must be one document; POST /_apply takes several');
    return only;
  });
}

/** An alias repeats what it names: a short text may become a long document. @throws ApiError 413 */
function requireSize(documents: readonly string[], most: number): void {
  if (documents.reduce((sum, one) => sum + Buffer.byteLength(one), 0) <= most) return;
  const detail = `the body is larger than ${String(most)} bytes when its aliases are written out`;
  throw new ApiError('too_large', 'Payload too large', detail);
}

/** The violations with the lines of their fields. */
export async function locate(
  violations: readonly Violation[],
  request: FastifyRequest,
  yaml: Yaml,
): Promise<readonly Violation[]> {
  // It is null without a body in YAML; undefined where no route was found.
  const text: unknown = request.yamlText;
  if (typeof text !== 'string' || violations.length === 0 || violations.some((one) => 'line' in one)) return violations;
  const fields = violations.map(({ field }) => {
    const [place, index] = /^documents\[(\d+)\]\.?/.exec(field) ?? ['', '0'];
    return { index: Number(index), field: field.slice(place.length) };
  });
  const positions = await yaml.locate(text, fields, callerWork(request));
  return violations.map((one, at) => ({ ...one, ...positions[at] }));
}
