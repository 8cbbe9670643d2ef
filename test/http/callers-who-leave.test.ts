// The work for a caller who has left ends, and so does the connection's part in the queue.
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { ValueComparison } from '../../src/policy/value-changes.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const PROXIES = 60;
const RULES = 300;

let app: FastifyInstance;

const labelsOf = (name: string): Labels => ({
  ...{ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/mesh': 'shop', 'kuma.io/display-name': name, app: name },
});

beforeEach(async () => {
  const store = new TinyStore().withZones('east');
  const write = async (type: string, name: string, labels: Labels, spec: JsonObject): Promise<unknown> =>
    await store.write({ op: 'create', key: { type, mesh: type === 'Mesh' ? '' : 'shop', name }, labels, spec });
  await write('Mesh', 'shop', {}, {});
  const selector = { dataplaneLabels: { matchLabels: { app: 'cart-0' } } };
  await write('MeshService', 'cart', labelsOf('cart'), { selector, ports: [{ port: 80, name: 'main', appProtocol: 'http' }] });
  for (let at = 0; at < PROXIES; at += 1) {
    const name = `cart-${String(at)}`;
    await write('Dataplane', name, labelsOf(name), {
      networking: { address: '192.0.2.1', inbound: [{ port: 80, name: 'main' }] },
    });
    // A policy of its own, so that nothing of the proxies is the same.
    const conf = { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: `${String(at + 1)}s` } }] };
    await write('MeshTimeout', name, {}, { targetRef: { kind: 'Dataplane', labels: { app: name } }, ...conf });
  }
  const rules = Array.from({ length: RULES }, (_, at) => ({
    matches: [{ path: { type: 'PathPrefix', value: `/${String(at)}` } }],
    default: { backendRefs: [{ kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' }, port: 80 }] },
  }));
  const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };
  await write('MeshHTTPRoute', 'long', {}, { to: [{ targetRef, rules }] });
  app = testApi(store, 'global', { addRoutes: addPolicyInspect(globalSendRules()) });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.close();
});

const timeoutFor = (kind: string, more: JsonObject = {}): string =>
  JSON.stringify([
    {
      ...{ type: 'MeshTimeout', mesh: 'shop', name: 'slow' },
      spec: { targetRef: { kind, ...more }, to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '7s' } }] },
    },
  ]);

it('a preview ends when its caller leaves', async () => {
  const compared = vi.spyOn(ValueComparison.prototype, 'of');
  const { port } = app.server.address() as AddressInfo;
  const headers = { 'content-type': 'application/json' };
  const call = request({ port, method: 'POST', path: '/_preview', headers }, () => undefined);
  const gone = new Promise((resolve) => call.once('error', resolve));
  call.end(timeoutFor('Mesh'));
  await vi.waitFor(() => expect(compared.mock.calls.length).toBeGreaterThan(1));
  call.destroy();
  await gone;
  // The work of one caller runs in the order of its arrival: this comes after what is left of the other.
  const payload = timeoutFor('Dataplane', { labels: { app: 'cart-0' } });
  const { proxies } = (await app.inject({ method: 'POST', url: '/_preview', headers, payload })).json<{ proxies: JsonObject }>();
  expect(proxies).toMatchObject({ compared: 1, changed: 1 });
  expect(compared.mock.calls.length).toBeLessThan(PROXIES);
});

it('a caller has a bounded number of previews at once', async () => {
  const headers = { 'content-type': 'application/json' };
  const call = { method: 'POST', url: '/_preview', headers, payload: timeoutFor('Mesh') } as const;
  const answers = await Promise.all(Array.from({ length: 6 }, () => app.inject(call)));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 429, 429]);
  expect(answers.find(({ statusCode }) => statusCode === 429)?.headers['retry-after']).toBe('1');
});
