// Every inspect endpoint declares itself: the OpenAPI document has it with its group and its summary.
import { Registry } from 'prom-client';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createLogger } from '../../src/base/log.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

it('OpenAPI describes every registered route', async () => {
  const registered: string[] = [];
  const app = createApi({
    ...{ store: new TinyStore(), mode: 'global', zone: null, federated: false, readOnly: false, config: {} },
    ...{ product: 'Meridian', productVersion: '0-preview', instanceId: 'i', clusterId: async () => 'c', metrics: new Registry() },
    ...{
      clock: systemClock,
      log: createLogger('silent'),
      proxyAdmin: async () => new Uint8Array(),
      meshDefaults: async () => [],
    },
    addRoutes: (server, context) => {
      let isOurs = true;
      server.addHook('onRoute', ({ method, url }) => {
        if (isOurs && method === 'GET') registered.push(url.replaceAll(/:(\w+)/g, '{$1}'));
      });
      addPolicyInspect(globalSendRules())(server, context);
      isOurs = false;
    },
  });
  type Paths = Record<string, { get?: { summary?: string; tags?: string[] } }>;
  const { paths } = (await app.inject('/openapi.json')).json<{ paths: Paths }>();
  await app.close();
  expect(registered.length).toBeGreaterThan(90);
  for (const path of registered)
    expect(paths[path]?.get, path).toMatchObject({ tags: ['Inspect'], summary: expect.stringMatching(/^[A-Z]/) as string });
});

it('the server refuses an undeclared route', () => {
  const addRoutes = (server: FastifyInstance): unknown => server.get('/secret-route', async () => ({}));
  expect(() => testApi(new TinyStore(), 'global', { addRoutes })).toThrow('the route GET /secret-route does not declare itself');
});
