// The OpenAPI document and the running server: the same routes, schemas that real answers match, and only documented answers to
// random requests.
import { fc } from '../support/property.ts';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerSchemas } from '../../src/answers/answers.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { tokenRoutes } from '../../src/token/token-routes.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { testApi, type Place } from './test-api.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

type Parameter = { name: string; in: 'path' | 'query' | 'header'; schema: { enum?: string[] } };
type Operation = {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: object;
  responses: Record<string, { content?: object; $ref?: string }>;
};
type Document = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
};

const PLACES = ['global', 'zone', 'alone'] as const;
let store: ResourceStore;
const apis = new Map<Place, FastifyInstance>();
let document: Document;
let operations: { readonly method: string; readonly path: string; readonly operation: Operation }[];

beforeAll(async () => {
  store = await openEmbeddedStore();
  const issuer = new TokenIssuer(new TokenSecrets({ store, federated: false }), () => new Date());
  const tokens = tokenRoutes(issuer, { user: true, zone: true, dataplane: true });
  for (const place of PLACES) {
    const app = testApi(store, place, { addRoutes: addPolicyInspect(globalSendRules()), tokens });
    await app.ready();
    apis.set(place, app);
  }
  document = (await apiOf('global').inject('/openapi.json')).json<Document>();
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  for (const [url, body] of [
    ['/meshes/default', { type: 'Mesh', name: 'default' }],
    ['/zones/east', { type: 'Zone', name: 'east' }],
  ] as const)
    await apiOf('global').inject({ method: 'PUT', url, payload: body });
}, 120_000);

afterAll(async () => {
  for (const app of apis.values()) await app.close();
  await store.close();
});

function apiOf(place: Place): FastifyInstance {
  const app = apis.get(place);
  if (app === undefined) throw new Error(`no control plane ${place}`);
  return app;
}

describe('the document', () => {
  it('lists the operations of the server, each once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { method, path } of operations) {
      const url = path.replaceAll(/\{(\w+)\}/g, ':$1').replace(/:path$/, '*');
      expect(apiOf('global').hasRoute({ method: method.toUpperCase(), url }), `${method} ${path}`).toBe(true);
    }
    for (const path of [
      '/',
      '/tokens/zone',
      '/_apply',
      '/meshes/{mesh}/meshtimeouts/{name}',
      '/meshes/{mesh}/dataplanes/{name}/_rules',
    ])
      expect(document.paths[path], path).toBeDefined();
  });

  it('gives each operation a summary and a tag', () => {
    for (const { method, path, operation } of operations) {
      expect(operation.summary, `${method} ${path}`).toMatch(/^[A-Z]/);
      expect(operation.tags, `${method} ${path}`).toEqual([expect.stringMatching(/^[A-Z]/)]);
    }
  });

  it('has every referenced schema', () => {
    const text = JSON.stringify(document);
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components.schemas, name).toHaveProperty(name);
    expect(document.openapi).toBe('3.1.0');
  });

  it('has the schema of a spec', () => {
    expect(JSON.stringify(document.components.schemas['MeshTimeout'])).toContain('requestTimeout');
  });
});

