// A redirected proxy that declares no outbounds: its application calls services at their virtual addresses, with all policies.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { onSocketFile, Redirected, withProxyLine, type Destination } from './redirected.ts';

const MESH = 'virtual-outbounds';
const WEB = { kind: 'Dataplane', labels: { app: 'web' } };
const SPIFFE = `spiffe://${MESH}.east.mesh.local/workload`;

const labelsOf = (app: string): Labels => ({ app, 'kuma.io/workload': app, hasProxy: 'yes' });

let mesh: EnvoyMesh;
let web: Proxy;
let out: Redirected;

/** The virtual address of a service, once its zone has computed it. */
async function placeOf(type: string, name: string, port: number): Promise<Destination> {
  return await vi.waitFor(async () => {
    const { status } = await mesh.read(type, name);
    const { vip, vips } = objectOf(status);
    const address = textOf(objectOf(vip ?? objectsOf(vips)[0])['ip']);
    expect(address).not.toBe('');
    return { address, port };
  });
}

async function permit(name: string, conf: JsonObject): Promise<void> {
  const targetRef = { kind: 'Dataplane', labels: { app: 'cart' } };
  await mesh.put('MeshTrafficPermission', name, { spec: { targetRef, rules: [{ default: conf }] } });
}

beforeAll(async () => {
  mesh = await EnvoyMesh.open(MESH);
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      // Endpoints without a proxy have none.
      selector: { dataplane: { matchLabels: { hasProxy: 'yes' } } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  await permit('web', { allow: [{ spiffeID: { type: 'Exact', value: `${SPIFFE}/web` } }] });
  await mesh.put('MeshTrafficPermission', 'egress', {
    spec: {
      targetRef: { kind: 'Dataplane', labels: { app: 'egress' } },
      rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }],
    },
  });
  const cart = await mesh.application('cart', 'http');
  const inbound = [{ name: 'main', port: await freePort(), servicePort: cart.port, protocol: 'http' }];
  await mesh.proxy('cart', { labels: labelsOf('cart'), inbound });
  await mesh.service('cart', { app: 'cart' });
  await mesh.endpoint('canary-1', { app: 'canary' });
  await mesh.service('canary', { app: 'canary' });
  await mesh.endpoint('mail-1', { app: 'mail' }, 'tcp');
  await mesh.service('mail', { app: 'mail' }, 'tcp', 25);
  const outside = await mesh.application('outside', 'http');
  await mesh.put('MeshExternalService', 'outside', {
    spec: {
      match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
      endpoints: [{ address: '127.0.0.1', port: outside.port }],
    },
  });
  const zoneEgress = { address: '127.0.0.1', port: await freePort() };
  await mesh.proxy('egress', { labels: labelsOf('egress'), listeners: { zoneEgress } });
  const transparentProxying = { redirectPortOutbound: await freePort(), ipFamilyMode: 'IPv4' };
  web = await mesh.proxy('web', { labels: labelsOf('web'), listeners: { transparentProxying } });
  out = new Redirected(web.folder, 'outbound');
  const onFile = { appendModifications: [onSocketFile(web.folder, 'outbound')] };
  await mesh.put('MeshProxyPatch', 'socket-file', { spec: { targetRef: WEB, default: onFile } });
  const proxyLine = { appendModifications: [withProxyLine('outbound', false)] };
  await mesh.put('MeshProxyPatch', 'proxy-line', { spec: { targetRef: WEB, default: proxyLine } });
  await mesh.settle();
});
afterAll(() => mesh.close());

const answersAt = async (place: Destination, expected: string): Promise<void> => {
  await vi.waitFor(async () => expect(await out.get(place, 'any.example')).toBe(expected));
};

it('calls a service with TLS at its virtual address, and is permitted by its identity', async () => {
  const cart = await placeOf('MeshService', 'cart', 80);
  await answersAt(cart, '200 cart');
  const cluster = `kri_msvc_${MESH}_east__cart_main`;
  await vi.waitFor(async () => expect(await web.sum(new RegExp(`^cluster\\.${cluster}\\.ssl\\.handshake$`))).toBeGreaterThan(0));
  await permit('web', { allow: [{ spiffeID: { type: 'Exact', value: `${SPIFFE}/other` } }] });
  await vi.waitFor(async () => expect(await out.get(cart, 'any.example')).toMatch(/^403/));
  await permit('web', { allow: [{ spiffeID: { type: 'Exact', value: `${SPIFFE}/web` } }] });
  await answersAt(cart, '200 cart');
});

it('sends the requests to a virtual address where a route leads', async () => {
  const cart = await placeOf('MeshService', 'cart', 80);
  const backendRefs = [{ kind: 'MeshService', name: 'canary', port: 80, weight: 1 }];
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: { backendRefs } }];
  const to = [{ targetRef: { kind: 'MeshService', name: 'cart', sectionName: 'main' }, rules }];
  await mesh.policy('MeshHTTPRoute', 'canary', { targetRef: WEB, to });
  await answersAt(cart, '200 canary-1');
});

it('keeps the time limits of a service at its virtual address', async () => {
  const cart = await placeOf('MeshService', 'cart', 80);
  const conf = { http: { requestTimeout: '1ms' } };
  const to = [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: conf }];
  await mesh.policy('MeshTimeout', 'short', { targetRef: WEB, to });
  await vi.waitFor(async () => expect(await out.get(cart, 'any.example')).toMatch(/^504/));
});

it('calls a server that speaks first', async () => {
  const mail = await placeOf('MeshService', 'mail', 25);
  await vi.waitFor(async () => expect(await out.say(mail)).toContain('mail-1'));
});

it('calls an external service at its virtual address through the egress', async () => {
  await answersAt(await placeOf('MeshExternalService', 'outside', 80), '200 outside');
});

it('reaches a service that comes, and no longer one that goes', async () => {
  await mesh.endpoint('late-1', { app: 'late' });
  await mesh.service('late', { app: 'late' });
  const late = await placeOf('MeshService', 'late', 80);
  await answersAt(late, '200 late-1');
  await mesh.delete('MeshService', 'late');
  await vi.waitFor(async () => expect(await web.admin('/listeners')).not.toContain(`${late.address}:80`));
});

it('reaches what its Dataplane says', async () => {
  const [cart, canary] = [await placeOf('MeshService', 'cart', 80), await placeOf('MeshService', 'canary', 80)];
  const { networking, labels } = await mesh.read('Dataplane', 'web');
  const limited = objectOf(networking);
  const reachableBackends = { refs: [{ kind: 'MeshService', name: 'canary', port: 80 }] };
  const transparentProxying = { ...objectOf(limited['transparentProxying']), reachableBackends };
  await mesh.put('Dataplane', 'web', { labels: objectOf(labels), networking: { ...limited, transparentProxying } });
  await vi.waitFor(async () => expect(await web.admin('/listeners')).not.toContain(`${cart.address}:80`));
  await answersAt(canary, '200 canary-1');
});
