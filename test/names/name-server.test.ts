// Streams of names between the port for proxies and the client of launchers, over TLS.
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { parseControlPlaneAddress } from '../../src/dataplane/control-plane-address.ts';
import { NameRecords } from '../../src/dataplane/name-records.ts';
import { followNames, type NameStreamEnd } from '../../src/dataplane/name-stream.ts';
import { MeshIndexes } from '../../src/mesh-index/mesh-indexes.ts';
import { NameServer } from '../../src/names/name-server.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { CART, OpenPort } from '../proxy-port/open-port.ts';

const REDIRECTED = { redirectPortInbound: 15006, redirectPortOutbound: 15001 };
const dataplane = (transparentProxying: JsonObject): JsonObject => ({
  networking: { address: '127.1.0.7', inbound: [{ port: 80 }], transparentProxying },
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function zone() {
  const port = new OpenPort();
  const over = new AbortController();
  const log = createLogger('silent');
  const indexes = new MeshIndexes({ store: port.store, log, clock: systemClock, signal: over.signal });
  const server = new NameServer({ indexes, clock: systemClock });
  const put = async (type: string, name: string, spec: JsonObject, status: JsonObject = {}, mesh = 'shop'): Promise<void> =>
    void (await port.store.write({ op: 'put', key: { type, mesh, name }, labels: {}, spec, status }));
  const service = async (name: string, address: string, hostname = `${name}.svc.mesh.local`): Promise<void> => {
    const spec = { selector: {}, ports: [{ port: 80, appProtocol: 'http' }] };
    await put('MeshService', name, spec, { vips: [{ ip: address }], addresses: [{ hostname, origin: 'HostnameGenerator' }] });
  };
  await put('Mesh', 'shop', {}, {}, '');
  await port.start({ serveNames: server.serve });
  await put('Dataplane', CART.name, dataplane(REDIRECTED));
  closing.push(async () => {
    await port.close();
    over.abort();
    await indexes.ended();
  });
  const remove = async (type: string, name: string): Promise<void> =>
    void (await port.store.write({ op: 'delete', key: { type, mesh: 'shop', name } }));
  return { port, server, put, service, remove, launch: async (name?: string, token?: string) => await launch(port, name, token) };
}

async function launch(port: OpenPort, name = CART.name, token?: string) {
  const records = new NameRecords();
  const taken: string[] = [];
  const client = { over: new AbortController(), ended: null as Promise<NameStreamEnd> | null };
  const connect = async (ca = port.certPem): Promise<void> => {
    client.over = new AbortController();
    client.ended = followNames({
      controlPlane: parseControlPlaneAddress(`https://127.0.0.1:${String(port.port)}`),
      ...{ caCert: ca, token: token ?? (await port.token()), mesh: 'shop', name, held: records.versions },
      take: (put, removed) => {
        taken.push(...put.map(([hostname]) => hostname), ...removed.map((hostname) => `-${hostname}`));
        records.apply(put, removed);
      },
      ...{ clock: systemClock, signal: client.over.signal },
    });
  };
  const disconnect = async (): Promise<NameStreamEnd | null> => {
    client.over.abort();
    return await client.ended;
  };
  closing.push(async () => void (await disconnect()));
  await connect();
  return { records, taken, connect, disconnect, ended: async () => await client.ended };
}

describe('the names of a redirected proxy', () => {
  it('come at once, and every change of them comes alone', async () => {
    const { service, remove, launch: start } = await zone();
    await service('catalog', '241.0.0.1');
    const { records, taken } = await start();
    await expect.poll(() => taken).toEqual(['catalog.svc.mesh.local']);
    await service('orders', '241.0.0.2');
    await service('catalog', '241.0.0.9');
    await remove('MeshService', 'catalog');
    await expect.poll(() => [...records.versions.keys()]).toEqual(['orders.svc.mesh.local']);
    records.open(new Set(['241.0.0.2:80']));
    expect(records.lookup('orders.svc.mesh.local')).toEqual(['241.0.0.2']);
  });

  it('come as a difference to a launcher that comes again', async () => {
    const { service, remove, launch: start } = await zone();
    for (const [at, name] of ['a', 'b', 'c'].entries()) await service(name, `241.0.0.${String(at)}`);
    const { taken, connect, disconnect } = await start();
    await expect.poll(() => taken).toHaveLength(3);
    await disconnect();
    await service('b', '241.0.0.8');
    await remove('MeshService', 'c');
    taken.length = 0;
    await connect();
    await expect.poll(() => taken).toEqual(['b.svc.mesh.local', '-c.svc.mesh.local']);
  });

  it('follow its Dataplane', async () => {
    const { service, put, launch: start } = await zone();
    await service('catalog', '241.0.0.1');
    const { records } = await start();
    await expect.poll(() => records.versions.size).toBe(1);
    await put('Dataplane', CART.name, dataplane({ ...REDIRECTED, reachableBackends: { refs: [] } }));
    await expect.poll(() => records.versions.size).toBe(0);
    await put('Dataplane', CART.name, dataplane(REDIRECTED));
    await expect.poll(() => records.versions.size).toBe(1);
    await put('Dataplane', CART.name, dataplane({ redirectPortInbound: 15006 }));
    await expect.poll(() => records.versions.size).toBe(0);
  });

  it('wait for a Dataplane that its Envoy brings later', async () => {
    const { service, put, server, launch: start } = await zone();
    await service('catalog', '241.0.0.1');
    const { taken } = await start('cart-2');
    await put('Dataplane', 'cart-2', dataplane(REDIRECTED));
    await expect.poll(() => taken).toEqual(['catalog.svc.mesh.local']);
    expect(server.size).toBe(1);
  });

  it('end with the Dataplane, and leave nothing behind', async () => {
    const { remove, server, launch: start } = await zone();
    const { ended } = await start();
    await expect.poll(() => server.size).toBe(1);
    await remove('Dataplane', CART.name);
    expect(await ended()).toMatchObject({ reason: 'the Dataplane does not exist any more', isServed: true });
    await expect.poll(() => server.size).toBe(0);
  });

  it('end with the mesh', async () => {
    const { port, server, launch: start } = await zone();
    const { ended } = await start();
    await expect.poll(() => server.size).toBe(1);
    await port.store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'shop' } });
    expect(await ended()).toMatchObject({ isServed: true });
  });

  it('go to the last of two launchers of one Dataplane', async () => {
    const { server, launch: start } = await zone();
    const first = await start();
    await expect.poll(() => server.size).toBe(1);
    const second = await start();
    expect((await first.ended())?.reason).toContain('takes the place of this one');
    await second.disconnect();
    await expect.poll(() => server.size).toBe(0);
  });

  it('are 20,000, and arrive whole', async () => {
    const { put, launch: start } = await zone();
    const addresses = Array.from({ length: 20_000 }, (_, at) => ({ hostname: `name-${String(at)}.svc.mesh.local` }));
    await put('MeshService', 'many', { ports: [{ port: 80 }] }, { vips: [{ ip: '241.0.0.1' }], addresses });
    const { records, taken, connect, disconnect } = await start();
    await expect.poll(() => records.versions.size, { timeout: 20_000 }).toBe(20_000);
    await disconnect();
    taken.length = 0;
    await put('MeshService', 'other', { ports: [{ port: 80 }] }, { vips: [{ ip: '241.0.0.2' }], addresses: [{ hostname: 'x' }] });
    await connect();
    await expect.poll(() => taken, { timeout: 20_000 }).toEqual(['x']);
  });
});

describe('a stream of names', () => {
  it.each([
    ['', 'sent no token'],
    ['a.b.c', 'has a header that cannot be read'],
  ])('is refused with the token %j', async (token, reason) => {
    const { server, launch: start } = await zone();
    const { ended } = await start(CART.name, token);
    const end = await ended();
    expect([end?.isServed, end?.reason]).toEqual([false, expect.stringContaining(reason) as string]);
    expect(server.size).toBe(0);
  });

  it('is refused with the token of another Dataplane', async () => {
    const { port } = await zone();
    const { ended } = await launch(port, CART.name, await port.token({ name: 'other' }));
    expect(await ended()).toMatchObject({ isServed: false });
  });

  it('ends when its token is revoked', async () => {
    const { port, server } = await zone();
    const token = await port.token();
    const { ended } = await launch(port, CART.name, token);
    await expect.poll(() => server.size).toBe(1);
    await port.revoke(token);
    expect(await ended()).toMatchObject({ isServed: true });
  });
});
