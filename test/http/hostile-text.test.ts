// Text that PostgreSQL cannot store (U+0000, lone surrogates) is a 4xx in every place, never a 500.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { tokenRoutes } from '../../src/token/token-routes.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { testApi } from '../api/test-api.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

let store: ResourceStore;
let app: FastifyInstance;

beforeAll(async () => {
  store = await openEmbeddedStore();
  const issuer = new TokenIssuer(new TokenSecrets({ store, federated: false }), () => new Date());
  const tokens = tokenRoutes(issuer, { user: true, zone: true, dataplane: true });
  app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()), tokens });
  await app.inject({ method: 'PUT', url: '/meshes/default', payload: { type: 'Mesh', name: 'default' } });
}, 120_000);

afterAll(async () => {
  await app.close();
  await store.close();
});

type Answer = { status: number; body: { title?: string; invalid_parameters?: { field: string }[] } };

async function call(method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: string): Promise<Answer> {
  const headers = payload === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await app.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: answer.json() };
}

describe('bytes that are not UTF-8', () => {
  it.each([
    ['PUT', '/meshes/default/meshtimeouts/t'],
    ['POST', '/_apply'],
  ] as const)('are refused, not replaced: %s %s', async (method, url) => {
    const payload = Buffer.from('[{"type":"Mesh","name":"m\xff"}]', 'latin1');
    const answer = await app.inject({ method, url, payload, headers: { 'content-type': 'application/json' } });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { title: 'Bad Request', detail: /UTF-8/ }]);
  });
});

describe('U+0000', () => {
  it.each([
    ['GET', '/meshes/%00', 'Could not retrieve a resource'],
    ['GET', '/meshes/a%00/meshtimeouts', 'Failed to retrieve Mesh'],
    ['GET', '/meshes/default/meshtimeouts/a%00b', 'Could not retrieve a resource'],
    ['GET', '/meshes/default/dataplanes/a%00b/_rules', 'Could not retrieve a resource'],
    ['GET', '/zones/%00/_overview', 'Could not retrieve a resource'],
    ['DELETE', '/meshes/default/meshtimeouts/a%00b', 'Could not delete a resource'],
    ['DELETE', '/meshes/a%00/meshtimeouts/b', 'Failed to retrieve Mesh'],
  ] as const)('in the name of a requested resource gives 404: %s %s', async (method, url, title) => {
    expect(await call(method, url)).toMatchObject({ status: 404, body: { title } });
  });

  it.each([
    ['/_kri/kri_mt_default___a%00b_', 'kri'],
    ['/meshes/default/dataplanes/d/_outbounds/kri_msvc_default___a%00_/_policies', 'kri'],
    ['/meshes?name=%00', 'name'],
    ['/meshes?name=a&name=%00', 'name'],
    ['/meshes?filter[labels.a]=%00', 'filter[labels.a]'],
    ['/meshes?filter%5Blabels.a%00%5D=b', 'filter[labels.a\u0000]'],
    ['/dataplanes?tag=a:%00', 'tag'],
    ['/dataplanes/_overview?name=%00', 'name'],
    ['/mesh-insights?name=%00', 'name'],
  ])('elsewhere in the URL is refused with the field: %s', async (url, field) => {
    expect(await call('GET', url)).toMatchObject({ status: 400, body: { invalid_parameters: [{ field }] } });
  });

  it('in the URL of a write is refused with the field', async () => {
    const payload = JSON.stringify({ type: 'Mesh', name: 'a' });
    expect(await call('PUT', '/meshes/a%00', payload)).toMatchObject({
      status: 400,
      body: { invalid_parameters: [{ field: 'name' }] },
    });
    expect(await call('PUT', '/meshes/a%00/meshtimeouts/b', '{}')).toMatchObject({
      ...{ status: 400, body: { invalid_parameters: [{ field: 'mesh' }] } },
    });
  });

  it('in a doubly escaped form is an ordinary name', async () => {
    expect(await call('GET', '/meshes/a%2500b')).toMatchObject({ status: 404 });
    expect(await call('GET', '/meshes?name=a%2500b')).toMatchObject({ status: 200 });
  });
});

describe('a body', () => {
  const document = (mesh: string): object => ({ type: 'MeshTimeout', mesh, name: 't', spec: {} });

  it.each(['a\u0000', 'A b', ''])('of many documents cannot name the mesh %j', async (mesh) => {
    const body = JSON.stringify([document('default'), document(mesh)]);
    const answer = await call('POST', '/_apply', body);
    expect(answer.status).toBe(400);
    expect(answer.body.invalid_parameters?.[0]?.field).toMatch(/^(documents)?\[1\]\.mesh$/);
  });

  it.each(['a\u0000', 'A b', '../x'])('that asks for a token cannot name the mesh %j', async (mesh) => {
    expect(await call('POST', '/tokens/dataplane', JSON.stringify({ mesh }))).toMatchObject({
      ...{ status: 400, body: { invalid_parameters: [{ field: 'mesh' }] } },
    });
  });

  it.each([
    ['{"type":"Mesh","name":"u","labels":{"a":"x\\u0000"}}', 'labels.a'],
    ['{"type":"Mesh","name":"u","labels":{"a":"x\\ud800"}}', 'labels.a'],
    ['{"type":"Mesh","name":"u","list":[1,["\\udc00"]]}', 'list[1][0]'],
    ['{"type":"Mesh","name":"u","a\\u0000":1}', ''],
    ['{"type":"Mesh","name":"u","a":{"b\\udfff":1}}', 'a'],
  ])('cannot have invalid text: %s', async (payload, field) => {
    const { status, body } = await call('PUT', '/meshes/u', payload);
    expect([status, body.title, body.invalid_parameters?.[0]?.field]).toEqual([400, 'Bad Request', field]);
  });

  it('can have every other character, escaped or not', async () => {
    const payload = '{"type":"Mesh","name":"whole","skipCreatingInitialPolicies":["\\ud83d\\ude00 \\u00e9","😀"]}';
    expect((await call('PUT', '/meshes/whole', payload)).status).toBe(201);
  });
});
