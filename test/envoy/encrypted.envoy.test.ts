// Policies about connections between proxies that have an identity: the versions and ciphers of TLS.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { objectOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';

const TRUST_DOMAIN = 'encrypted.east.mesh.local';
let mesh: EnvoyMesh;
let client: Proxy;
let outbound: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('encrypted');
  await mesh.service('cart', { app: 'cart' });
  const cart = await mesh.application('cart', 'http');
  await mesh.proxy('cart', {
    labels: { app: 'cart', 'kuma.io/workload': 'cart' },
    inbound: [{ name: 'main', port: await freePort(), servicePort: cart.port, protocol: 'http' }],
  });
  [client, outbound] = await newClient('checkout');
  const everyone = { spiffeID: { type: 'Prefix', value: `spiffe://${TRUST_DOMAIN}` } };
  await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: [{ default: { allow: [everyone] } }] } });
  const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
  await mesh.put('MeshIdentity', 'identity', { spec: { selector: { dataplane: { matchLabels: {} } }, provider } });
  await vi.waitFor(async () => {
    const { tls } = objectOf((await mesh.read('MeshService', 'cart'))['status']);
    expect(tls).toEqual({ status: 'Ready', enforced: true });
  });
  await mesh.settle();
});
afterAll(() => mesh.close());

/** A proxy that calls the carts, and the port of its outbound. */
async function newClient(name: string): Promise<[Proxy, number]> {
  const { list, portOf } = await mesh.outbounds(['cart']);
  const proxy = await mesh.proxy(name, { labels: { app: name, 'kuma.io/workload': name }, outbounds: list });
  return [proxy, portOf('cart')];
}

describe('a MeshTLS', () => {
  it.each<[conf: JsonObject, version: string]>([
    [{ tlsVersion: { min: 'TLS13' } }, 'TLSv1.3'],
    [{ tlsVersion: { max: 'TLS11' } }, 'TLSv1.1'],
    [{ tlsVersion: { max: 'TLS10' } }, 'TLSv1'],
    [{ tlsCiphers: ['ECDHE-RSA-AES256-GCM-SHA384'] }, 'TLSv1.2'],
    [{ tlsCiphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'] }, 'TLSv1.2'],
  ])('with %j leaves proxies a version and a cipher in common: %s', async (conf, version) => {
    const handshakes = (): Promise<number> =>
      client.sum(new RegExp(String.raw`^cluster\.kri_msvc_.*_cart_main\.ssl\.versions\.${version.replace('.', '\\.')}$`));
    const before = await handshakes();
    await mesh.policy('MeshTLS', 'tls', { rules: [{ default: conf }] });
    expect((await mesh.get(outbound)).status).toBe(200);
    // Envoy publishes what its workers count.
    await expect.poll(handshakes).toBeGreaterThan(before);
  });
});
