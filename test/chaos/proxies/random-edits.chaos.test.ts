// A mesh is edited at random while requests go on: no request fails, connections close for the edits alone that docs/long-connections.md
// lists, and at rest each proxy holds what one gets that connects now. The seed of a run is in its title; EDITS_SEED repeats it. A run that
// fails names the folder with its edits and with what each Envoy held.
import { credentials } from '@grpc/grpc-js';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { seededRandom } from '../../../scripts/mutation/random.ts';
import { objectOf, objectsOf, textOf } from '../../../src/resource/read-json.ts';
import type { Json, JsonObject } from '../../../src/resource/types.ts';
import { envoyBinaryToJson } from '../../../src/wire/binary-to-json.ts';
import { placeName } from '../../../src/xds/listener-place.ts';
import { XDS_MESSAGES } from '../../../src/ads/encode-resources.ts';
import { TYPE_URL_PREFIX } from '../../../src/wire/any.ts';
import { PlayedProxy } from '../../ads/played-proxy.ts';
import type { Proxy } from '../../envoy/envoy-mesh.ts';
import { openStream, openTcp, type LongConnection } from '../../envoy/long-connections.ts';
import { SteadyRequests } from '../../envoy/steady-requests.ts';
import { sized } from '../../support/test-size.ts';
import { EditedMesh } from './edited-mesh.ts';

const ROUNDS = sized({ push: 8, full: 150 });
const SEED = Number(process.env['EDITS_SEED'] ?? Date.now() % 100_000);
/** Answers between two edits. */
const REQUESTS = 60;
/** What a long connection speaks. */
type Spoken = 'tcp' | 'stream';
const DRAINING = /^listener_manager\.(total_listeners_draining|total_filter_chains_draining|total_listeners_warming)$/;

let edited: EditedMesh;
const random = seededRandom(SEED);
const below = (count: number): number => Math.floor(random() * count);
/** Names of the policies that are there. */
const written = new Set<string>();

/** Writes a policy with another content than before, or deletes it. */
async function policy(type: string, name: string, specOf: (by: number) => JsonObject): Promise<void> {
  if (written.has(name) && below(3) === 0) {
    written.delete(name);
    return await edited.delete(type, name);
  }
  written.add(name);
  await edited.put(type, name, { spec: specOf(1 + below(50)) });
}

const server = (): string => `server-${String(1 + below(2))}`;
const client = { targetRef: { kind: 'Dataplane', labels: { app: 'client' } } };
const servers = { targetRef: { kind: 'Dataplane', labels: { app: 'server' } } };
const toAll = (conf: JsonObject): JsonObject => ({ ...client, to: [{ targetRef: { kind: 'Mesh' }, default: conf }] });
const rules = (conf: JsonObject): JsonObject => ({ ...servers, rules: [{ default: conf }] });
const seconds = (by: number): string => `${String(by + 10)}s`;
const logTo = (by: number): JsonObject => ({
  backends: [{ type: 'File', file: { path: '/dev/null', format: { type: 'Plain', plain: `${String(by)} %START_TIME%` } } }],
});
const cart = (by: number): JsonObject => ({
  filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-edit', value: String(by) }] } }],
});
const VERSIONS: readonly JsonObject[] = [
  { tlsVersion: { min: 'TLS12', max: 'TLS12' } },
  { tlsVersion: { min: 'TLS13', max: 'TLS13' } },
  { tlsCiphers: ['ECDHE-RSA-AES256-GCM-SHA384'] },
  { tlsVersion: { min: 'TLS12', max: 'TLS13' } },
];
const id = (name: string): JsonObject => ({
  spiffeID: { type: 'Exact', value: `spiffe://edits.east.mesh.local/workload/${name}` },
});

