// `meridian dataplane run` at a real Kuma zone, with a real Envoy.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { NO_ENVOY } from '../../src/dataplane/find-envoy.ts';
import { Launched } from '../dataplane/launched.ts';
import { WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { KumaControlPlane } from './kuma-control-plane.ts';

let zone: KumaControlPlane;

beforeAll(async () => {
  zone = await KumaControlPlane.zone(inject('postgresUrl'), 'east', null);
  zone.start();
  await vi.waitFor(async () => expect(await zone.ready()).toBe(200), WAIT);
});
afterAll(() => zone.end('SIGTERM'));

it('is configured by the zone, which keeps the Dataplane of its file', async () => {
  if (inject('envoy') === '') throw new Error(NO_ENVOY);
  const application = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(application, 'listening');
  onTestFinished(() => void application.close());
  const port = await freePort();
  const servicePort = (application.address() as AddressInfo).port;
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'default', name: 'cart-1' },
    networking: {
      address: '127.0.0.1',
      inbound: [{ name: 'http', port, servicePort, serviceAddress: '127.0.0.1', protocol: 'http' }],
    },
  });
  const api = `http://127.0.0.1:${String(zone.api)}`;
  const asked = { mesh: 'default', name: 'cart-1', validFor: '1h' };
  // The key that signs it is made after the zone is ready.
  const token = await vi.waitFor(async () => {
    const answer = await fetch(`${api}/tokens/dataplane`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    expect(answer.status).toBe(200);
    return await answer.text();
  }, WAIT);
  const plane = {
    url: `https://localhost:${zone.env['KUMA_DP_SERVER_PORT'] ?? ''}`,
    ca: await readFile(join(zone.env['KUMA_GENERAL_WORK_DIR'] ?? '', 'kuma-cp.crt'), 'utf8'),
  };
  const run = await Launched.start([plane], { envoy: inject('envoy'), document, token });
  await expect.poll(() => run.ready()).toBe('200 LIVE');
  const inbound = async (): Promise<string> =>
    await fetch(`http://127.0.0.1:${String(port)}/`).then(
      async (page) => await page.text(),
      () => '',
    );
  await expect.poll(inbound).toBe('hello');
  expect((await fetch(`${api}/meshes/default/dataplanes/cart-1`)).status).toBe(200);
  run.signal('SIGTERM');
  expect(await run.code()).toBe(0);
});
