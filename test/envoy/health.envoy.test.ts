// A proxy that lives while its application does not: its Envoy says so, and requests go to the other instance.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import { freePort } from '../support/free-port.ts';
import { Application } from './application.ts';
import { EnvoyMesh } from './envoy-mesh.ts';

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
