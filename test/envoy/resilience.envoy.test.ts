// What MeshTimeout, MeshRetry, MeshCircuitBreaker and MeshHealthCheck do to requests that pass a real Envoy.
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { callGrpc, GrpcApplication } from './grpc-application.ts';
import { countBy } from './shares.ts';

let mesh: EnvoyMesh;
let client: Proxy;
let one: Application;
let two: Application;
/** Ports of outbounds: to one endpoint, to two, to one that speaks gRPC, and to connections of which every other is refused. */
let single: number;
let pair: number;
let rpc: number;
let db: number;
let rpcServer: GrpcApplication;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('resilience');
  one = await mesh.endpoint('one', { app: 'pair', at: 'one' });
  two = await mesh.endpoint('two', { app: 'pair', at: 'two' });
  await mesh.service('single', { app: 'pair', at: 'one' });
  await mesh.service('pair', { app: 'pair' });
  rpcServer = await GrpcApplication.listen();
  const spoken = [{ name: 'main', port: rpcServer.port, protocol: 'grpc' }];
  await mesh.put('Dataplane', 'rpc-1', { labels: { app: 'rpc' }, networking: { address: '127.0.0.1', inbound: spoken } });
  await mesh.service('rpc', { app: 'rpc' }, 'grpc');
  await mesh.endpoint('db-1', { app: 'db' }, 'tcp');
  const refused = [{ name: 'main', port: await freePort(), protocol: 'tcp' }];
  await mesh.put('Dataplane', 'db-2', { labels: { app: 'db' }, networking: { address: '127.0.0.1', inbound: refused } });
  await mesh.service('db', { app: 'db' }, 'tcp');
  const { list, portOf } = await mesh.outbounds(['single', 'pair', 'rpc', 'db']);
  [single, pair, rpc, db] = [portOf('single'), portOf('pair'), portOf('rpc'), portOf('db')];
  client = await mesh.proxy('client', { labels: { app: 'client' }, outbounds: list });
});
afterAll(async () => {
  await mesh.close();
  rpcServer.close();
});
afterEach(() => {
  for (const application of [one, two]) {
    application.answer = () => ({});
    application.seen.length = 0;
  }
  rpcServer.answer = () => status.OK;
  rpcServer.calls = 0;
});

/** A policy towards a service that goes with the test. */
async function towards(service: string, type: string, conf: JsonObject): Promise<void> {
  const to = [{ targetRef: { kind: 'MeshService', name: service }, default: conf }];
  await mesh.policy(type, type.toLowerCase(), { to });
}
const statusOf = async (port: number, path = '/'): Promise<number> => (await mesh.get(port, path)).status;

describe('a MeshTimeout', () => {
  it('answers 504 for the application after requestTimeout', async () => {
    one.answer = ({ path }) => (path === '/hang' ? 'hang' : {});
    await towards('single', 'MeshTimeout', { http: { requestTimeout: '500ms' } });
    expect(await statusOf(single, '/hang')).toBe(504);
    await expect.poll(() => statusOf(single)).toBe(200);
  });

  it('of a route holds for its requests', async () => {
    one.answer = () => 'hang';
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/slow' } }], default: {} }];
    const target = { kind: 'MeshService', name: 'single' };
    await mesh.policy('MeshHTTPRoute', 'slow', { to: [{ targetRef: target, rules }] });
    const to = [{ targetRef: { kind: 'MeshHTTPRoute', name: 'slow' }, default: { http: { requestTimeout: '500ms' } } }];
    await mesh.policy('MeshTimeout', 'of-route', { to });
    expect(await statusOf(single, '/slow')).toBe(504);
  });

  it('closes what streams longer than maxStreamDuration', async () => {
    one.answer = () => 'hang';
    await towards('single', 'MeshTimeout', { http: { requestTimeout: '0s', maxStreamDuration: '500ms' } });
    expect(await statusOf(single, '/stream')).toBe(504);
  });
});

