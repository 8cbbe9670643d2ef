// Each part on the way of a request is injured, and every command that should know is asked: it has the one sentence that leads to the cause,
// and loses it when the part is well again. Two zones with a global: cart in east calls orders there, catalog in west, and outside.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { runMeridian } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'hurt';
const { certPem, keyPem } = await createSelfSigned('client', ['cart'], new Date());

let planes: { readonly global: ZoneProcess; readonly east: ZoneProcess; readonly west: ZoneProcess };
let east: EnvoyMesh;
let west: EnvoyMesh;
let orders: Application;
let catalog: Application;
let outside: Application;
const ports = { ingress: 0, egress: 0, catalog: 0, orders: 0, outside: 0, server: 0, ordersServer: 0, application: 0 };
const proxies = new Map<string, Proxy>();

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });
const listener = (port: number): JsonObject => ({ address: '127.0.0.1', port });
const inboundOf = (port: number, application: Application): JsonObject[] => [
  { name: 'main', port, servicePort: application.port, serviceAddress: '127.0.0.1', protocol: 'http' },
];
const pair = { 'client-cert': certPem, 'client-key': keyPem };

/** The parts of the mesh, each as it is put when it is well. */
const parts = {
  ingress: () => ({
    ...{ labels: workload('ingress') },
    listeners: { zoneIngress: { ...listener(ports.ingress), advertisedAddress: '127.0.0.1', advertisedPort: ports.ingress } },
  }),
  egress: () => ({ labels: workload('egress'), listeners: { zoneEgress: listener(ports.egress) } }),
  catalog: () => ({ labels: workload('catalog'), inbound: inboundOf(ports.server, catalog) }),
  orders: () => ({ labels: workload('orders'), inbound: inboundOf(ports.ordersServer, orders) }),
};
type Part = keyof typeof parts;

async function putGlobal(type: string, path: string, name: string, more: JsonObject): Promise<void> {
  await planes.global.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, ...more });
}

const identity = (): Promise<void> =>
  putGlobal('MeshIdentity', 'meshidentities', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });

async function secret(name: keyof typeof pair): Promise<void> {
  await putGlobal('Secret', 'secrets', name, { data: Buffer.from(pair[name]).toString('base64') });
}

/** The document of a part. */
function dataplane(part: Part): JsonObject {
  const { labels, inbound, listeners }: { labels: JsonObject; inbound?: JsonObject[]; listeners?: JsonObject } = parts[part]();
  return { labels, networking: { address: '127.0.0.1', ...(inbound !== undefined && { inbound }), ...listeners } };
}

/** Says that the application of catalog listens on another address. */
async function catalogAt(serviceAddress: string): Promise<void> {
  const { networking } = await west.read('Dataplane', 'catalog');
  const inbound = objectsOf(objectOf(networking)['inbound']).map((one) => ({ ...one, serviceAddress }));
  await west.put('Dataplane', 'catalog', { labels: workload('catalog'), networking: { ...objectOf(networking), inbound } });
}

const secretRef = (name: string): JsonObject => ({ type: 'Secret', secretRef: { kind: 'Secret', name } });

async function external(more: JsonObject): Promise<void> {
  const match = { type: 'HostnameGenerator', port: 80, protocol: 'http' };
  const spec = { match, endpoints: [listener(outside.port)], ...more };
  await putGlobal('MeshExternalService', 'meshexternalservices', 'outside', { spec });
}

const routeSpec = (backendRefs: JsonObject[]): JsonObject => {
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: { backendRefs } }];
  return { to: [{ targetRef: { kind: 'MeshService', name: 'orders' }, rules }] };
};

const route = (backendRefs: JsonObject[]): Promise<void> => east.put('MeshHTTPRoute', 'lost', { spec: routeSpec(backendRefs) });

const timeout = (name: string, service: string): Promise<void> =>
  east.put('MeshTimeout', name, {
    spec: { to: [{ targetRef: { kind: 'MeshService', name: service }, default: { http: { requestTimeout: '10s' } } }] },
  });

async function start(mesh: EnvoyMesh, part: Part): Promise<void> {
  proxies.set(part, await mesh.proxy(part, parts[part]()));
}

