// The names of a proxy that `meridian dataplane run` starts: each is answered when the real Envoy takes connections for it.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { EnvoyAdmin } from '../../src/dataplane/envoy-admin.ts';
import { envoysOf } from '../../src/dataplane/left-envoys.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { Launched } from '../dataplane/launched.ts';
import { EnvoyMesh } from '../envoy/envoy-mesh.ts';
import { freePort } from '../support/free-port.ts';

let mesh: EnvoyMesh;
beforeAll(async () => {
  mesh = await EnvoyMesh.open('launched-names');
});
afterAll(async () => await mesh.close());

async function launch(
  name: string,
): Promise<{ launched: Launched; admin: EnvoyAdmin; answers: () => Promise<Map<string, string>> }> {
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: mesh.name, name, labels: { 'kuma.io/origin': 'zone' } },
    networking: {
      address: '127.0.0.1',
      inbound: [{ port: await freePort(), state: 'Ignored' }],
      transparentProxying: { redirectPortInbound: await freePort(), redirectPortOutbound: await freePort() },
    },
  });
  const planes = [{ url: mesh.zone.urls[0] ?? '', ca: await mesh.zone.ca() }];
  const launched = await Launched.start(planes, { envoy: inject('envoy'), document, args: ['--concurrency', '1'] });
  const admin = new EnvoyAdmin({ socketPath: join(launched.workDir, 'kuma-envoy-admin.sock') }, systemClock);
  const file = join(launched.workDir, 'names.json');
  const answers = async (): Promise<Map<string, string>> => {
    if (!existsSync(file)) return new Map();
    const { names } = JSON.parse(await readFile(file, 'utf8')) as { names: JsonObject };
    const answered = Object.entries(names).filter(([, record]) => Array.isArray(objectOf(record)['answer']));
    return new Map(answered.map(([hostname, record]) => [hostname, String(objectOf(record)['answer'])]));
  };
  await expect.poll(() => launched.ready()).toBe('200 LIVE');
  return { launched, admin, answers };
}

/** The first virtual address of a service. */
async function addressOf(name: string): Promise<string> {
  return textOf(objectsOf(objectOf((await mesh.read('MeshService', name))['status'])['vips'])[0]?.['ip']);
}

describe('the names of a launched proxy', () => {
  it('are those of services that Envoy takes connections for, and come and go with them', async () => {
    await mesh.service('cart', { app: 'cart' });
    const { admin, answers } = await launch('one');
    await expect.poll(async () => (await answers()).get('cart.svc.mesh.local') ?? '').not.toBe('');
    const address = await addressOf('cart');
    expect((await answers()).get('cart.svc.mesh.local')).toBe(address);
    expect(await admin.listeners()).toContain(`${address}:80`);
    await mesh.service('catalog', { app: 'catalog' });
    await expect.poll(async () => (await answers()).has('catalog.svc.mesh.local')).toBe(true);
    expect(await admin.listeners()).toContain(`${await addressOf('catalog')}:80`);
    await mesh.delete('MeshService', 'catalog');
    await expect.poll(async () => (await answers()).has('catalog.svc.mesh.local')).toBe(false);
    await expect.poll(async () => (await answers()).has('cart.svc.mesh.local')).toBe(true);
  });

  it('stay when Envoy ends and is started again', async () => {
    const { launched, answers } = await launch('two');
    await expect.poll(async () => (await answers()).has('cart.svc.mesh.local')).toBe(true);
    const [pid = 0] = await envoysOf(new Set([join(launched.workDir, 'bootstrap.json')]));
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => launched.log).toContain('Envoy ended');
    expect((await answers()).has('cart.svc.mesh.local')).toBe(true);
    await expect.poll(() => launched.ready()).toBe('200 LIVE');
    expect((await answers()).has('cart.svc.mesh.local')).toBe(true);
  });
});