describe('a MeshRetry', () => {
  it('asks again as often as it says', async () => {
    one.answer = ({ path }) => ({ status: path === '/fails' ? 503 : 200 });
    await towards('single', 'MeshRetry', { http: { numRetries: 3, retryOn: ['5xx'], backOff: { baseInterval: '1ms' } } });
    expect(await statusOf(single, '/fails')).toBe(503);
    expect(one.seen.filter(({ path }) => path === '/fails')).toHaveLength(4);
  });

  it('gives the answer of the attempt that succeeds', async () => {
    one.answer = (_request, count) => ({ status: count < 3 ? 503 : 200 });
    await towards('single', 'MeshRetry', { http: { numRetries: 5, retryOn: ['503'], backOff: { baseInterval: '1ms' } } });
    expect(await statusOf(single)).toBe(200);
    expect(one.seen).toHaveLength(3);
  });

  it('does not ask again for what retryOn does not name', async () => {
    one.answer = () => ({ status: 500 });
    await towards('single', 'MeshRetry', { http: { numRetries: 3, retryOn: ['GatewayError', 'HttpMethodPut'] } });
    expect(await statusOf(single)).toBe(500);
    expect(one.seen).toHaveLength(1);
  });

  it('of a route with no retries switches those of the service off', async () => {
    one.answer = () => ({ status: 503 });
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/once' } }], default: {} }];
    await mesh.policy('MeshHTTPRoute', 'once', { to: [{ targetRef: { kind: 'MeshService', name: 'single' }, rules }] });
    const never = [{ targetRef: { kind: 'MeshHTTPRoute', name: 'once' }, default: { http: { numRetries: 0 } } }];
    await mesh.policy('MeshRetry', 'never', { to: never });
    await towards('single', 'MeshRetry', { http: { numRetries: 2, retryOn: ['5xx'], backOff: { baseInterval: '1ms' } } });
    await mesh.get(single, '/other');
    expect(one.seen).toHaveLength(3);
    await mesh.get(single, '/once');
    expect(one.seen).toHaveLength(4);
  });

  it('goes to another endpoint with OmitPreviousHosts', async () => {
    one.answer = () => ({ status: 503 });
    const hostSelection = [{ predicate: 'OmitPreviousHosts' }];
    await towards('pair', 'MeshRetry', {
      http: { numRetries: 1, retryOn: ['5xx'], hostSelection, hostSelectionMaxAttempts: 20, backOff: { baseInterval: '1ms' } },
    });
    // One after the other: Envoy allows three retries at once.
    const statuses = new Set<number>();
    for (let count = 0; count < 20; count += 1) statuses.add(await statusOf(pair));
    expect([...statuses]).toEqual([200]);
    expect(one.seen.length).toBeGreaterThan(0);
  });
});

describe('a MeshRetry of another protocol', () => {
  it.each([
    ['Canceled', status.CANCELLED],
    ['DeadlineExceeded', status.DEADLINE_EXCEEDED],
    ['Internal', status.INTERNAL],
    ['ResourceExhausted', status.RESOURCE_EXHAUSTED],
    ['Unavailable', status.UNAVAILABLE],
  ])('calls again for the gRPC status %s, and for no other', async (name, code) => {
    await towards('rpc', 'MeshRetry', { grpc: { numRetries: 5, retryOn: [name], backOff: { baseInterval: '1ms' } } });
    rpcServer.answer = (count) => (count < 3 ? code : status.OK);
    expect(await callGrpc(rpc)).toBe(status.OK);
    expect(rpcServer.calls).toBe(3);
    rpcServer.answer = () => status.PERMISSION_DENIED;
    expect(await callGrpc(rpc)).toBe(status.PERMISSION_DENIED);
    expect(rpcServer.calls).toBe(4);
  });

  it('calls again as often as it says, and then answers with the status of the server', async () => {
    await towards('rpc', 'MeshRetry', { grpc: { numRetries: 2, retryOn: ['Unavailable'], backOff: { baseInterval: '1ms' } } });
    rpcServer.answer = () => status.UNAVAILABLE;
    expect(await callGrpc(rpc)).toBe(status.UNAVAILABLE);
    expect(rpcServer.calls).toBe(3);
  });

  it('connects again as often as it says', async () => {
    const said = async (): Promise<Set<string | null>> => {
      const all = new Set<string | null>();
      for (let count = 0; count < 10; count += 1) all.add(await mesh.say(db));
      return all;
    };
    expect(await said()).toEqual(new Set(['db-1', null]));
    await towards('db', 'MeshRetry', { tcp: { maxConnectAttempt: 5 } });
    expect(await said()).toEqual(new Set(['db-1']));
  });
});

