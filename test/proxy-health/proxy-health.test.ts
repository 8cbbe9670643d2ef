// Proxies that report their health as Envoy does, at a port of a zone: what each is asked to probe, and what becomes of its inbounds.
import { setImmediate } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ProxyHealth } from '../../src/proxy-health/proxy-health.ts';
import { healthService } from '../../src/proxy-port/grpc-services.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { envoyBinaryToJson } from '../../src/wire/binary-to-json.ts';
import { toBuffer } from '../../src/wire/fields.ts';
import { envoyJsonToBinary } from '../../src/wire/json-to-binary.ts';
import { ending, OpenPort, type Stream } from '../proxy-port/open-port.ts';
import { TinyStore } from '../support/tiny-store.ts';

const REQUEST = 'envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse';
const APPLICATION = '127.1.0.2:8080';
const applications = { interval: 2_000, timeout: 2_000, unhealthyThreshold: 3 };
const probed = { name: 'http', port: 8080, serviceProbe: { tcp: {} } };

let stop: AbortController;
let store: TinyStore;
let port: OpenPort;
let health: ProxyHealth;
/** Milliseconds of the clock of the control plane. */
let elapsed: number;

beforeEach(async () => {
  stop = new AbortController();
  store = new TinyStore();
  elapsed = 0;
  const clock = { ...systemClock, elapsed: () => elapsed };
  health = new ProxyHealth({ store, reportMs: 5_000, applications, clock, log: pino({ level: 'silent' }) });
  void health.run(stop.signal);
  port = await new OpenPort().start({ type: 'none', serveHealth: health.serve });
});
afterEach(async () => {
  await port.close();
  stop.abort();
});

async function put(name = 'cart-1', inbound: readonly JsonObject[] = [probed], labels: Labels = {}): Promise<void> {
  const key = { type: 'Dataplane', mesh: 'shop', name };
  await store.write({ op: 'put', key, labels, spec: { networking: { address: '127.1.0.2', inbound: [...inbound] } } });
}

async function states(name = 'cart-1'): Promise<unknown[]> {
  const row = await store.get({ type: 'Dataplane', mesh: 'shop', name });
  return objectsOf(objectOf(row?.spec['networking'])['inbound']).map(({ state }) => state ?? 'Ready');
}

async function version(): Promise<number | undefined> {
  return (await store.get({ type: 'Dataplane', mesh: 'shop', name: 'cart-1' }))?.version;
}

/** An Envoy that has said who it is. */
class Reporter {
  readonly stream: Stream;
  /** Names of the clusters to probe, as it was asked last. */
  asked: unknown[] = [];
  answers = 0;

  constructor(name = 'cart-1', at = port) {
    this.stream = at.stream('', healthService.streamHealthCheck);
    this.stream.on('data', (bytes: Buffer) => {
      const { clusterHealthChecks } = envoyBinaryToJson('envoy.service.health.v3.HealthCheckSpecifier', bytes);
      this.answers += 1;
      this.asked = objectsOf(clusterHealthChecks).map(({ clusterName }) => clusterName);
    });
    const metadata = { 'dataplane.admin.socketPath': '/run/kuma-envoy-admin.sock' };
    const node = { id: `shop.${name}`, metadata };
    this.stream.write(toBuffer(envoyJsonToBinary(REQUEST, { healthCheckRequest: { node } })));
  }

  report(clusters: Readonly<Record<string, boolean>>): void {
    const clusterEndpointsHealth = Object.entries(clusters).map(([clusterName, isHealthy]) => ({
      clusterName,
      localityEndpointsHealth: [{ endpointsHealth: [{ healthStatus: isHealthy ? 'HEALTHY' : 'TIMEOUT' }] }],
    }));
    this.stream.write(toBuffer(envoyJsonToBinary(REQUEST, { endpointHealthResponse: { clusterEndpointsHealth } })));
  }
}

/** One whose probes have answered. */
async function reporter(name?: string): Promise<Reporter> {
  const made = new Reporter(name);
  await expect.poll(() => made.asked).toContain('system_envoy_admin');
  elapsed += 10_000;
  return made;
}

/** Time for many writes. @returns how often the Dataplane was written since it had this version */
async function writesSince(before: number | undefined): Promise<number> {
  for (let turn = 0; turn < 500; turn += 1) await setImmediate();
  return ((await version()) ?? 0) - (before ?? 0);
}

