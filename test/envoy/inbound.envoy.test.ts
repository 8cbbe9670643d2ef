// What MeshFaultInjection, MeshRateLimit, MeshTimeout and MeshCircuitBreaker do to requests that come to a real Envoy.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { countBy, expectShares } from './shares.ts';

let mesh: EnvoyMesh;
let application: Application;
let proxy: Proxy;
let http: number;
let tcp: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('inbound');
  application = await mesh.application('cart', 'http');
  const { port: servicePort } = await mesh.application('db', 'tcp');
  [http, tcp] = [await freePort(), await freePort()];
  proxy = await mesh.proxy('cart', {
    labels: { app: 'cart' },
    inbound: [
      { name: 'http', port: http, servicePort: application.port, protocol: 'http' },
      { name: 'tcp', port: tcp, servicePort, protocol: 'tcp' },
    ],
  });
});
afterAll(() => mesh.close());

/** A policy for one inbound that goes with the test. */
async function inbound(sectionName: string, type: string, conf: JsonObject): Promise<void> {
  const targetRef = { kind: 'Dataplane', labels: { app: 'cart' }, sectionName };
  await mesh.policy(type, `${type.toLowerCase()}-${sectionName}`, { targetRef, rules: [{ default: conf }] });
}
const statuses = async (count: number): Promise<ReadonlyMap<string, number>> =>
  countBy(await mesh.many(count, http), ({ status }) => String(status));

describe('a MeshFaultInjection', () => {
  it('answers instead of the application, for a share of the requests', async () => {
    await inbound('http', 'MeshFaultInjection', { http: [{ abort: { httpStatus: 418, percentage: '30.5' } }] });
    expectShares(await statuses(1_000), { 200: 0.695, 418: 0.305 });
  });

  it('delays requests', async () => {
    await inbound('http', 'MeshFaultInjection', { http: [{ delay: { value: '1ms', percentage: 100 } }] });
    expect(await statuses(3)).toEqual(new Map([['200', 3]]));
    expect(await proxy.sum(/^http\.self_inbound_dp_http\.fault\.delays_injected$/)).toBe(3);
  });
});

describe('a MeshRateLimit', () => {
  it('answers 429 above the rate', async () => {
    await inbound('http', 'MeshRateLimit', { local: { http: { requestRate: { num: 3, interval: '3600s' } } } });
    expect(await statuses(20)).toEqual(
      new Map([
        ['200', 3],
        ['429', 17],
      ]),
    );
  });

  it('answers with the status and the headers that it says', async () => {
    const onRateLimit = { status: 423, headers: { set: [{ name: 'x-limited', value: 'yes' }] } };
    const requestRate = { num: 5, interval: '3600s' };
    await inbound('http', 'MeshRateLimit', { local: { http: { requestRate, onRateLimit } } });
    expect(await statuses(20)).toEqual(
      new Map([
        ['200', 5],
        ['423', 15],
      ]),
    );
    expect((await mesh.get(http)).headers['x-limited']).toBe('yes');
  });

  it('closes connections above the rate', async () => {
    await inbound('tcp', 'MeshRateLimit', { local: { tcp: { connectionRate: { num: 4, interval: '3600s' } } } });
    const said = await Promise.all(Array.from({ length: 10 }, () => mesh.say(tcp)));
    expect(countBy(said, String)).toEqual(
      new Map([
        ['db', 4],
        ['null', 6],
      ]),
    );
  });
});

describe('on an inbound', () => {
  it('a MeshTimeout answers 504 for its application', async () => {
    application.answer = () => 'hang';
    await inbound('http', 'MeshTimeout', { http: { requestTimeout: '100ms' } });
    expect((await mesh.get(http)).status).toBe(504);
    application.answer = () => ({});
  });

  it('a MeshCircuitBreaker answers 503 above its limits', async () => {
    application.answer = ({ path }) => (path === '/hang' ? 'hang' : {});
    await inbound('http', 'MeshTimeout', { http: { requestTimeout: '2s' } });
    await inbound('http', 'MeshCircuitBreaker', { connectionLimits: { maxConnections: 1, maxPendingRequests: 1 } });
    // One has the connection and is cut in the end; at most one waits for it.
    const counts = countBy(await mesh.many(5, http, '/hang'), ({ status }) => String(status));
    expect([...counts.keys()].sort()).toEqual(['503', '504']);
    application.answer = () => ({});
  });
});
