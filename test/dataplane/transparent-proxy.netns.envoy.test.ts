// `meridian dataplane run --transparent-proxy` in a network namespace: an Envoy gets the connections of an application that knows nothing of it.
import { link, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it, vi } from 'vitest';
import { MERIDIAN } from '../support/control-plane.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { APPLICATION, PROXY, RedirectedMachine } from '../redirect/redirected-machine.ts';

const ADMIN_PORT = 9_900;
const READINESS_PORT = 9_902;

/** Starts a zone on the loopback address of the machine, with what the proxy needs. */
async function startZone({ namespace }: RedirectedMachine, folder: string, documents: string): Promise<void> {
  const env = { ...process.env, MERIDIAN_GENERAL_WORK_DIR: folder, MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none' };
  const args = ['zone', 'run', '--name', 'east', '--log-level', 'error', '--store-path', await embeddedFolder()];
  const zone = namespace.spawn(MERIDIAN, args, { env });
  zone.stderr.pipe(process.stderr);
  await vi.waitFor(async () => {
    const { code, stderr } = await namespace.run(MERIDIAN, ['apply', '-f', '-'], { input: documents });
    expect(code, stderr).toBe(0);
  });
}

/** A mesh with a service whose endpoint has no proxy. */
const documentsOf = (address: string): string => `type: Mesh
name: shop
skipCreatingInitialPolicies: ['*']
---
type: HostnameGenerator
name: local
spec:
  selector: { meshService: { matchLabels: { kuma.io/origin: zone } } }
  template: '{{ .DisplayName }}.svc.mesh.local'
---
type: MeshService
mesh: shop
name: catalog
labels: { kuma.io/origin: zone }
spec:
  selector: { dataplaneLabels: { matchLabels: { app: catalog } } }
  ports: [{ port: 80, targetPort: 5432, appProtocol: tcp }]
---
type: Dataplane
mesh: shop
name: catalog-1
labels: { app: catalog, kuma.io/origin: zone }
networking:
  address: ${address}
  inbound: [{ port: 5432, protocol: tcp }]
`;

it('an application calls a service by name, and other connections come to where they were going', async () => {
  const machine = await RedirectedMachine.create({ hasProxy: false });
  const { namespace } = machine;
  const { address, gateway } = namespace;
  const folder = temporaryFolder();
  await startZone(machine, folder, documentsOf(gateway));
  await machine.install('--exclude-outbound-ports', '5433', '--redirect-dns');

  // The user of the proxy may read neither the home folder of root nor a private folder.
  const shared = temporaryFolder();
  const envoy = join(shared, 'envoy');
  await link(inject('envoy'), envoy).catch(async () => await namespace.outputOf('cp', [inject('envoy'), envoy]));
  await namespace.outputOf('cp', [join(folder, 'east/dp-server/cert.pem'), join(shared, 'ca.pem')]);
  await namespace.outputOf('chmod', ['-R', 'a+rX', shared]);
  await writeFile(
    join(shared, 'cart.yaml'),
    `type: Dataplane\nmesh: shop\nname: cart-1\nnetworking:\n  address: ${address}\n  inbound:\n    - { port: 8080, name: main, protocol: tcp, serviceAddress: 127.0.0.1 }\n`,
  );
  const launcher = namespace.spawn(MERIDIAN, [
    ...['dataplane', 'run', '--transparent-proxy', '--user', String(PROXY), '-d', join(shared, 'cart.yaml'), '--envoy', envoy],
    ...['--ca-cert-file', join(shared, 'ca.pem'), '--work-dir', join(shared, 'work'), '--admin-port', String(ADMIN_PORT)],
    ...['--drain-time', '0s'],
  ]);
  let log = '';
  launcher.stdout.on('data', (data) => (log += String(data)));
  launcher.stderr.on('data', (data) => (log += String(data)));
  const ready = `http 127.0.0.1 ${String(READINESS_PORT)}`;
  await vi.waitFor(async () => expect((await machine.ask(APPLICATION, [ready]))[ready], log).toBe('200 LIVE'));

  const users = await namespace.outputOf('sh', ['-c', `ps -o uid= -p $(pgrep -f '^${envoy} ')`]);
  expect(users.trim()).toBe(String(PROXY));
  const named = 'tcp catalog.svc.mesh.local 80';
  await vi.waitFor(async () => expect(await machine.ask(APPLICATION, [named]), log).toEqual({ [named]: 'outside:5432' }));
  const outside = [`tcp ${gateway} 80`, `tcp ${gateway} 5433`];
  expect(await machine.ask(APPLICATION, outside)).toEqual({
    [`tcp ${gateway} 80`]: 'outside:80',
    [`tcp ${gateway} 5433`]: 'outside:5433',
  });
  expect(await machine.askFromOutside([`tcp ${address} 8080`])).toEqual({ [`tcp ${address} 8080`]: 'application:8080' });
  // Nobody is let in by the ports of the redirection: the proxy would call itself.
  const ports = [`tcp ${address} 15006`, `tcp ${address} 15001`];
  expect(Object.values(await machine.askFromOutside(ports))).toEqual(['', '']);
  const stats = await namespace.outputOf(process.execPath, [
    ...[
      '-e',
      `fetch('http://127.0.0.1:${String(ADMIN_PORT)}/stats?filter=upstream_cx_total').then(async (a) => console.log(await a.text()))`,
    ],
  ]);
  // One of the application, as the port 5433 is excluded, and one of a client.
  expect(stats).toMatch(/^cluster\.self_transparentproxy_passthrough_outbound_ipv4\.upstream_cx_total: 1$/m);
  expect(stats).toMatch(/^cluster\.self_transparentproxy_passthrough_inbound_ipv4\.upstream_cx_total: 0$/m);
  expect(stats).toMatch(/^cluster\..*main.*\.upstream_cx_total: 1$/m);
});
