// A proxy that refuses a resource has all others, from its start on, and has everything once the cause is gone.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh } from './envoy-mesh.ts';

const SERVICES = ['cart', 'catalog', 'orders'];

let mesh: EnvoyMesh;
let proxies = 0;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('refusals');
  for (const name of SERVICES) {
    await mesh.service(name, { app: name });
    await mesh.endpoint(name, { app: name });
  }
});
afterAll(() => mesh.close());

const kri = (name: string): string => `kri_msvc_refusals_east__${name}_main`;

/** What a proxy refuses, and the policies on it. */
async function refusedBy(proxy: string): Promise<string[]> {
  const { proxyProblems } = await mesh.ask('Dataplane', proxy, '_overview');
  return objectsOf(proxyProblems).map(({ at, policies }) => `${textOf(at)} ${String(policies)}`);
}

const INVALID_ADDRESS = 'additional_addresses: [{address: {socket_address: {address: "", port_value: 1}}}]';
const INVALID_ROUTE = 'routes:\n- match: {safe_regex: {regex: "("}}\n  direct_response: {status: 200}';

it.each<[what: string, modification: JsonObject, refused: string, broken: readonly string[]]>([
  ['an invalid cluster', { cluster: { operation: 'Add', value: 'name: extra\nconnect_timeout: 0s' } }, 'Cluster extra', []],
  [
    'a cluster of one service that is invalid',
    { cluster: { operation: 'Patch', match: { name: kri('cart') }, value: 'connect_timeout: 0s' } },
    ...([`Cluster ${kri('cart')}`, ['cart']] as const),
  ],
  [
    'a cluster that cannot be built',
    { cluster: { operation: 'Add', value: 'name: extra\ntype: STATIC\nlb_policy: CLUSTER_PROVIDED\nconnect_timeout: 1s' } },
    ...(['Cluster extra', []] as const),
  ],
  [
    'an invalid listener',
    { listener: { operation: 'Patch', match: { name: kri('cart') }, value: INVALID_ADDRESS } },
    ...([`Listener ${kri('cart')}`, ['cart']] as const),
  ],
  [
    'an invalid route configuration',
    { virtualHost: { operation: 'Patch', match: { name: kri('cart') }, value: 'require_tls: 7' } },
    ...([`RouteConfiguration ${kri('cart')}`, ['cart']] as const),
  ],
  [
    'a route configuration that cannot be built',
    { virtualHost: { operation: 'Patch', match: { name: kri('cart') }, value: INVALID_ROUTE } },
    ...([`RouteConfiguration ${kri('cart')}`, ['cart']] as const),
  ],
])(
  'a proxy that starts with %s has all others, and everything when the policy is deleted',
  async (_, modification, at, broken) => {
    const name = `client-${String((proxies += 1))}`;
    const targetRef = { kind: 'Dataplane', labels: { app: name } };
    await mesh.put('MeshProxyPatch', 'bad', { spec: { targetRef, default: { appendModifications: [modification] } } });
    const { list, portOf } = await mesh.outbounds(SERVICES);
    const inbound = [{ port: await freePort(), protocol: 'http', name: 'main' }];
    const proxy = await mesh.proxy(name, { labels: { app: name }, outbounds: list, inbound });
    const answers = async (): Promise<string[]> => {
      const found = await Promise.all(
        SERVICES.map(async (service) => [service, (await mesh.get(portOf(service))).status] as const),
      );
      return found.flatMap(([service, status]) => (status === 200 ? [service] : []));
    };
    const good = SERVICES.filter((service) => !broken.includes(service));
    await vi.waitFor(async () => expect(await answers()).toEqual(good));
    await vi.waitFor(async () => expect(await refusedBy(name)).toEqual([`${at} kri_mpp_refusals_east__bad_`]));
    await mesh.delete('MeshProxyPatch', 'bad');
    await vi.waitFor(async () => expect(await answers()).toEqual(SERVICES));
    await vi.waitFor(async () => expect(await refusedBy(name)).toEqual([]));
    await proxy.stop();
  },
);