const EDITS: Readonly<Record<string, () => Promise<void>>> = {
  'outbounds change places': () => edited.swapOutbounds(),
  'a service and its outbound': () => edited.toggleService(),
  'names of inbounds': () => edited.renameInbounds(server(), below(100)),
  'one more inbound': () => edited.toggleInbound(server()),
  'labels of a Dataplane': () => edited.label(server(), below(100)),
  'the port of the egress': () => edited.moveEgress(),
  'the address of a server': () => edited.moveServer(server()),
  'MeshTLS versions': () => policy('MeshTLS', 'tls', (by) => ({ rules: [{ default: VERSIONS[by % VERSIONS.length] ?? {} }] })),
  'MeshTLS mode': () => policy('MeshTLS', 'mode', (by) => rules({ mode: by % 2 === 0 ? 'Permissive' : 'Strict' })),
  'MeshTimeout to': () =>
    policy('MeshTimeout', 'timeout-to', (by) => toAll({ connectionTimeout: seconds(by), http: { requestTimeout: seconds(by) } })),
  'MeshRetry to': () => policy('MeshRetry', 'retry-to', (by) => toAll({ http: { numRetries: by } })),
  'MeshCircuitBreaker to': () =>
    policy('MeshCircuitBreaker', 'breaker-to', (by) => toAll({ connectionLimits: { maxConnections: 1_000 + by } })),
  'MeshHealthCheck to': () => policy('MeshHealthCheck', 'health-to', (by) => toAll({ interval: seconds(by), tcp: {} })),
  'MeshLoadBalancingStrategy to': () =>
    policy('MeshLoadBalancingStrategy', 'balancing-to', (by) =>
      toAll({ loadBalancer: { type: ['RoundRobin', 'LeastRequest', 'Random'][by % 3] ?? 'Random' } }),
    ),
  MeshHTTPRoute: () =>
    policy('MeshHTTPRoute', 'route', (by) => ({
      to: [
        {
          targetRef: { kind: 'MeshService', name: 'http' },
          rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: cart(by) }],
        },
      ],
    })),
  'MeshTimeout rules': () => policy('MeshTimeout', 'timeout-rules', (by) => rules({ http: { requestTimeout: seconds(by) } })),
  'MeshTimeout requestHeadersTimeout': () =>
    policy('MeshTimeout', 'timeout-headers', (by) =>
      rules({ http: { requestTimeout: '60s', requestHeadersTimeout: seconds(by) } }),
    ),
  'MeshRateLimit rules': () =>
    policy('MeshRateLimit', 'limit-rules', (by) =>
      rules({ local: { http: { requestRate: { num: 10_000 + by, interval: '1s' } } } }),
    ),
  'MeshFaultInjection rules': () =>
    policy('MeshFaultInjection', 'fault-rules', (by) => rules({ http: [{ delay: { value: `${String(by)}s`, percentage: 0 } }] })),
  'MeshCircuitBreaker rules': () =>
    policy('MeshCircuitBreaker', 'breaker-rules', (by) => rules({ connectionLimits: { maxConnections: 1_000 + by } })),
  'MeshTrafficPermission rules': () =>
    policy('MeshTrafficPermission', 'narrow', (by) => ({
      rules: [{ default: { allow: [id('client'), id(`other-${String(by)}`)] } }],
    })),
  'MeshAccessLog to': () => policy('MeshAccessLog', 'log-to', (by) => toAll(logTo(by))),
  'MeshAccessLog rules': () => policy('MeshAccessLog', 'log-rules', (by) => rules(logTo(by))),
};

/** The long connections that a kind of edit closes, with the reason of docs/long-connections.md. All others close none. */
const CLOSES: Readonly<Record<string, readonly Spoken[]>> = {
  // 5: another chain, or another listener.
  'names of inbounds': ['tcp', 'stream'],
  'the address of a server': ['tcp', 'stream'],
  // 4: the transport socket belongs to the chain.
  'MeshTLS versions': ['tcp', 'stream'],
  'MeshTLS mode': ['tcp', 'stream'],
  // 8: inbounds take plain text until the new service demands TLS.
  'a service and its outbound': ['tcp', 'stream'],
  // 2: Envoy checks a TCP connection when it opens.
  'MeshTrafficPermission rules': ['tcp'],
  // 3: the connection manager of HTTP has no discovery.
  'MeshAccessLog to': ['stream'],
  'MeshAccessLog rules': ['stream'],
  'MeshTimeout requestHeadersTimeout': ['stream'],
};

