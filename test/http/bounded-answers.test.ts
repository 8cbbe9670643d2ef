// Bad input of the maximum size: the answer stays small, lists a hundred violations, and says that there are more.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_VIOLATIONS } from '../../src/base/violations.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

/** Bytes of an answer: a hundred violations twice, with room. */
const MAX_ANSWER = 128 * 1024;
const HEADERS = { 'content-type': 'application/json' };

let api: FastifyInstance;

beforeAll(async () => {
  const store = new TinyStore();
  await store.write({
    op: 'create',
    key: { type: 'Mesh', mesh: '', name: 'default' },
    labels: {},
    spec: {},
    status: {},
    owner: null,
  });
  api = testApi(store, 'global');
});
afterAll(() => api.close());

type Answer = { readonly invalid_parameters: readonly { readonly field: string; readonly reason: string }[] };

async function refused(method: 'PUT' | 'POST', url: string, payload: string): Promise<Answer['invalid_parameters']> {
  const { statusCode, body } = await api.inject({ method, url, headers: HEADERS, payload });
  expect(statusCode, body.slice(0, 1_000)).toBe(400);
  expect(body.length).toBeLessThan(MAX_ANSWER);
  const { invalid_parameters: found } = JSON.parse(body) as Answer;
  expect(found.length).toBeLessThanOrEqual(MAX_VIOLATIONS + 1);
  return found;
}

const list = (item: string, bytes: number): string => `[${`${item},`.repeat(Math.floor(bytes / (item.length + 1)))}${item}]`;
const timeout = (spec: string): string => `{"type":"MeshTimeout","mesh":"default","name":"t","spec":${spec}}`;
const MEBIBYTE = 1024 * 1024;

describe('an answer', () => {
  it.each(['', '?dryRun=true'])('to a policy with many violations lists a hundred of them (%s)', async (query) => {
    const found = await refused('PUT', `/meshes/default/meshtimeouts/t${query}`, timeout(`{"to":${list('1', MEBIBYTE - 200)}}`));
    expect(found.at(-1)?.reason).toMatch(/there may be more/);
    expect(new Set(found.map(({ field }) => field)).size).toBe(found.length);
  });

  it.each<[string, string, string, string]>([
    ['a policy', 'meshtimeouts', 'MeshTimeout', `"spec":{"to":${list('{}', MEBIBYTE - 200)}}`],
    ['a Dataplane', 'dataplanes', 'Dataplane', `"networking":{"address":"1.1.1.1","inbound":${list('{}', MEBIBYTE - 200)}}`],
    ['a protobuf type', 'dataplanes', 'Dataplane', `"networking":{"address":"1.1.1.1","inbound":${list('1', MEBIBYTE - 200)}}`],
    ['a route', 'httproutes', 'HTTPRoute', `"spec":{"parentRefs":[],"rules":${list('1', MEBIBYTE - 200)}}`],
    ['an unknown key', 'meshtimeouts', 'MeshTimeout', `"spec":{"${'k'.repeat(MEBIBYTE - 200)}":1}`],
    [
      'labels',
      'meshtimeouts',
      'MeshTimeout',
      `"labels":{${Array.from({ length: 60_000 }, (_, n) => `"?${String(n)}":"?"`).join()}},"spec":{}`,
    ],
    ['a label', 'meshtimeouts', 'MeshTimeout', `"labels":{"${'?'.repeat(MEBIBYTE - 200)}":"a"},"spec":{}`],
    ['the name of a type', 'meshtimeouts', 'x'.repeat(MEBIBYTE - 200), '"spec":{}'],
  ])('to %s with errors everywhere is small', async (_, path, type, rest) => {
    const place = path === 'dataplanes' ? testApi(new TinyStore(), 'alone') : api;
    const { body, statusCode } = await place.inject({
      method: 'PUT',
      url: `/meshes/default/${path}/t`,
      headers: HEADERS,
      payload: `{"type":"${type}","mesh":"default","name":"t",${rest}}`,
    });
    expect([200, 201, 400, 404]).toContain(statusCode);
    expect(body.length).toBeLessThan(MAX_ANSWER);
  });

  it('to many invalid documents lists a hundred violations, and later documents are not checked', async () => {
    const found = await refused('POST', '/_apply', list('1', MEBIBYTE / 8));
    expect(found).toHaveLength(MAX_VIOLATIONS + 1);
    const large = timeout(`{"to":${list('1', MEBIBYTE - 200)}}`);
    const documents = Array.from({ length: 31 }, (_, index) => large.replace('"t"', `"t${String(index)}"`));
    const inEach = await refused('POST', '/_apply', `[${documents.join()}]`);
    expect(inEach).toHaveLength(MAX_VIOLATIONS + 1);
    expect(inEach.every(({ field }) => field.startsWith('documents[0].spec.to['))).toBe(true);
  });

  it('to too many documents gives the limit of a request', async () => {
    const { statusCode, body } = await api.inject({
      method: 'POST',
      url: '/_apply',
      headers: HEADERS,
      payload: list('1', MEBIBYTE),
    });
    expect(statusCode).toBe(413);
    expect(JSON.parse(body)).toMatchObject({ detail: expect.stringContaining('at most 100000 resources') as string });
  });
});
