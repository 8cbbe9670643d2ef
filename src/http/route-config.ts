// The declaration of a route: the option `config` of its registration. The HTTP conventions and the OpenAPI document read it. There
// is no other list of routes.
import type { JsonObject } from '../resource/types.ts';

export type RouteConfig = {
  /** One line about the route. */
  readonly summary: string;
  /** The group of the route. */
  readonly tag: string;
  readonly query?: readonly (keyof typeof parameters)[];
  /** Schema of the body. */
  readonly body?: JsonObject;
  /** Schema of the answer 200, and of 201 if the route has it. The default is any object. */
  readonly answer?: JsonObject;
  readonly created?: JsonObject;
  /** Media types of its answers besides JSON. */
  readonly produces?: readonly string[];
  /** A GET without a body answers 304 if `If-None-Match` names what the caller has. */
  readonly unchanged?: boolean;
  /** The body may be YAML: a document where the handler gets the body as text, else a list of documents. */
  readonly takesYaml?: boolean;
  /**
   * Whether private keys of its answer are shown. `admins`: to callers who may read Secrets. `own`: to everybody, because the caller has sent
   * them. `never` if left out.
   */
  readonly showsKeys?: 'admins' | 'own' | 'never';
  /** The handler gets the body as text. */
  readonly rawBody?: boolean;
};

declare module 'fastify' {
  // Fastify merges only interfaces.
  // oxlint-disable-next-line typescript/no-empty-object-type
  interface FastifyContextConfig extends Partial<RouteConfig> {}
}

const text: JsonObject = { type: 'string' };
const flag: JsonObject = { type: 'boolean' };

/** The parameters of queries and headers, by their name in declarations. */
export const parameters = {
  size: inQuery('size', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
  sizeOfZones: inQuery('size', { type: 'integer', minimum: 1, maximum: 100, default: 100 }),
  offset: inQuery('offset', { type: 'integer', minimum: 0, default: 0 }),
  name: inQuery('name', text, 'substring of the stored name'),
  label: inQuery('filter[labels.{key}]', text, 'exact value of a label; all that are given must hold'),
  tag: inQuery('tag', { type: 'array', items: text }, 'key:value, the value a substring'),
  gateway: inQuery('gateway', { enum: ['true', 'false', 'delegated'] }),
  format: inQuery('format', { enum: ['universal', 'k8s', 'kubernetes'] }),
  watch: inQuery('watch', flag, 'answer as server-sent events: put, delete, synced, error'),
  dryRun: inQuery('dryRun', flag, 'check and answer the difference; store nothing'),
  version: inQuery(
    'version',
    { type: 'integer', minimum: 0 },
    'the change that made this version of the row; the newest if left out',
  ),
  wait: inQuery('wait', { enum: ['zones'] }, 'answer when each connected zone that should have the change has acknowledged it'),
  timeout: inQuery('timeout', { type: 'string', default: '30s' }, 'a duration, at most 5m: the end of the wait'),
  before: inQuery('before', { type: 'integer', minimum: 1 }, 'only changes with a smaller number'),
  ids: inQuery('ids', text, 'numbers of changes, with a comma between them: at most 50'),
  topics: inQuery('topics', text, 'only these, with a comma between them: zones, lag, changes, problems, leader'),
  lastEventId: inQuery(
    'lastEventId',
    text,
    'the id of the last event, as the header Last-Event-ID: the stream continues after it',
  ),
  from: inQuery('from', { type: 'integer', minimum: 0 }, 'the number of the version to compare with'),
  zonesVersion: inQuery('zonesVersion', text, 'that of an earlier answer: `zones` is left out if the zones are the same'),
  after: inQuery('after', { type: 'integer', minimum: 0 }, 'only versions with a larger id'),
  shadow: inQuery('shadow', flag, 'policies with the label kuma.io/effect: shadow have their effect'),
  include: inQuery('include', { enum: ['diff'] }, 'also what shadow policies change, as a JSON Patch'),
  ifMatch: {
    ...inQuery('If-Match', text, 'the ETag of an earlier answer, or a version alone, such as "3"; another one is a 409'),
    in: 'header',
  },
  ifNoneMatch: { ...inQuery('If-None-Match', { enum: ['*'] }, 'the resource must not exist; else a 409'), in: 'header' },
} as const;

export const PAGE = ['size', 'offset', 'name', 'label'] as const;
/** A page of items that are no resources, and have a name alone. */
export const NAMED_PAGE = ['size', 'offset', 'name'] as const;

/** The declaration of a route, as its options. */
export function about(tag: string, summary: string, more: Partial<RouteConfig> = {}): { readonly config: RouteConfig } {
  return { config: { tag, summary, ...more } };
}

/** A reference to a schema of the OpenAPI document: that of a resource type, or one of `answerSchemas`. */
export function component(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schema of a page of such a component. */
export function pageOf(name: string): JsonObject {
  const properties = {
    total: { type: 'integer', minimum: 0 },
    items: { type: 'array', items: component(name) },
    next: { type: ['string', 'null'], format: 'uri' },
  };
  return { type: 'object', required: ['total', 'items', 'next'], properties };
}

function inQuery(name: string, schema: JsonObject, description?: string): JsonObject {
  return { name, in: 'query', ...(description !== undefined && { description }), schema };
}