beforeAll(async () => {
  edited = await EditedMesh.open();
});
afterAll(() => edited.close());

/** Long connections by what they speak. Each is opened again when it has ended. */
class LongConnections {
  readonly #open = new Map<Spoken, LongConnection>();

  /** @returns those that have ended since the last call, or do not answer */
  async renew(): Promise<Spoken[]> {
    const ended: Spoken[] = [];
    for (const [kind, open] of [
      ['tcp', openTcp],
      ['stream', openStream],
    ] as const) {
      const before = this.#open.get(kind);
      if (before !== undefined && (await answers(before))) continue;
      if (before !== undefined) ended.push(kind);
      before?.close();
      const connection = open(edited.called[kind]);
      this.#open.set(kind, connection);
      expect(await answers(connection), `a new connection of ${kind}`).toBe(true);
    }
    return ended;
  }

  close(): void {
    for (const connection of this.#open.values()) connection.close();
  }
}

async function answers(connection: LongConnection): Promise<boolean> {
  const before = connection.heard().length;
  const words = `words ${String(before)} `;
  if (!connection.hasEnded()) connection.say(words);
  await vi.waitFor(() => expect(connection.hasEnded() || connection.heard().slice(before).includes(words)).toBe(true));
  return !connection.hasEnded();
}

/** Waits until no connection is left that began with a listener that was replaced or has gone. */
async function drained(): Promise<void> {
  for (const [name, proxy] of edited.proxies) await heldAtRest(name, proxy);
  for (const proxy of edited.proxies.values()) await vi.waitFor(async () => expect(await proxy.sum(DRAINING)).toBe(0));
}

/** A resource that a proxy has: its version, and its content as JSON. */
type Held = { readonly version: string; readonly content: () => Json };
type Holdings = Record<string, Held>;

/** The listeners, clusters and routes that an Envoy has. */
async function holdings(proxy: Proxy): Promise<Holdings> {
  const dump = JSON.parse((await proxy.admin('/config_dump')) || '{}') as JsonObject;
  const held: Holdings = {};
  const add = (type: string, resource: Json | undefined, version: Json | undefined): void => {
    const { '@type': _, ...content } = objectOf(resource);
    held[`${type} ${textOf(content['name'])}`] = { version: textOf(version), content: () => inCamelCase(content) };
  };
  for (const config of objectsOf(dump['configs'])) {
    for (const { active_state: active } of objectsOf(config['dynamic_listeners']))
      add('Listener', objectOf(active)['listener'], objectOf(active)['version_info']);
    for (const { cluster, version_info: version } of objectsOf(config['dynamic_active_clusters']))
      add('Cluster', cluster, version);
    for (const { route_config: route, version_info: version } of objectsOf(config['dynamic_route_configs']))
      add('RouteConfiguration', route, version);
  }
  return held;
}

/** Envoy writes the names of fields as they are in its API. */
function inCamelCase(value: Json): Json {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  const named = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [named(key), inCamelCase(inner ?? null)]));
}

/** The content of what may differ on the two sides. Envoy shows the version that a listener had before its chains were replaced. */
function differing(one: Holdings, other: Holdings): Record<string, Json> {
  const isSame = (name: string): boolean => !name.startsWith('Listener') && one[name]?.version === other[name]?.version;
  return Object.fromEntries(Object.entries(one).flatMap(([name, { content }]) => (isSame(name) ? [] : [[name, content()]])));
}

const namesOf = (held: Holdings): string[] =>
  Object.keys(held)
    .filter((name) => !name.startsWith('RouteConfiguration'))
    .sort();

/** A listener has the name of its place. */
function placeOf({ address }: JsonObject): string {
  const { address: host, portValue } = objectOf(objectOf(address)['socketAddress']);
  return placeName(textOf(host), Number(portValue));
}

