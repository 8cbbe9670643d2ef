// What each proxy of an edited mesh has at rest: all that its Dataplane has by now, and what one gets that connects now.
import { credentials } from '@grpc/grpc-js';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { objectOf, objectsOf, textOf } from '../../../src/resource/read-json.ts';
import type { Json, JsonObject } from '../../../src/resource/types.ts';
import { envoyBinaryToJson } from '../../../src/wire/binary-to-json.ts';
import { placeName } from '../../../src/xds/listener-place.ts';
import { XDS_MESSAGES } from '../../../src/ads/encode-resources.ts';
import { TYPE_URL_PREFIX } from '../../../src/wire/any.ts';
import { PlayedProxy } from '../../ads/played-proxy.ts';
import type { EnvoyMesh, Proxy } from '../../envoy/envoy-mesh.ts';
import type { EditedMesh } from './edited-mesh.ts';

const DRAINING = /^listener_manager\.(total_listeners_draining|total_filter_chains_draining|total_listeners_warming)$/;

/** Waits until no connection is left that began with a listener that was replaced or has gone. */
export async function drained(edited: EditedMesh): Promise<void> {
  for (const [name, { mesh, proxy }] of edited.proxies) await heldAtRest(mesh, name, proxy);
  for (const { proxy } of edited.proxies.values()) await vi.waitFor(async () => expect(await proxy.sum(DRAINING)).toBe(0));
}

/** Each proxy, which ends here, has what one of the same Dataplane gets that connects now. */
export async function compareAtRest(edited: EditedMesh): Promise<void> {
  const rested = new Map<string, Holdings>();
  for (const [name, { mesh, proxy }] of edited.proxies) rested.set(name, await heldAtRest(mesh, name, proxy));
  // Clients first: what servers have accepted decides about the TLS of clients.
  for (const [name, { mesh, proxy }] of [...edited.proxies].reverse()) {
    // A newer stream of a Dataplane ends the one before it.
    await proxy.stop();
    const fresh = await freshHoldings(mesh, name, proxy);
    const held = rested.get(name) ?? {};
    await vi.waitFor(() => expect(differing(held, fresh()), name).toEqual(differing(fresh(), held)));
  }
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
async function heldAtRest(mesh: EnvoyMesh, name: string, proxy: Proxy): Promise<Holdings> {
  return await vi.waitFor(async () => {
    const { xds } = await mesh.ask('Dataplane', name, '_config');
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
async function freshHoldings(mesh: EnvoyMesh, name: string, proxy: Proxy): Promise<() => Holdings> {
  const { zone } = mesh;
  const bootstrap = JSON.parse(await readFile(join(proxy.folder, 'bootstrap.json'), 'utf8')) as JsonObject;
  const metadata = objectOf(objectOf(bootstrap['node'])['metadata']);
  const fresh = new PlayedProxy({
    ...{ address: new URL(zone.urls[0] ?? '').host, mesh: mesh.name, name },
    credentials: credentials.createSsl(Buffer.from(await zone.ca())),
    metadata,
  });
  fresh.connect();
  await vi.waitFor(() => expect(fresh.isWarm, name).toBe(true));
  return () => {
    const held: Holdings = {};
    for (const type of ['Listener', 'Cluster', 'RouteConfiguration'] as const)
      for (const [of, { version, resource }] of fresh.held.get(type) ?? [])
        held[`${type} ${of}`] = { version, content: () => inCamelCase(envoyBinaryToJson(XDS_MESSAGES[type], resource)) };
    return held;
  };
}
