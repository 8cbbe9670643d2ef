// Fastify without its compilers of JSON schemas: no route has a schema, and the compilers are a hundred modules that each start loads.
import type { FastifyServerOptions } from 'fastify';

function refuse(): never {
  throw new Error('a route of Fastify has a JSON schema, and there is no compiler for it');
}

/** The option `schemaController` of Fastify. A route with a schema is an error at the start. */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: { buildValidator: () => refuse, buildSerializer: () => refuse },
};
