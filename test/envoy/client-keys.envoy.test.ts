// An egress shows its certificate to an external service with a key that it has by SDS: requests arrive while the key changes, and no dump of
// the proxy holds a byte of it (decision 93).
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSelfSigned, type Certificate } from '../../src/base/self-signed.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { secretSpec } from '../../src/resource/secret-data.ts';
import { freePort } from '../support/free-port.ts';
import { keyFinds } from '../support/key-finds.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';

const MESH = 'client-keys';
const SECRET = { type: 'Secret', secretRef: { kind: 'Secret', name: 'pair' } };

let mesh: EnvoyMesh;
let egress: Proxy;
let outside: Server;
let port: number;
let pairs: { readonly one: Certificate; readonly two: Certificate };

beforeAll(async () => {
  const [one, two, server] = await Promise.all([
    createSelfSigned('client', ['one'], new Date()),
    createSelfSigned('client', ['two'], new Date()),
    createSelfSigned('server', ['bank.example'], new Date()),
  ]);
  pairs = { one, two };
  outside = createServer(
    { cert: server.certPem, key: server.keyPem, requestCert: true, ca: [one.certPem, two.certPem] },
    (request, response) => {
      // Each request of the test shows its certificate.
      response.setHeader('connection', 'close').end((request.socket as TLSSocket).getPeerCertificate().subjectaltname);
    },
  );
  outside.listen(0, '127.0.0.1');
  await once(outside, 'listening');
  mesh = await EnvoyMesh.open(MESH);
  await mesh.put('MeshTrafficPermission', 'all', {
    spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }] },
  });
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  await write(one);
  await mesh.put('MeshExternalService', 'bank', {
    spec: {
      match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
      endpoints: [{ address: '127.0.0.1', port: (outside.address() as AddressInfo).port }],
      tls: { enabled: true, verification: { mode: 'SkipCA', clientCert: SECRET, clientKey: SECRET } },
    },
  });
  const zoneEgress = { address: '127.0.0.1', port: await freePort() };
  egress = await mesh.proxy('egress', { labels: { app: 'egress', 'kuma.io/workload': 'egress' }, listeners: { zoneEgress } });
  port = await freePort();
  const backendRef = { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'bank' } };
  await mesh.proxy('cart', { labels: { app: 'cart', 'kuma.io/workload': 'cart' }, outbounds: [{ port, backendRef }] });
});

afterAll(async () => {
  await mesh.close();
  outside.close();
});

/** One Secret with the certificate and its key. */
async function write({ certPem, keyPem }: Certificate): Promise<void> {
  await mesh.put('Secret', 'pair', secretSpec(certPem + keyPem));
}

const shown = async (): Promise<string> => (await mesh.get(port)).body;

/** Everything that leaves the zone and the Envoy about the configuration of the egress. */
async function dumps(): Promise<string[]> {
  const asked = ['_config', '_config?shadow=true&include=diff', 'xds', 'xds?include_eds=true', 'stats?format=json', 'clusters'];
  const answers = asked.map(async (what) => await mesh.zone.text(`/meshes/${MESH}/dataplanes/egress/${what}`));
  return [...(await Promise.all(answers)), await egress.admin('/config_dump?include_eds'), await egress.admin('/certs')];
}

it('shows the certificate of one Secret, and a changed one without a failed request', async () => {
  await expect.poll(shown, { timeout: 20_000 }).toBe('DNS:one');
  await write(pairs.two);
  const statuses: number[] = [];
  await expect
    .poll(
      async () => {
        const { status, body } = await mesh.get(port);
        statuses.push(status);
        return body;
      },
      { timeout: 20_000 },
    )
    .toBe('DNS:two');
  expect(new Set(statuses)).toEqual(new Set([200]));
  await write(pairs.one);
  await expect.poll(shown, { timeout: 20_000 }).toBe('DNS:one');
});

it('holds no byte of the key in any dump, whatever a patch tries', async () => {
  const name = `egress:tls:kri_extsvc_${MESH}_east__bank_80`;
  const socket = '/transportSocketMatches/0/transportSocket/typedConfig/commonTlsContext';
  const patch = (operation: JsonObject): JsonObject => ({
    cluster: { operation: 'Patch', match: { name }, jsonPatches: [operation] },
  });
  const from = `${socket}/tlsCertificates/0/privateKey/inlineBytes`;
  const sds = { name: `egress:key:kri_extsvc_${MESH}_east__bank_80`, sdsConfig: { ads: {}, resourceApiVersion: 'V3' } };
  const tls = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
  const added = {
    ...{ name: 'own', connectTimeout: '1s' },
    transportSocket: { name: 'tls', typedConfig: { '@type': tls, commonTlsContext: { tlsCertificateSdsSecretConfigs: [sds] } } },
  };
  await mesh.policy('MeshProxyPatch', 'thief', {
    default: {
      appendModifications: [
        patch({ op: 'copy', from, path: '/altStatName' }),
        patch({ op: 'move', from, path: '/altStatName' }),
        { cluster: { operation: 'Add', value: JSON.stringify(added) } },
      ],
    },
  });
  const all = await dumps();
  expect(all.map((dump) => dump.includes(name) || dump.length > 0)).toEqual(all.map(() => true));
  for (const dump of all) expect(keyFinds(dump, pairs.one.keyPem)).toEqual([]);
  expect(await egress.admin('/config_dump')).not.toContain('"own"');
  expect(await shown()).toBe('DNS:one');
});
