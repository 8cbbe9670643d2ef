// The DNS server of `meridian dataplane run` with a fake Envoy. Its control planes send no names: it has those of an earlier launcher.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { DATAPLANE, fakeEnvoy, Launched } from './launched.ts';

const REDIRECTED = `${DATAPLANE}  transparentProxying: { redirectPortInbound: 15006, redirectPortOutbound: 15001 }\n`;
const IPV4_ALONE = REDIRECTED.replace('15001', '15001, ipFamilyMode: IPv4');
const NAMES = { 'cart.svc.mesh.local': ['241.0.0.1'] };

function client(port: number): Resolver {
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${String(port)}`]);
  onTestFinished(() => resolver.cancel());
  return resolver;
}

describe('the DNS server of dataplane run', () => {
  it('answers the names of an earlier launcher while no control plane sends any, and shows what it did', async () => {
    const plane = await FakeControlPlane.start();
    const [port, adminPort] = [await freePort(), await freePort()];
    const args = ['--dns-port', String(port), '--admin-port', String(adminPort)];
    const run = await Launched.start([plane], { ...(await fakeEnvoy()), document: REDIRECTED, names: NAMES, args });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(await client(port).resolve4('cart.svc.mesh.local')).toEqual(['241.0.0.1']);
    expect(await client(port).resolve6('cart.svc.mesh.local')).toEqual(['::ffff:241.0.0.1']);
    await expect(client(port).resolve4('gone.svc.mesh.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    const page = await fetch(`http://127.0.0.1:${String(adminPort)}/dns`);
    expect(await page.json()).toMatchObject({ names: 1, waiting: [], isKnown: true, queries: { answered: 2, missing: 1 } });
  });

  it('gives no IPv4-mapped addresses to a proxy with IPv4 alone', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    const args = ['--dns-port', String(port)];
    const run = await Launched.start([plane], { ...(await fakeEnvoy()), document: IPV4_ALONE, names: NAMES, args });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    await expect(client(port).resolve6('cart.svc.mesh.local')).rejects.toMatchObject({ code: 'ENODATA' });
  });

  it('keeps a proxy from being ready while its names have not come, and says SERVFAIL for them', async () => {
    const plane = await FakeControlPlane.start();
    const port = await freePort();
    const run = await Launched.start([plane], {
      ...(await fakeEnvoy()),
      document: REDIRECTED,
      args: ['--dns-port', String(port)],
    });
    await expect.poll(() => run.ready()).toBe('503 the names of the mesh have not come yet');
    await expect(client(port).resolve4('cart.svc.mesh.local')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });

  it.each([
    ['a proxy that is not redirected', DATAPLANE, []],
    ['--dns-port 0', REDIRECTED, ['--dns-port', '0']],
  ])('is not there for %s', async (_, document, args) => {
    const plane = await FakeControlPlane.start();
    const run = await Launched.start([plane], { ...(await fakeEnvoy()), document, args });
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    expect(run.log).not.toContain('dnsPort');
  });

  it('ends the command where its port is taken', async () => {
    const taken = createSocket('udp4').bind(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address();
    const plane = await FakeControlPlane.start();
    const run = await Launched.start([plane], { ...(await fakeEnvoy()), args: ['--dns-port', String(port)] });
    expect(await run.code()).toBe(1);
    expect(run.log).toContain(`--dns-port: port ${String(port)} is in use; each proxy of a machine needs one of its own`);
  });
});
