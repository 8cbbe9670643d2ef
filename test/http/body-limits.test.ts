// Every route limits the size of its body, and the answer names the limit.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultAccess, tokenAccess } from '../../src/http/access.ts';
import { tokenRoutes } from '../../src/token/token-routes.ts';
import { MAX_APPLY_BYTES } from '../../src/api/apply-routes.ts';
import { MAX_BODY_BYTES } from '../../src/http/body-size.ts';
import { SMALL_BODY_BYTES } from '../../src/http/http-server.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { MAX_PREVIEW_BYTES } from '../../src/inspect/preview-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi, type Place } from '../api/test-api.ts';

const token = () => Promise.resolve('token');
const tokens = tokenRoutes({ user: token, zone: token, dataplane: token }, { user: true, zone: true, dataplane: true });
const PLACES = ['global', 'zone', 'alone'] as const;
const METHODS = ['put', 'post', 'delete'];

let apis: Map<Place, FastifyInstance>;
beforeAll(() => {
  apis = new Map(
    PLACES.map((place) => [place, testApi(new TinyStore(), place, { addRoutes: addPolicyInspect(globalSendRules()), tokens })]),
  );
});
afterAll(async () => {
  for (const api of apis.values()) await api.close();
});

type Method = 'PUT' | 'POST' | 'DELETE';

async function send(place: Place, method: string, url: string, bytes: number, remoteAddress = '127.0.0.1') {
  const api = apis.get(place) as FastifyInstance;
  const payload = `"${'x'.repeat(bytes - 2)}"`;
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body } = await api.inject({ method: method.toUpperCase() as Method, url, headers, payload, remoteAddress });
  return { status: statusCode, body };
}

/** Every route of a place that may have a body, with names in the place of its parameters. */
async function routesOf(place: Place): Promise<{ method: string; url: string; isResource: boolean }[]> {
  const answer = await (apis.get(place) as FastifyInstance).inject('/openapi.json');
  const { paths } = answer.json<{ paths: Record<string, Record<string, unknown>> }>();
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
      method,
      url: path.replaceAll(/\{\w+\}/g, 'x'),
      isResource: method === 'put',
    })),
  );
}

describe.each(PLACES)('on %s', (place) => {
  it('a route without a resource accepts only a small body', async () => {
    const routes = (await routesOf(place)).filter(
      ({ url, isResource }) => !isResource && !['/_apply', '/_format', '/_preview'].includes(url),
    );
    expect(routes.map(({ method, url }) => `${method} ${url}`)).toEqual(
      expect.arrayContaining([
        'post /tokens/user',
        'post /tokens/zone',
        'post /tokens/dataplane',
        'delete /meshes/x',
        ...(place === 'global' ? ['post /zones/x/_adopt'] : []),
        ...(place === 'zone' ? ['post /_accept-global', 'post /meshes/x/meshidentities/x/_rotate'] : []),
      ]),
    );
    for (const { method, url } of routes) {
      const { status, body } = await send(place, method, url, SMALL_BODY_BYTES + 1);
      // What is not written here, or not on this side, is refused before its body is read.
      if ((status === 405 && url.endsWith('/_rollback')) || body.includes('Not on this side')) continue;
      expect([method, url, status]).toEqual([method, url, 413]);
      expect(body).toContain(`the body is larger than ${String(SMALL_BODY_BYTES)} bytes`);
      expect((await send(place, method, url, SMALL_BODY_BYTES)).status).not.toBe(413);
    }
  });

  it('a resource has at most one mebibyte', async () => {
    const puts = (await routesOf(place)).filter(({ isResource }) => isResource);
    expect(puts.length).toBeGreaterThan(20);
    const statuses = new Set<number>();
    for (const { method, url } of puts) statuses.add((await send(place, method, url, MAX_BODY_BYTES + 1)).status);
    // A type that is not written here is refused before its body is read.
    expect([...statuses].filter((status) => status !== 405)).toEqual([413]);
  });

  it.each([
    ['an apply', '/_apply', MAX_APPLY_BYTES],
    ['a preview', '/_preview', MAX_PREVIEW_BYTES],
  ])('%s over the limit is refused with the limit', async (_, url, limit) => {
    const { status, body } = await send(place, 'post', url, limit + 1);
    expect(status).toBe(413);
    expect(body).toContain(`the body is larger than ${String(limit)} bytes`);
  });
});

/** `POST /_format` writes nothing: everybody may call it. */
const FOR_ALL = '/_format';

it.each(PLACES)('a caller without any right is refused before its body is read: %s', async (place) => {
  const access = tokenAccess(
    { type: 'tokens', localhostIsAdmin: true },
    { user: async () => ({ ok: false, reason: 'is not looked at here' }) },
    { follow: () => () => undefined },
    { ...defaultAccess, resources: [] },
  );
  const api = testApi(new TinyStore(), place, { addRoutes: addPolicyInspect(globalSendRules()), tokens, access });
  try {
    const titles = new Set<string>();
    for (const { method, url } of (await routesOf(place)).filter((one) => one.url !== FOR_ALL)) {
      const headers = { 'content-type': 'application/json' };
      const call = { method: method.toUpperCase() as Method, url, headers, remoteAddress: '192.0.2.7' };
      const answer = await api.inject({ ...call, payload: '{ no JSON' });
      const { title } = answer.json<{ title: string }>();
      titles.add(title);
      expect(['Access Denied', 'Method not allowed', 'Not on this side'], `${method} ${url}`).toContain(title);
    }
    expect(titles).toContain('Access Denied');
  } finally {
    await api.close();
  }
});
