// A proxy that lives while its application does not: its Envoy says so, and requests go to the other instance.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import { freePort } from '../support/free-port.ts';
import { outputOf } from '../support/run-meridian.ts';
import { Application } from './application.ts';
import { EnvoyMesh, type Answered } from './envoy-mesh.ts';
import { PACE_MS } from './steady-requests.ts';

const serviceProbe = { interval: '0.2s', timeout: '1s', unhealthyThreshold: 1, healthyThreshold: 1, tcp: {} };
let mesh: EnvoyMesh;
let outbound: number;
/** The application behind the first proxy. */
let first: Application;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('health');
  await mesh.service('cart', { app: 'cart' });
  const started: Application[] = [];
  for (const name of ['cart-1', 'cart-2']) {
    const application = await mesh.application(name, 'http');
    started.push(application);
    await mesh.proxy(name, {
      labels: { app: 'cart' },
      inbound: [{ name: 'main', port: await freePort(), servicePort: application.port, protocol: 'http', serviceProbe }],
    });
  }
  [first] = started as [Application];
  const { list, portOf } = await mesh.outbounds(['cart']);
  await mesh.proxy('checkout', { outbounds: list });
  outbound = portOf('cart');
});
afterAll(() => mesh.close());

async function state(name: string): Promise<unknown> {
  const { networking } = await mesh.read('Dataplane', name);
  const [inbound = {}] = objectsOf(objectOf(networking)['inbound']);
  return { state: inbound['state'] ?? 'Ready', health: inbound['health'] };
}

/** Who answers, of many requests. */
async function answers(): Promise<string[]> {
  const all = await mesh.many(40, outbound);
  return [...new Set(all.map(({ status, body }) => (status === 200 ? body : String(status))))].sort();
}

const UNREADY = { state: 'NotReady', health: expect.anything() as unknown };
const READY = { state: 'Ready', health: undefined };

it('sends requests to another instance when an application ends, and back when it is there again', async () => {
  await expect.poll(answers).toEqual(['cart-1', 'cart-2']);
  const { port } = first;
  await first.close();
  await expect.poll(() => state('cart-1')).toEqual(UNREADY);
  expect(await state('cart-2')).toEqual(READY);
  await expect.poll(answers).toEqual(['cart-2']);
  // None is lost from here on.
  expect(await answers()).toEqual(['cart-2']);

  first = await Application.listen('cart-1', 'http', port);
  await expect.poll(() => state('cart-1')).toEqual(READY);
  await expect.poll(answers).toEqual(['cart-1', 'cart-2']);
  await first.close();
});

/** Probes of the default that may fail before requests go elsewhere: three until it is believed, then the interval of a report. */
const MAX_FAILED_PROBES = 8;

it('an application without a written probe loses requests for a few probes alone', async () => {
  await mesh.service('orders', { app: 'orders' });
  const servers = await Promise.all(['orders-1', 'orders-2'].map((name) => mesh.application(name, 'http')));
  const proxies = [];
  for (const { name, port: servicePort } of servers)
    proxies.push(
      await mesh.proxy(name, {
        labels: { app: 'orders' },
        inbound: [{ name: 'main', port: await freePort(), servicePort, protocol: 'http' }],
      }),
    );
  const { list, portOf } = await mesh.outbounds(['orders']);
  await mesh.proxy('buyer', { outbounds: list });
  const ask = (): Promise<Answered> => mesh.get(portOf('orders'));
  await expect.poll(async () => new Set((await mesh.many(20, portOf('orders'))).map(({ body }) => body)).size).toBe(2);
  // A probe of the application has passed.
  const [proxy] = proxies;
  await expect.poll(async () => await proxy?.sum(/health_check\.success$/)).toBeGreaterThan(1);
  await servers[0]?.close();
  // Requests go on, and each that fails is counted with the probes that had failed by then.
  const failed: number[] = [];
  let passed = 0;
  while (passed < 100) {
    const { status } = await ask();
    passed = status === 200 ? passed + 1 : 0;
    if (status !== 200) failed.push((await proxy?.sum(/health_check\.failure$/)) ?? 0);
    await delay(PACE_MS);
  }
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.at(-1)).toBeLessThanOrEqual(MAX_FAILED_PROBES);
});

