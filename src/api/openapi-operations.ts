// Building blocks of the OpenAPI document: parameters, answers, operations. Data with a few functions; openapi.ts puts them together.
import type { JsonObject } from '../resource/types.ts';
import { schemaRef } from './openapi-schemas.ts';

type Place = 'path' | 'query' | 'header';

function parameter(name: string, place: Place, schema: JsonObject, description?: string): JsonObject {
  return {
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    ...(description !== undefined && { description }),
    schema,
  };
}

const text: JsonObject = { type: 'string' };
const flag: JsonObject = { type: 'boolean' };

export const query = {
  size: parameter('size', 'query', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
  offset: parameter('offset', 'query', { type: 'integer', minimum: 0, default: 0 }),
  name: parameter('name', 'query', text, 'substring of the stored name'),
  label: parameter('filter[labels.{key}]', 'query', text, 'exact value of a label; all that are given must hold'),
  tag: parameter('tag', 'query', { type: 'array', items: text }, 'key:value, the value a substring'),
  gateway: parameter('gateway', 'query', { enum: ['true', 'false', 'delegated'] }),
  format: parameter('format', 'query', { enum: ['universal', 'k8s', 'kubernetes'] }),
  watch: parameter('watch', 'query', flag, 'answer as server-sent events: put, delete, synced, error'),
  dryRun: parameter('dryRun', 'query', flag, 'check and tell the difference; store nothing'),
  ifMatch: parameter('If-Match', 'header', text, 'the ETag of an earlier answer; another version is a 409'),
} as const;

export const pageParameters = [query.size, query.offset, query.name, query.label];

export type Operation = {
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly parameters?: readonly JsonObject[];
  readonly requestBody?: JsonObject;
  /** Schema of each answer that is no error. */
  readonly answers: Readonly<Record<string, JsonObject>>;
  /** Media types of the answer besides JSON. */
  readonly media?: readonly string[];
  readonly errors: readonly number[];
};

/** Every operation can be answered so. */
const ALWAYS = [400, 401, 406, 429, 500, 503] as const;
const PLAIN = new Set([406, 415]);

export function operation({
  id,
  summary,
  tag,
  parameters = [],
  requestBody,
  answers,
  media = [],
  errors,
}: Operation): JsonObject {
  const content = (schema: JsonObject): JsonObject => ({
    'application/json': { schema },
    ...Object.fromEntries(media.map((type) => [type, { schema: text }])),
  });
  const good = Object.entries(answers).map(
    ([status, schema]) => [status, { description: 'as asked', content: content(schema) }] as const,
  );
  const bad = [...new Set([...ALWAYS, ...errors])].map((status) => [String(status), errorAnswer(status)] as const);
  return {
    operationId: id,
    summary,
    tags: [tag],
    ...(parameters.length > 0 && { parameters: [...parameters] }),
    ...(requestBody !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: requestBody } } },
    }),
    responses: Object.fromEntries([...good, ...bad]),
  };
}

function errorAnswer(status: number): JsonObject {
  return { $ref: `#/components/responses/${PLAIN.has(status) ? 'Text' : 'Error'}` };
}

/** Path parameters of `/meshes/{mesh}/x/{name}`. */
export function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter(name, 'path', text));
}

export const responses: JsonObject = {
  Error: {
    description: 'what went wrong, field by field where there are fields',
    content: { 'application/json': { schema: schemaRef('Error') }, 'application/problem+json': { schema: schemaRef('Error') } },
  },
  Text: { description: 'one line of text', content: { 'text/plain': { schema: text } } },
};