beforeAll(async () => {
  const [global, eastZone, westZone] = await ZoneProcess.startFleet(['east', 'west']);
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  planes = { global, east: eastZone, west: westZone };
  for (const key of Object.keys(ports) as (keyof typeof ports)[]) ports[key] = await freePort();
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  const allow = [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }];
  await putGlobal('MeshTrafficPermission', 'meshtrafficpermissions', 'all', { spec: { rules: [{ default: { allow } }] } });
  await identity();
  for (const name of Object.keys(pair) as (keyof typeof pair)[]) await secret(name);
  [east, west] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  [catalog, orders] = [await west.application('catalog', 'http'), await Application.listen('orders', 'http', ports.application)];
  outside = await east.application('outside', 'http');
  await external({});
  await west.service('catalog', { app: 'catalog' });
  await east.service('orders', { app: 'orders' });
  await Promise.all([
    (async () => {
      await start(west, 'catalog');
      await start(west, 'ingress');
    })(),
    (async () => {
      await start(east, 'orders');
      await start(east, 'egress');
    })(),
  ]);
  const labels = { 'kuma.io/display-name': 'catalog', 'kuma.io/zone': 'west' };
  const outbounds = [
    { port: ports.catalog, backendRef: { kind: 'MeshService', labels, port: 80 } },
    { port: ports.orders, backendRef: { kind: 'MeshService', name: 'orders', port: 80 } },
    { port: ports.outside, backendRef: { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' } } },
  ];
  proxies.set('cart', await east.proxy('cart', { labels: workload('cart'), outbounds }));
  await isWell();
});
afterAll(async () => {
  await Promise.all([east, west].map((mesh) => mesh.close()));
  await orders.close();
  await Promise.all(Object.values(planes).map((plane) => plane.stop()));
});

async function isWell(): Promise<void> {
  await vi.waitFor(async () => {
    for (const port of [ports.catalog, ports.orders, ports.outside]) expect((await east.get(port)).status).toBe(200);
  });
}

let key: { readonly name: string; readonly data: string } | null = null;

/** The Secret with the key of the MeshIdentity in a zone. */
async function keyOf(zone: ZoneProcess): Promise<{ readonly name: string; readonly data: string }> {
  const secrets = objectsOf((await zone.read(`/meshes/${MESH}/secrets`))['items']);
  const found = secrets.find(({ name }) => textOf(name).endsWith('-private-key'));
  return { name: textOf(found?.['name']), data: textOf(found?.['data']) };
}

/** All that a command prints. */
async function said(plane: keyof typeof planes, command: string): Promise<string> {
  const inMesh = /^(apply|inspect (problems|zones|meshes))/.test(command) ? [] : ['--mesh', MESH];
  const { stdout, stderr } = await runMeridian([...command.split(' '), '--address', planes[plane].address, ...inMesh]);
  return stdout + stderr;
}

/** @property asked which command of which control plane has the sentence @property answer of the request that fails */
type Injury = {
  readonly what: string;
  readonly injure: () => Promise<void>;
  readonly heal: () => Promise<void>;
  readonly asked: readonly (readonly [plane: 'global' | 'east' | 'west', command: string, sentence: string])[];
  readonly request?: readonly [port: keyof typeof ports, status: number];
};

const injuries: readonly Injury[] = [
  {
    what: 'the Dataplane of the server is gone',
    injure: () => west.delete('Dataplane', 'catalog'),
    heal: () =>
      west.put('Dataplane', 'catalog', {
        networking: { address: '127.0.0.1', inbound: parts.catalog().inbound },
        labels: workload('catalog'),
      }),
    asked: [
      ['global', 'inspect service catalog', 'its selector finds no Dataplane with inbounds'],
      ['west', 'inspect service catalog', 'its selector finds no Dataplane with inbounds'],
      ['east', 'inspect service catalog', 'no server there is available'],
      ['east', 'inspect problems', 'no server there is available'],
    ],
    request: ['catalog', 503],
  },
  {
    what: 'the proxy of the server is offline',
    injure: async () => await proxies.get('catalog')?.stop('SIGKILL'),
    heal: () => start(west, 'catalog'),
    asked: [
      ['global', 'inspect service catalog', 'its proxy is not connected'],
      ['global', 'inspect problems', 'no server of catalog (its proxy is not connected)'],
      ['west', 'inspect service catalog', 'its proxy is not connected'],
      ['west', 'inspect problems', 'no server of catalog (its proxy is not connected)'],
      ['west', 'inspect dataplanes', 'Offline'],
    ],
    request: ['catalog', 503],
  },
  {
    what: 'the application of a server is dead',
    injure: () => orders.close(),
    heal: async () => {
      orders = await Application.listen('orders', 'http', ports.application);
    },
    asked: [
      ['global', 'inspect problems', 'orders: the application of inbound main does not answer on 127.0.0.1:'],
      ['global', 'inspect service orders', 'the application of inbound main does not answer on 127.0.0.1:'],
      ['global', 'inspect dataplane orders', 'the application of inbound main does not answer on 127.0.0.1:'],
      ['east', 'inspect problems', 'orders: the application of inbound main does not answer on 127.0.0.1:'],
      ['east', 'inspect service orders', 'the application of inbound main does not answer on 127.0.0.1:'],
      ['east', 'inspect dataplane orders', 'the application of inbound main does not answer on 127.0.0.1:'],
    ],
    request: ['orders', 503],
  },
  {
    what: 'the application of a server in another zone listens elsewhere',
    injure: () => catalogAt('127.0.0.9'),
    heal: () => catalogAt('127.0.0.1'),
    asked: [
      ['global', 'inspect problems', 'catalog: the application of inbound main does not answer on 127.0.0.9:'],
      ['global', 'inspect service catalog', 'the application of inbound main does not answer on 127.0.0.9:'],
      ['west', 'inspect problems', 'the application of inbound main does not answer on 127.0.0.9:'],
      ['west', 'inspect service catalog', 'the application of inbound main does not answer on 127.0.0.9:'],
      ['west', 'inspect dataplane catalog', 'the application of inbound main does not answer on 127.0.0.9:'],
    ],
    request: ['catalog', 503],
  },
  {
    what: 'the ingress is offline',
    injure: async () => await proxies.get('ingress')?.stop('SIGKILL'),
    heal: () => start(west, 'ingress'),
    asked: [
      ['global', 'inspect service catalog', 'ingress is not connected'],
      ['global', 'inspect problems', 'the ingress ingress of mesh hurt in zone west is not connected'],
      ['west', 'inspect problems', 'the ingress ingress of mesh hurt in zone west is not connected'],
      ['east', 'inspect service catalog', 'zone west has no ready ingress'],
      ['east', 'inspect problems', 'zone west has no ready ingress'],
    ],
    request: ['catalog', 503],
  },
  {
    what: 'the egress is offline',
    injure: async () => await proxies.get('egress')?.stop('SIGKILL'),
    heal: () => start(east, 'egress'),
    asked: [
      ['global', 'inspect problems', 'the egress egress of mesh hurt in zone east is not connected'],
      ['east', 'inspect problems', 'the egress egress of mesh hurt in zone east is not connected'],
      ['east', 'inspect service outside', 'egress is not connected'],
    ],
    request: ['outside', 503],
  },
  {
    what: 'the Dataplane of the ingress is gone',
    injure: () => west.delete('Dataplane', 'ingress'),
    heal: () => west.put('Dataplane', 'ingress', dataplane('ingress')),
    asked: [
      [
        'global',
        'inspect service catalog',
        'zone west has no ready ingress: give a Dataplane of its mesh there networking.zoneIngress',
      ],
      ['east', 'inspect service catalog', 'zone west has no ready ingress: give a Dataplane'],
      ['east', 'inspect problems', 'zone west has no ready ingress: give a Dataplane'],
    ],
    request: ['catalog', 503],
  },
  {
    what: 'the Dataplane of the egress is gone',
    injure: () => east.delete('Dataplane', 'egress'),
    heal: () => east.put('Dataplane', 'egress', dataplane('egress')),
    asked: [
      [
        'east',
        'inspect service outside',
        'zone east has no ready egress: give a Dataplane of its mesh there networking.zoneEgress',
      ],
      ['east', 'inspect problems', 'zone east has no ready egress: give a Dataplane'],
    ],
    request: ['outside', 503],
  },
  {
    what: 'the Secret with the key of the MeshIdentity is lost',
    injure: async () => {
      key = await keyOf(planes.east);
      await east.delete('Secret', key.name);
    },
    heal: async () => {
      if (key !== null) await east.put('Secret', key.name, { data: key.data });
    },
    asked: [
      ['east', 'inspect problems', 'MeshIdentity identity of mesh hurt is not ready'],
      ['east', 'inspect identity identity', '-private-key is missing; restore it'],
    ],
  },
  {
    what: 'a MeshIdentity is not ready',
    injure: () =>
      east.put('MeshIdentity', 'own', {
        spec: {
          selector: { dataplane: { matchLabels: { app: 'none' } } },
          provider: { type: 'Bundled', bundled: { ca: { certificate: secretRef('lost'), privateKey: secretRef('lost') } } },
        },
      }),
    heal: () => east.delete('MeshIdentity', 'own'),
    asked: [
      ['global', 'inspect problems', 'MeshIdentity own of mesh hurt in zone east is not ready'],
      ['east', 'inspect problems', 'MeshIdentity own of mesh hurt in zone east is not ready'],
      ['east', 'inspect problems', 'a given authority is not supported: enable autogenerate'],
      ['east', 'inspect identity own', 'a given authority is not supported: enable autogenerate'],
    ],
  },
  {
    what: 'a Secret of a MeshExternalService is missing',
    injure: async () => {
      await external({
        tls: {
          enabled: true,
          verification: { mode: 'SkipCA', clientCert: secretRef('client-cert'), clientKey: secretRef('lost') },
        },
      });
    },
    heal: () => external({}),
    asked: [
      ['global', 'inspect problems', 'names the Secret "lost", which does not exist'],
      ['global', 'inspect service outside', 'names the Secret "lost", which does not exist'],
      ['east', 'inspect problems', 'names the Secret "lost", which does not exist'],
      ['east', 'inspect service outside', 'names the Secret "lost", which does not exist'],
      ['east', 'inspect dataplane egress', 'the Secret "lost"'],
    ],
    request: ['outside', 503],
  },
  {
    what: 'a route leads to a service that does not exist',
    injure: () => route([{ kind: 'MeshService', name: 'nothing', port: 80 }]),
    heal: () => east.delete('MeshHTTPRoute', 'lost'),
    asked: [
      ['global', 'inspect problems', 'MeshService nothing does not exist'],
      ['east', 'inspect problems', 'MeshService nothing does not exist'],
      ['east', 'inspect policy meshhttproute lost', 'MeshService nothing does not exist'],
      ['east', 'inspect dataplane cart', 'MeshService nothing does not exist'],
    ],
    request: ['orders', 500],
  },
  {
    what: 'a route leads to a port that does not exist',
    injure: () => route([{ kind: 'MeshService', name: 'orders', port: 81 }]),
    heal: () => east.delete('MeshHTTPRoute', 'lost'),
    asked: [
      ['global', 'inspect problems', 'port 81'],
      ['east', 'inspect problems', 'port 81'],
      ['east', 'inspect policy meshhttproute lost', 'port 81'],
      ['east', 'inspect dataplane cart', 'port 81'],
    ],
    request: ['orders', 500],
  },
  {
    what: 'a policy is for a service that does not exist',
    injure: () => timeout('lost', 'nothing'),
    heal: () => east.delete('MeshTimeout', 'lost'),
    asked: [
      ['global', 'inspect problems', 'MeshService nothing does not exist'],
      ['east', 'inspect problems', 'MeshService nothing does not exist'],
      ['east', 'inspect policy meshtimeout lost', 'MeshService nothing does not exist'],
    ],
  },
  {
    what: 'another policy overrides a policy entirely',
    injure: async () => {
      await timeout('a-winner', 'orders');
      await timeout('loser', 'orders');
    },
    heal: async () => {
      await east.delete('MeshTimeout', 'a-winner');
      await east.delete('MeshTimeout', 'loser');
    },
    asked: [
      ['global', 'inspect policy meshtimeout loser', 'a-winner'],
      ['east', 'inspect policy meshtimeout loser', 'a-winner'],
    ],
  },
  {
    what: 'a MeshTrafficPermission denies the client',
    injure: () => {
      const deny = [{ spiffeID: { type: 'Exact', value: `spiffe://${MESH}.east.mesh.local/workload/cart` } }];
      const targetRef = { kind: 'Dataplane', labels: { app: 'orders' } };
      return east.put('MeshTrafficPermission', 'no-cart', { spec: { targetRef, rules: [{ default: { deny } }] } });
    },
    heal: () => east.delete('MeshTrafficPermission', 'no-cart'),
    asked: [
      ['global', 'inspect dataplane orders', 'no-cart'],
      ['east', 'inspect dataplane orders', 'no-cart'],
      ['east', 'inspect service orders', 'its MeshTrafficPermission no-cart denies spiffe://hurt.east.mesh.local/workload/cart'],
    ],
    request: ['orders', 403],
  },
  {
    what: 'an Envoy refuses a part of its configuration',
    injure: () => {
      const targetRef = { kind: 'Dataplane', labels: { app: 'cart' } };
      const added = { cluster: { operation: 'Add', value: 'name: extra\nconnect_timeout: 0s' } };
      return east.put('MeshProxyPatch', 'bad', { spec: { targetRef, default: { appendModifications: [added] } } });
    },
    heal: () => east.delete('MeshProxyPatch', 'bad'),
    asked: [
      ['east', 'inspect problems', 'the Envoy of Dataplane cart of mesh hurt refuses Cluster extra'],
      ['east', 'inspect dataplane cart', 'REFUSED: Cluster extra'],
      ['east', 'inspect policy meshproxypatch bad', 'REFUSED by cart (east): Cluster extra'],
    ],
  },
  {
    what: 'the control plane of a zone is cut from global',
    injure: () => planes.west.stop('SIGKILL'),
    heal: () => planes.west.restart(),
    asked: [
      ['global', 'inspect problems', 'zoneAway'],
      ['global', 'inspect zones', 'zone west is not connected'],
      ['global', 'inspect service catalog', 'this was its last state'],
    ],
  },
  {
    what: 'global is away',
    injure: () => planes.global.stop('SIGKILL'),
    heal: () => planes.global.restart(),
    asked: [
      ['east', 'inspect problems', 'zoneAway'],
      ['east', 'inspect zones', 'zone east is not connected'],
    ],
  },
];

it.each(injuries.map((injury) => [injury.what, injury] as const))('%s', async (_, { injure, heal, asked, request }) => {
  await injure();
  try {
    if (request !== undefined) {
      const [port, status] = request;
      await vi.waitFor(async () => expect((await east.get(ports[port])).status).toBe(status));
    }
    await vi.waitFor(async () => expect(await without(asked)).toEqual([]));
  } finally {
    await heal();
    await isWell();
  }
  await vi.waitFor(async () => expect(await without(asked)).toHaveLength(asked.length));
});

/** The questions whose answers lack their sentence, with the answers. */
async function without(asked: Injury['asked']): Promise<string[]> {
  const found: string[] = [];
  for (const [plane, command, sentence] of asked) {
    const text = await said(plane, command);
    if (!text.includes(sentence)) found.push(`${plane}: ${command}: ${sentence}\n${text}`);
  }
  return found;
}

const spec = { default: { http: { requestTimeout: '10s' } } };
it.each<[what: string, documents: readonly JsonObject[], sentence: string]>([
  [
    'a route to a service that does not exist',
    [{ type: 'MeshHTTPRoute', name: 'lost', spec: routeSpec([{ kind: 'MeshService', name: 'nothing', port: 80 }]) }],
    'MeshService nothing does not exist',
  ],
  [
    'a policy for a service that does not exist',
    [{ type: 'MeshTimeout', name: 'lost', spec: { to: [{ targetRef: { kind: 'MeshService', name: 'nothing' }, ...spec }] } }],
    'MeshService nothing does not exist',
  ],
  [
    'a policy that another one overrides entirely',
    ['a-winner', 'loser'].map((name) => ({
      ...{ type: 'MeshTimeout', name },
      spec: { to: [{ targetRef: { kind: 'MeshService', name: 'orders' }, ...spec }] },
    })),
    'a-winner',
  ],
])('`apply --wait` says of %s that it has no effect', async (_, documents, sentence) => {
  const file = join(temporaryFolder(), 'policies.json');
  const labels = { 'kuma.io/origin': 'zone' };
  for (const document of documents) {
    await writeFile(file, JSON.stringify({ mesh: MESH, labels, ...document }));
    const text = await said('east', `apply --wait -f ${file}`);
    if (document === documents.at(-1)) expect(text).toContain(sentence);
  }
  for (const { type, name } of documents) await east.delete(String(type), String(name));
});
