// Bodies in YAML, for the routes that take them, and the lines of what is wrong in them. Other code sees JSON alone.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Violation } from '../base/errors.ts';
import { ApiError } from './error-body.ts';
import { parseJsonBody } from './json-body.ts';
import { YAML, type Yaml } from './yaml.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came, if it was YAML. */
    yamlText: string | null;
  }
}

/** @property line in the body, if it was YAML */
export type LocatedViolation = Violation & { readonly line?: number; readonly column?: number };

export function readYamlBodies(app: FastifyInstance, yaml: Yaml): void {
  app.decorateRequest('yamlText', null);
  app.addHook('onClose', async () => await yaml.stop());
  app.addContentTypeParser(YAML, { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (!isUtf8(bytes)) throw new ApiError('bad_request', 'Bad Request', 'the body is not UTF-8');
    const text = bytes.toString();
    request.yamlText = text;
    const documents = await yaml.read(text);
    const { rawBody = false } = request.routeOptions.config;
    if (!rawBody) return parseJsonBody(`[${documents.join(',')}]`);
    const [only = '', second] = documents;
    if (second !== undefined)
      throw new ApiError('bad_request', 'Bad Request', 'the body must be one document; POST /_apply takes several');
    return only;
  });
}

/** The violations with the lines of their fields. */
export async function locate(
  violations: readonly Violation[],
  request: FastifyRequest,
  yaml: Yaml,
): Promise<readonly LocatedViolation[]> {
  // Null without a body in YAML; undefined where no route was found.
  const text: unknown = request.yamlText;
  if (typeof text !== 'string' || violations.length === 0 || violations.some((one) => 'line' in one)) return violations;
  const fields = violations.map(({ field }) => {
    const [place, index] = /^documents\[(\d+)\]\.?/.exec(field) ?? ['', '0'];
    return { index: Number(index), field: field.slice(place.length) };
  });
  const positions = await yaml.locate(text, fields);
  return violations.map((one, at) => ({ ...one, ...positions[at] }));
}