it('the health of an inbound of tcp is unknown, and the commands that should know say so until it has a probe', async () => {
  const application = await mesh.application('db', 'tcp');
  const inbound = { name: 'main', port: await freePort(), servicePort: application.port, protocol: 'tcp' };
  await mesh.proxy('db', { labels: { app: 'db' }, inbound: [inbound] });
  const said = async (): Promise<boolean[]> => {
    const asked = [`inspect dataplane db --mesh ${mesh.name}`, 'inspect problems'];
    const texts = await Promise.all(asked.map((command) => outputOf([...command.split(' '), '--address', mesh.zone.address])));
    const whole = texts.map((text) => text.replaceAll(/\s+/g, ' '));
    return [
      whole[0]?.includes('the health of inbound main of tcp is unknown') === true,
      whole[1]?.includes(`mesh ${mesh.name} in zone east: nothing probes the application of an inbound of tcp (db main)`) ===
        true,
      whole.every((text) => text.includes('serviceProbe')),
    ];
  };
  await expect.poll(said).toEqual([true, true, true]);
  const { networking } = await mesh.read('Dataplane', 'db');
  const probed = { ...objectOf(networking), inbound: [{ ...inbound, serviceProbe }] };
  await mesh.put('Dataplane', 'db', { labels: { app: 'db' }, networking: probed });
  await expect.poll(said).toEqual([false, false, false]);
});

describe('an application that its Envoy does not reach', () => {
  const silent = async (): Promise<unknown[]> => {
    const { problems } = await mesh.ask('Dataplane', 'elsewhere', '_effective');
    return objectsOf(problems).map(({ reason }) => reason);
  };

  it('is named with its address and what to do, and its service serves as soon as it is reached', async () => {
    const application = await mesh.application('elsewhere', 'http');
    await mesh.service('elsewhere', { app: 'elsewhere' });
    // It listens on 127.0.0.1.
    const inbound = {
      name: 'main',
      port: await freePort(),
      servicePort: application.port,
      protocol: 'http',
      address: '127.0.0.9',
    };
    await mesh.proxy('elsewhere', { labels: { app: 'elsewhere' }, inbound: [inbound] });
    const { list, portOf } = await mesh.outbounds(['elsewhere']);
    await mesh.proxy('caller', { outbounds: list });
    await expect
      .poll(silent)
      .toEqual([
        `the application of inbound main does not answer on 127.0.0.9:${String(application.port)}: start it, or set serviceAddress to the address on which it listens`,
      ]);
    // Requests are sent all the same: no other server has them.
    const answered = await mesh.get(portOf('elsewhere'));
    expect(answered.body).toContain('upstream connect error');

    const { networking } = await mesh.read('Dataplane', 'elsewhere');
    const [stored] = objectsOf(objectOf(networking)['inbound']);
    const mended = { ...objectOf(networking), inbound: [{ ...stored, serviceAddress: '127.0.0.1' }] };
    await mesh.put('Dataplane', 'elsewhere', { labels: { app: 'elsewhere' }, networking: mended });
    await expect.poll(async () => (await mesh.get(portOf('elsewhere'))).status).toBe(200);
    await expect.poll(silent).toEqual([]);
  });
});

describe.each([
  ['http', 'both'],
  ['tcp', 'tcp'],
] as const)('an endpoint of %s that is removed while its health check still passes', (appProtocol, speech) => {
  it('gets no request from then on', async () => {
    const named = (at: number): string => `${appProtocol}-${String(at)}`;
    await mesh.service(appProtocol, { app: appProtocol }, appProtocol);
    for (const at of [1, 2]) await mesh.endpoint(named(at), { app: appProtocol }, speech);
    const { list, portOf } = await mesh.outbounds([appProtocol]);
    await mesh.proxy(`caller-${appProtocol}`, { outbounds: list });
    await mesh.policy('MeshHealthCheck', appProtocol, {
      to: [{ targetRef: { kind: 'Mesh' }, default: { interval: '60s', tcp: {} } }],
    });
    const speakers = async (): Promise<unknown[]> => {
      const asked = Array.from({ length: 20 }, () =>
        appProtocol === 'tcp' ? mesh.say(portOf('tcp')) : mesh.get(portOf('http')).then(({ body }) => body),
      );
      return [...new Set(await Promise.all(asked))].sort();
    };
    await expect.poll(speakers).toEqual([named(1), named(2)]);
    await mesh.delete('Dataplane', named(1));
    await mesh.settle();
    expect(await speakers()).toEqual([named(2)]);
  });
});