describe('a MeshCircuitBreaker', () => {
  it('answers 503 for requests above its limits', async () => {
    one.answer = ({ path }) => (path === '/hang' ? 'hang' : {});
    const connectionLimits = { maxConnections: 1, maxPendingRequests: 1, maxRequests: 1 };
    await mesh.policy('MeshTimeout', 'short', {
      to: [{ targetRef: { kind: 'MeshService', name: 'single' }, default: { http: { requestTimeout: '2s' } } }],
    });
    await towards('single', 'MeshCircuitBreaker', { connectionLimits });
    const first = mesh.get(single, '/hang');
    await expect.poll(() => one.seen.some(({ path }) => path === '/hang')).toBe(true);
    const { status, headers } = await mesh.get(single, '/more');
    expect([status, headers['x-envoy-overloaded']]).toEqual([503, 'true']);
    expect((await first).status).toBe(504);
    expect(await statusOf(single)).toBe(200);
  });

  it('takes an endpoint out that fails', async () => {
    one.answer = () => ({ status: 500 });
    const outlierDetection = {
      ...{ interval: '100ms', baseEjectionTime: '600s', maxEjectionPercent: 100, healthyPanicThreshold: 0 },
      detectors: { totalFailures: { consecutive: 2 } },
    };
    await towards('pair', 'MeshCircuitBreaker', { outlierDetection });
    await expect
      .poll(async () => {
        await mesh.get(pair);
        return await client.sum(/^cluster\.kri_msvc_resilience_east__pair_main\.outlier_detection\.ejections_active$/);
      })
      .toBe(1);
    const answers = await mesh.many(20, pair);
    expect(countBy(answers, ({ status }) => String(status))).toEqual(new Map([['200', 20]]));
  });
});

describe('a MeshCircuitBreaker', () => {
  /** By the name of the detector; each needs more than the failures of the test. */
  const DETECTORS: JsonObject = {
    totalFailures: { consecutive: 1_000 },
    gatewayFailures: { consecutive: 1_000 },
    localOriginFailures: { consecutive: 1_000 },
    successRate: { minimumHosts: 1_000 },
    failurePercentage: { minimumHosts: 1_000 },
  };

  it.each(Object.entries(DETECTORS))('with %s alone has no other detector', async (name, detector) => {
    one.answer = () => ({ status: 500 });
    const outlierDetection = {
      ...{ interval: '100ms', baseEjectionTime: '600s', maxEjectionPercent: 100, healthyPanicThreshold: 0 },
      detectors: { [name]: detector ?? {} },
    };
    await towards('single', 'MeshCircuitBreaker', { outlierDetection });
    const statuses = (await mesh.many(20, single)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([500]));
    expect(
      await client.sum(/^cluster\.kri_msvc_resilience_east__single_main\.outlier_detection\.ejections_enforced_total$/),
    ).toBe(0);
  });
});

describe('a MeshHealthCheck', () => {
  it('keeps requests from an endpoint that is not healthy, until it is', async () => {
    let status = 500;
    one.answer = ({ path }) => ({ status: path === '/health' ? status : 200 });
    const times = { interval: '100ms', timeout: '1s', unhealthyThreshold: 1, healthyThreshold: 1, noTrafficInterval: '100ms' };
    await towards('pair', 'MeshHealthCheck', { ...times, http: { path: '/health' } });
    const healthy = (): Promise<number> => client.sum(/^cluster\.kri_msvc_resilience_east__pair_main\.membership_healthy$/);
    await expect.poll(healthy).toBe(1);
    const answers = await mesh.many(20, pair);
    expect(countBy(answers, ({ body }) => body)).toEqual(new Map([['two', 20]]));
    // A check says who asks.
    expect(one.seen.find(({ path }) => path === '/health')?.headers['x-kuma-tags']).toContain('&app=client&');
    status = 200;
    await expect.poll(healthy).toBe(2);
    await expect.poll(async () => (await mesh.get(pair)).body).toBe('one');
  });
});
