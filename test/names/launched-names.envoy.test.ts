// The names of a proxy that `meridian dataplane run` starts: each is answered when the real Envoy takes connections for it.
import { Resolver } from 'node:dns/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { EnvoyAdmin } from '../../src/dataplane/envoy-admin.ts';
import { envoysOf } from '../../src/dataplane/left-envoys.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import { Launched } from '../dataplane/launched.ts';
import { EnvoyMesh } from '../envoy/envoy-mesh.ts';
import { freePort } from '../support/free-port.ts';

let mesh: EnvoyMesh;
beforeAll(async () => {
  mesh = await EnvoyMesh.open('launched-names');
  await mesh.service('cart', { app: 'cart' });
});
afterAll(async () => await mesh.close());

/** A redirected proxy that is ready. `addressOf`: what its DNS server answers for a service, or the code of the failure. */
async function launch(name: string): Promise<{
  launched: Launched;
  admin: EnvoyAdmin;
  addressOf: (service: string) => Promise<string>;
}> {
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: mesh.name, name, labels: { 'kuma.io/origin': 'zone' } },
    networking: {
      address: '127.0.0.1',
      inbound: [{ port: await freePort(), state: 'Ignored' }],
      transparentProxying: { redirectPortInbound: await freePort(), redirectPortOutbound: await freePort() },
    },
  });
  const dns = await freePort();
  const planes = [{ url: mesh.zone.urls[0] ?? '', ca: await mesh.zone.ca() }];
  const args = ['--concurrency', '1', '--dns-port', String(dns)];
  const launched = await Launched.start(planes, { envoy: inject('envoy'), document, args });
  const admin = new EnvoyAdmin({ socketPath: join(launched.workDir, 'kuma-envoy-admin.sock') }, systemClock);
  await expect.poll(() => launched.ready()).toBe('200 LIVE');
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${String(dns)}`]);
  onTestFinished(() => resolver.cancel());
  const addressOf = async (service: string): Promise<string> =>
    await resolver.resolve4(`${service}.svc.mesh.local`).then(
      (addresses) => addresses.join(),
      (error: unknown) => String((error as { code?: unknown }).code),
    );
  return { launched, admin, addressOf };
}

/** As its zone has it. */
async function virtualAddressOf(service: string): Promise<string> {
  const { status } = await mesh.read('MeshService', service);
  return textOf(objectsOf(objectOf(status)['vips'])[0]?.['ip']);
}

describe('the names of a launched proxy', () => {
  it('are those of services that Envoy takes connections for, and come and go with them', async () => {
    const { admin, addressOf } = await launch('one');
    await expect.poll(() => addressOf('cart')).toMatch(/^241\./);
    expect(await addressOf('cart')).toBe(await virtualAddressOf('cart'));
    expect(await admin.listeners()).toContain(`${await addressOf('cart')}:80`);
    await mesh.service('catalog', { app: 'catalog' });
    await expect.poll(() => addressOf('catalog')).toMatch(/^241\./);
    expect(await admin.listeners()).toContain(`${await addressOf('catalog')}:80`);
    await mesh.delete('MeshService', 'catalog');
    await expect.poll(() => addressOf('catalog')).toBe('ENOTFOUND');
    expect(await addressOf('cart')).toMatch(/^241\./);
  });

  it('are answered while the zone is away and Envoy starts again, and follow the zone when it is back', async () => {
    const { launched, addressOf } = await launch('two');
    await expect.poll(() => addressOf('cart')).toMatch(/^241\./);
    await mesh.zone.stop();
    const [pid = 0] = await envoysOf(new Set([join(launched.workDir, 'bootstrap.json')]));
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => launched.log).toContain('Envoy ended');
    expect(await addressOf('cart')).toMatch(/^241\./);
    await mesh.zone.restart();
    await mesh.service('orders', { app: 'orders' });
    await expect.poll(() => addressOf('orders')).toMatch(/^241\./);
    expect(await launched.ready()).toBe('200 LIVE');
  });
});