/** Waits until a proxy has no listener or cluster but those that its Dataplane has by now. */
async function heldAtRest(name: string, proxy: Proxy): Promise<Holdings> {
  return await vi.waitFor(async () => {
    const { xds } = await edited.mesh.ask('Dataplane', name, '_config');
    const askedOf = (type: 'Listener' | 'Cluster'): JsonObject => objectOf(objectOf(xds)[TYPE_URL_PREFIX + XDS_MESSAGES[type]]);
    const asked = [
      ...Object.keys(askedOf('Cluster')).map((of) => `Cluster ${of}`),
      ...Object.values(askedOf('Listener')).map((listener) => `Listener ${placeOf(objectOf(listener))}`),
    ];
    const held = await holdings(proxy);
    expect(namesOf(held), name).toEqual(asked.sort());
    return held;
  });
}

/** What a proxy of the same Dataplane gets that connects now. */
async function freshHoldings(name: string, proxy: Proxy): Promise<() => Holdings> {
  const { zone } = edited.mesh;
  const bootstrap = JSON.parse(await readFile(join(proxy.folder, 'bootstrap.json'), 'utf8')) as JsonObject;
  const metadata = objectOf(objectOf(bootstrap['node'])['metadata']);
  const fresh = new PlayedProxy({
    ...{ address: new URL(zone.urls[0] ?? '').host, mesh: edited.mesh.name, name },
    credentials: credentials.createSsl(Buffer.from(await zone.ca())),
    metadata,
  });
  fresh.connect();
  await vi.waitFor(() => expect(fresh.isWarm).toBe(true));
  return () => {
    const held: Holdings = {};
    for (const type of ['Listener', 'Cluster', 'RouteConfiguration'] as const)
      for (const [of, { version, resource }] of fresh.held.get(type) ?? [])
        held[`${type} ${of}`] = { version, content: () => inCamelCase(envoyBinaryToJson(XDS_MESSAGES[type], resource)) };
    return held;
  };
}

it(`${String(ROUNDS)} rounds of random edits, seed ${String(SEED)}`, async () => {
  try {
    await editAtRandom();
    await compareAtRest();
  } catch (error) {
    const folder = join(tmpdir(), `random-edits-${String(SEED)}`);
    await edited.keepRecord(folder);
    throw new Error(`${String(error)} (${folder})`, { cause: error });
  }
});

async function editAtRandom(): Promise<void> {
  const long = new LongConnections();
  await long.renew();
  const { http, outside, alpha, beta } = edited.called;
  const clients = [http, outside, alpha, beta].flatMap((port) => [
    { port, perConnection: Infinity },
    { port, perConnection: 4 },
  ]);
  const kinds = Object.keys(EDITS);
  const requests = await SteadyRequests.during(
    clients,
    async (going) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const kind = kinds[below(kinds.length)] ?? '';
        const place = `round ${String(round)}: ${kind}`;
        edited.note(place);
        for (let times = 1 + below(3); times > 0; times -= 1) {
          await EDITS[kind]?.();
          if (below(2) === 0) await edited.mesh.settle();
        }
        await edited.mesh.settle();
        edited.note('settled');
        await drained();
        edited.note('drained');
        await going.more(REQUESTS);
        const closed = (await long.renew()).filter((spoken) => CLOSES[kind]?.includes(spoken) !== true);
        expect({ failures: [...going.failures], closed }, place).toEqual({ failures: [], closed: [] });
      }
    },
    20,
  );
  long.close();
  expect(requests.failures).toEqual(new Map());
}

async function compareAtRest(): Promise<void> {
  const rested = new Map<string, Holdings>();
  for (const [name, proxy] of edited.proxies) rested.set(name, await heldAtRest(name, proxy));
  // Clients first: what servers have accepted decides about the TLS of clients.
  for (const [name, proxy] of [...edited.proxies].reverse()) {
    // A newer stream of a Dataplane ends the one before it.
    await proxy.stop();
    const fresh = await freshHoldings(name, proxy);
    const held = rested.get(name) ?? {};
    await vi.waitFor(() => expect(differing(held, fresh()), name).toEqual(differing(fresh(), held)));
  }
}
