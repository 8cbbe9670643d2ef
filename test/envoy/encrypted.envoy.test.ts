// Policies about connections between proxies that have an identity: the versions and ciphers of TLS, and rules for server names.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { objectOf } from '../../src/resource/read-json.ts';
import { serviceSni } from '../../src/resource/sni.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { SteadyRequests } from './steady-requests.ts';

const TRUST_DOMAIN = 'encrypted.east.mesh.local';
let mesh: EnvoyMesh;
let client: Proxy;
let server: Proxy;
let outbound: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('encrypted');
  await mesh.service('cart', { app: 'cart' });
  const cart = await mesh.application('cart', 'http');
  server = await mesh.proxy('cart', {
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
    // A connection to a replaced listener takes one more request.
    await expect
      .poll(async () => {
        expect((await mesh.get(outbound)).status).toBe(200);
        return await handshakes();
      })
      .toBeGreaterThan(before);
  });
});

it('a MeshTLS that changes again and again fails no request', async () => {
  const clients = [Infinity, 3, 1, 1].map((perConnection) => ({ port: outbound, perConnection }));
  const confs: JsonObject[] = [
    { tlsVersion: { min: 'TLS12', max: 'TLS12' } },
    { tlsVersion: { min: 'TLS13', max: 'TLS13' } },
    { tlsVersion: { max: 'TLS12' }, tlsCiphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'] },
    { tlsCiphers: ['ECDHE-RSA-AES256-GCM-SHA384'] },
    { tlsVersion: { min: 'TLS13' } },
  ];
  await mesh.policy('MeshTLS', 'changing', { rules: [{ default: {} }] });
  const requests = await SteadyRequests.during(clients, async (going) => {
    for (const conf of confs) {
      await mesh.put('MeshTLS', 'changing', { spec: { rules: [{ default: conf }] } });
      await mesh.settle();
      await going.more(40);
    }
  });
  expect([...requests.answers.keys()]).toEqual(['cart']);
});

describe('a rule for a server name', () => {
  /** Both names of the port: clients of this zone ask by the first. */
  const NAMES = [
    ['the form of Kuma', 'sni.msvc.encrypted.east.cart.main'],
    ['the hashed form', serviceSni({ type: 'MeshService', mesh: 'encrypted', name: 'cart', labels: {} }, 80) ?? ''],
  ] as const;
  const OTHER = 'sni.msvc.encrypted.east.other.main';
  const named = (value: string): JsonObject => ({ sni: { type: 'Exact', value } });
  let count = 0;
  /** The status of a new client: a connection that is open keeps the listener with which it began. */
  const statusOfNew = async (): Promise<number> => {
    const [proxy, port] = await newClient(`client-${String((count += 1))}`);
    const { status } = await mesh.get(port);
    await proxy.stop();
    return status;
  };
  /** Another content of a policy of the test. */
  const change = async (type: string, name: string, spec: JsonObject): Promise<void> => {
    await mesh.put(type, name, { spec });
    await mesh.settle();
  };
  const ofCarts = { targetRef: { kind: 'Dataplane', labels: { app: 'cart' } } };

  describe.each(['Strict', 'Permissive'])('on a %s inbound', (mode) => {
    const isInMode = async (): Promise<void> => {
      await mesh.policy('MeshTLS', 'mode', { ...ofCarts, rules: [{ default: { mode } }] });
    };

    it.each(NAMES)('denies clients that ask by it: %s', async (_, name) => {
      await isInMode();
      await mesh.policy('MeshTrafficPermission', 'deny', { rules: [{ default: { deny: [named(OTHER)] } }] });
      expect(await statusOfNew()).toBe(200);
      await change('MeshTrafficPermission', 'deny', { rules: [{ default: { deny: [named(name)] } }] });
      expect(await statusOfNew()).toBe(403);
    });

    it.each(NAMES)('allows clients that ask by it: %s', async (_, name) => {
      await isInMode();
      const nobody = [{ default: { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://a/b' } }] } }];
      const all = (await mesh.read('MeshTrafficPermission', 'all'))['spec'];
      await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: nobody } });
      onTestFinished(() => mesh.put('MeshTrafficPermission', 'all', { spec: all ?? {} }));
      await mesh.policy('MeshTrafficPermission', 'allow', { rules: [{ default: { allow: [named(OTHER)] } }] });
      expect(await statusOfNew()).toBe(403);
      await change('MeshTrafficPermission', 'allow', { rules: [{ default: { allow: [named(name)] } }] });
      expect(await statusOfNew()).toBe(200);
    });

    it.each(NAMES)('gives faults to clients that ask by it: %s', async (_, name) => {
      await isInMode();
      const fault = { http: [{ abort: { httpStatus: 418, percentage: 100 } }] };
      const rule = (value: string): JsonObject => ({ ...ofCarts, rules: [{ matches: [named(value)], default: fault }] });
      await mesh.policy('MeshFaultInjection', 'fault', rule(OTHER));
      expect(await statusOfNew()).toBe(200);
      await change('MeshFaultInjection', 'fault', rule(name));
      expect(await statusOfNew()).toBe(418);
    });

    it('logs the requests of clients that ask by it, and no others', async () => {
      await isInMode();
      const path = (log: string): string => join(server.folder, `${mode}-${log}.log`);
      const format = { type: 'Plain', plain: '%REQ(:PATH)%' };
      const rule = (log: string, match: JsonObject): JsonObject => ({
        matches: [match],
        default: { backends: [{ type: 'File', file: { path: path(log), format } }] },
      });
      const id = `spiffe://${TRUST_DOMAIN}/workload/logged-${mode.toLowerCase()}`;
      const spiffeID = { type: 'Exact', value: id };
      const names = NAMES.map(([, name], at) => rule(`named-${String(at)}`, { spiffeID, ...named(name) }));
      const rules = [...names, rule('other', named(OTHER)), rule('other-of-client', { spiffeID, ...named(OTHER) })];
      await mesh.policy('MeshAccessLog', 'log', { ...ofCarts, rules });
      const [, port] = await newClient(`logged-${mode.toLowerCase()}`);
      expect((await mesh.get(port, '/logged')).status).toBe(200);
      const linesOf = async (log: string): Promise<string> => await readFile(path(log), 'utf8').catch(() => '');
      // Envoy writes a log within ten seconds.
      for (const log of ['named-0', 'named-1']) await expect.poll(() => linesOf(log), { timeout: 60_000 }).toContain('/logged');
      for (const log of ['other', 'other-of-client']) expect(await linesOf(log)).toBe('');
    });
  });
});