const text = fc.oneof(
  fc.constantFrom('default', 'east', 'a', '', '__proto__', 'constructor', '%', '..', 'A', 'a'.repeat(300), 'kri_mt_default___a_'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const plainText = text
  .map((given) => given.replaceAll(/[/?#\0]/g, 'x').toWellFormed())
  .filter((given) => given !== '' && !/^\.+$/.test(given));
const json = fc.oneof(
  { weight: 3, arbitrary: fc.json({ maxDepth: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '[]', 'null', '"x"', `${'['.repeat(100)}${']'.repeat(100)}`, '{"__proto__":{"a":1}}'),
  },
);
const value = (parameter: Parameter): fc.Arbitrary<string> =>
  fc.oneof(text, fc.constantFrom('true', 'false', '1', '-1', '0', '99999999999999999999', ...(parameter.schema.enum ?? [])));

/** JSON lines are not one document. */
const isJson = (type: unknown): boolean => /[/+]json$/.test(String(type));
const ACCEPTED = ['application/json', 'application/problem+json', 'text/plain', 'image/png'];

/** Mostly one that is there, or that a body has. */
const nameFor = ({ name }: Parameter): fc.Arbitrary<string> =>
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(name === 'mesh' ? 'default' : 'a') }, { weight: 1, arbitrary: plainText });

/** A body that is right but for what is thrown in. */
const resource = (type: string, name: string): fc.Arbitrary<string> =>
  fc
    .record({
      labels: fc.oneof(
        fc.constant({}),
        fc.constant({ 'kuma.io/origin': 'zone' }),
        fc.dictionary(plainText, fc.oneof(plainText, fc.integer()), { maxKeys: 2 }),
      ),
      spec: fc.oneof(fc.object({ maxDepth: 3 }), fc.constant({ to: [{ targetRef: { kind: 'Mesh' }, default: {} }] })),
      networking: fc.oneof(fc.constant({ address: '10.0.0.1', inbound: [{ port: 80 }] }), fc.object({ maxDepth: 2 })),
    })
    .map((rest) => JSON.stringify({ type, mesh: 'default', name, data: 'YQ==', ...rest }));

/** An answer that has a schema of its own holds to it. */
function requireAnswer({ responses }: Operation, body: unknown): void {
  const declared = JSON.stringify(responses['200']);
  const [, name = ''] = /"#\/components\/schemas\/(\w+)"/.exec(declared) ?? [];
  const schema = Object.entries(answerSchemas).find(([known]) => known === name && !declared.includes('anyOf'))?.[1];
  const all = declared.includes('"items":{"$ref"') ? (body as { items: unknown[] }).items : [body];
  if (schema !== undefined) for (const one of all) schema.parse(one);
}

describe('the whole surface', () => {
  it('answers random requests as documented', async () => {
    const seen = new Map<number, number>();
    const asked = fc.nat().chain((index) => {
      const { method, path, operation } = operations[index % operations.length] as (typeof operations)[number];
      const parameters = operation.parameters ?? [];
      const type = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(operation.requestBody ?? {}))?.[1] ?? '';
      return fc.record({
        place: fc.constantFrom(...PLACES),
        method: fc.constant(method.toUpperCase()),
        operation: fc.constant(operation),
        template: fc.constant(path),
        names: fc.tuple(...parameters.filter((one) => one.in === 'path').map((one) => nameFor(one))),
        query: fc.tuple(
          ...parameters
            .filter((one) => one.in === 'query' && one.name !== 'watch')
            .map((one) =>
              fc.option(
                value(one).map((given) => [one.name.replace('{key}', 'a'), given] as const),
                { nil: null, freq: 2 },
              ),
            ),
        ),
        ifMatch: fc.option(plainText, { nil: null, freq: 3 }),
        accept: fc.oneof({ weight: 12, arbitrary: fc.constant('*/*') }, { weight: 1, arbitrary: fc.constantFrom(...ACCEPTED) }),
        host: fc.constantFrom('localhost', 'cp.example'),
        body: operation.requestBody === undefined ? fc.constant(null) : fc.oneof(json, resource(type, 'a')),
      });
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ place, method, operation, template, names, query, ifMatch, accept, host, body }) => {
        let at = 0;
        const path = template.replaceAll(/\{\w+\}/g, () => encodeURIComponent(names[at++] ?? 'a'));
        const search = new URLSearchParams(
          query.filter((one) => one !== null).map(([key, given]): [string, string] => [key, given.toWellFormed()]),
        );
        const answer = await apiOf(place).inject({
          method: method,
          url: `${path}?${search.toString()}`,
          headers: {
            ...{ host, accept },
            ...(ifMatch !== null && { 'if-match': encodeURIComponent(ifMatch) }),
            ...(body !== null && { 'content-type': 'application/json' }),
          },
          ...(body !== null && { payload: body.toWellFormed() }),
        });
        const { statusCode } = answer;
        seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
        expect(statusCode, answer.body).not.toBe(500);
        expect(statusCode, answer.body).not.toBe(503);
        expect(Object.keys(operation.responses).map(Number), `${String(statusCode)} ${answer.body.slice(0, 300)}`).toContain(
          statusCode,
        );
        if (statusCode === 200 && isJson(answer.headers['content-type'])) requireAnswer(operation, answer.json());
        if (statusCode >= 400 && isJson(answer.headers['content-type']))
          expect(answer.json()).toMatchObject({
            type: '/std-errors',
            status: statusCode,
            title: expect.stringMatching(/./) as string,
          });
        expect(({} as { a?: unknown }).a).toBeUndefined();
      }),
      { numRuns: 600, plugins: [fc.interruptAfterTimeLimit(40_000)] },
    );
    expect(seen.get(200)).toBeGreaterThan(0);
  }, 90_000);
});