const UP = { system_envoy_admin: true, [APPLICATION]: true };

describe('an Envoy', () => {
  it('is asked to probe itself and its applications; an inbound leaves and comes back with them', async () => {
    await put();
    const envoy = await reporter();
    expect(envoy.asked).toEqual(['system_envoy_admin', APPLICATION]);
    envoy.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    envoy.report(UP);
    await expect.poll(() => states()).toEqual(['Ready']);
    envoy.report({ system_envoy_admin: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
  });

  it('is not believed that something is down before it can know', async () => {
    await put();
    const envoy = new Reporter();
    await expect.poll(() => envoy.asked).toContain(APPLICATION);
    const first = await version();
    const down = { ...UP, [APPLICATION]: false };
    envoy.report(down);
    await put('cart-1', [{ ...probed, serviceProbe: { tcp: {}, timeout: '1s' } }]);
    await expect.poll(() => envoy.answers).toBe(2);
    expect(await version()).toBe((first ?? 0) + 1);
    elapsed += 10_000;
    envoy.report(down);
    await expect.poll(() => states()).toEqual(['NotReady']);
  });

  it('has its Dataplane written only when a state changes', async () => {
    await put();
    const envoy = await reporter();
    const first = await version();
    for (let times = 0; times < 20; times += 1) envoy.report(UP);
    envoy.report({ ...UP, another: false });
    envoy.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    expect(await version()).toBe((first ?? 0) + 1);
  });

  it('is waited for until its configuration stream has brought the Dataplane', async () => {
    const envoy = new Reporter();
    await put('other');
    await put();
    await expect.poll(() => envoy.asked).toContain(APPLICATION);
  });

  it('gets new probes when its Dataplane changes, and its report counts for rows that others write', async () => {
    await put();
    const envoy = await reporter();
    envoy.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    await put('cart-1', [probed, { name: 'more', port: 8081, serviceProbe: { tcp: {} } }]);
    await expect.poll(() => envoy.asked).toEqual(['system_envoy_admin', APPLICATION, '127.1.0.2:8081']);
    elapsed += 10_000;
    await expect.poll(() => states()).toEqual(['NotReady', 'Ready']);
  });

  it('has the state of its next report where others write its Dataplane more than once after the last', async () => {
    await put();
    const envoy = await reporter();
    const down = { ...UP, [APPLICATION]: false };
    envoy.report(down);
    await expect.poll(() => states()).toEqual(['NotReady']);
    await put();
    await expect.poll(() => states()).toEqual(['NotReady']);
    const first = await version();
    await put();
    expect(await writesSince(first)).toBe(1);
    // One that says the same counts, too.
    await expect.poll(() => (envoy.report(down), states())).toEqual(['NotReady']);
  });

  const silent = { name: 'plain', port: 80, servicePort: 8080, protocol: 'http' };

  it('is asked to probe an application without a written probe, which leaves and comes back; the Dataplane names no probe', async () => {
    await put('cart-1', [silent]);
    const envoy = await reporter();
    expect(envoy.asked).toEqual(['system_envoy_admin', APPLICATION]);
    elapsed += 10_000;
    envoy.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    envoy.report(UP);
    await expect.poll(() => states()).toEqual(['Ready']);
    const row = await store.get({ type: 'Dataplane', mesh: 'shop', name: 'cart-1' });
    expect(row?.spec).toEqual({ networking: { address: '127.1.0.2', inbound: [silent] } });
  });

  it('is asked no more when a label of the Dataplane says so, and the inbound is ready again', async () => {
    await put('cart-1', [silent]);
    const envoy = await reporter();
    elapsed += 10_000;
    envoy.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    const row = await store.get({ type: 'Dataplane', mesh: 'shop', name: 'cart-1' });
    const labels = { 'probe.meridian.io/plain': 'disabled' };
    await put('cart-1', objectsOf(objectOf(row?.spec['networking'])['inbound']), labels);
    await expect.poll(() => envoy.asked).toEqual(['system_envoy_admin']);
    elapsed += 10_000;
    envoy.report({ system_envoy_admin: true });
    await expect.poll(() => states()).toEqual(['Ready']);
  });

  it('that comes again takes the place of the one before', async () => {
    await put();
    const ended = ending((await reporter()).stream);
    const newer = await reporter();
    expect((await ended).code).toBe(status.CANCELLED);
    newer.report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    expect(health.size).toBe(1);
  });

  it.each([
    ['no message', Buffer.from([0x0a, 5, 1])],
    ['no node', Buffer.alloc(0)],
  ])('that sends %s is refused with INVALID_ARGUMENT', async (_, bytes) => {
    const stream = port.stream('', healthService.streamHealthCheck);
    const ended = ending(stream);
    stream.write(bytes);
    expect((await ended).code).toBe(status.INVALID_ARGUMENT);
  });
});

describe('an Envoy whose earlier stream is half open at another replica', () => {
  let otherPort: OpenPort;

  beforeEach(async () => {
    const clock = { ...systemClock, elapsed: () => elapsed };
    const other = new ProxyHealth({ store, reportMs: 5_000, applications, clock, log: pino({ level: 'silent' }) });
    void other.run(stop.signal);
    otherPort = await new OpenPort().start({ type: 'none', serveHealth: other.serve });
    // A write that takes no time would leave none to anything else.
    const writeBatch = store.writeBatch.bind(store);
    store.writeBatch = async (writes) => {
      await setImmediate();
      return await writeBatch(writes);
    };
  });
  afterEach(() => otherPort.close());

  /** Its application was down when the first stream reported last, and it has a second stream. */
  async function moved(): Promise<Reporter> {
    await put();
    (await reporter()).report({ ...UP, [APPLICATION]: false });
    await expect.poll(() => states()).toEqual(['NotReady']);
    const second = new Reporter('cart-1', otherPort);
    await expect.poll(() => second.asked).toContain(APPLICATION);
    return second;
  }

  it('has its Dataplane written once, and not by both replicas in turns', async () => {
    const second = await moved();
    elapsed += 10_000;
    const before = await version();
    second.report(UP);
    await expect.poll(() => states()).toEqual(['Ready']);
    expect(await writesSince(before)).toBe(1);
    expect(await states()).toEqual(['Ready']);
  });

  it('has its Dataplane written at most twice for each report while both are fresh, and the last report counts', async () => {
    const second = await moved();
    const before = await version();
    second.report(UP);
    await expect.poll(() => version()).not.toBe(before);
    expect(await writesSince(before)).toBeLessThanOrEqual(4);
    second.report(UP);
    await expect.poll(() => states()).toEqual(['Ready']);
    const after = await version();
    expect(await writesSince(after)).toBe(0);
  });
});

it('writes no Dataplane of many proxies whose applications answer', async () => {
  const names = Array.from({ length: 60 }, (_, at) => `cart-${String(at)}`);
  for (const name of names) await put(name, [{ port: 80, servicePort: 8080, protocol: 'http' }]);
  let writes = 0;
  store.beforeWrite = () => void (writes += 1);
  const all = names.map((name) => new Reporter(name));
  for (const one of all) await expect.poll(() => one.asked).toContain(APPLICATION);
  elapsed += 20_000;
  for (let round = 0; round < 3; round += 1) for (const one of all) one.report(UP);
  const [last] = all.slice(-1);
  await expect.poll(() => health.size).toBe(names.length);
  last?.report({ ...UP, [APPLICATION]: false });
  await expect.poll(() => states('cart-59')).toEqual(['NotReady']);
  expect(writes).toBe(1);
});

it('stores simultaneous reports of many Envoys in few transactions', async () => {
  const names = Array.from({ length: 50 }, (_, at) => `cart-${String(at)}`);
  for (const name of names) await put(name);
  const all = await Promise.all(names.map(reporter));
  let transactions = 0;
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const writeBatch = store.writeBatch.bind(store);
  store.writeBatch = async (...given) => {
    transactions += 1;
    await held;
    return await writeBatch(...given);
  };
  const [first, ...others] = all;
  first?.report({ ...UP, [APPLICATION]: false });
  await expect.poll(() => transactions).toBe(1);
  for (const envoy of others) envoy.report({ ...UP, [APPLICATION]: false });
  await expect.poll(() => health.waiting).toBe(others.length);
  goOn();
  for (const name of names) await expect.poll(() => states(name)).toEqual(['NotReady']);
  expect(transactions).toBe(2);
});
