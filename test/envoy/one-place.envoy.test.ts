// An edit of what listens on a port leaves the port open: no connection is refused, and no request fails.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { EnvoyMesh } from './envoy-mesh.ts';
import { SteadyRequests } from './steady-requests.ts';

let mesh: EnvoyMesh;
let application: Application;
let other: Application;
/** Of the proxy: two outbounds and two inbounds. */
let ports: [number, number, number, number];
const requests = 40;

const to = (port: number, name: string): JsonObject => ({ port, backendRef: { kind: 'MeshService', name, port: 80 } });
const inbound = (port: number, name: string, servicePort: number): JsonObject => ({ port, name, servicePort, protocol: 'http' });

beforeAll(async () => {
  mesh = await EnvoyMesh.open('one-place');
  for (const name of ['cart', 'catalog']) {
    await mesh.service(name, { app: name });
    await mesh.endpoint(name, { app: name });
  }
  application = await mesh.application('own', 'http');
  other = await mesh.application('other', 'http');
  ports = [await freePort(), await freePort(), await freePort(), await freePort()];
  await mesh.proxy('edited', { labels: { app: 'edited' } });
});
afterAll(() => mesh.close());

/** Replaces what the proxy has, beside the outbound by which the test sees its changes. */
async function edit(outbounds: JsonObject[], inbounds: JsonObject[]): Promise<void> {
  const { networking } = await mesh.read('Dataplane', 'edited');
  const [barrier = {}] = objectsOf((networking as JsonObject)['outbound']);
  const changed = { ...(networking as JsonObject), inbound: inbounds, outbound: [barrier, ...outbounds] };
  await mesh.put('Dataplane', 'edited', { labels: { app: 'edited' }, networking: changed });
}

type State = readonly [outbounds: JsonObject[], inbounds: JsonObject[], answers: readonly string[]];

/** The first two ports are outbounds, the others inbounds. */
const stateOf = (names: readonly [string, string], sections: readonly [string, string], isSwapped = false): State => {
  const [a, b, c, d] = ports;
  const [first, second] = isSwapped ? [other, application] : [application, other];
  return [
    [to(a, names[0]), to(b, names[1])],
    [inbound(c, sections[0], first.port), inbound(d, sections[1], second.port)],
    [...names, first.name, second.name],
  ];
};

it.each<[what: string, before: () => State, after: () => State]>([
  [
    'an outbound means another service',
    () => stateOf(['cart', 'cart-old'], ['x', 'y']),
    () => stateOf(['catalog', 'cart-old'], ['x', 'y']),
  ],
  ['two outbounds change places', () => stateOf(['cart', 'catalog'], ['x', 'y']), () => stateOf(['catalog', 'cart'], ['x', 'y'])],
  ['an inbound has another name', () => stateOf(['cart', 'catalog'], ['x', 'y']), () => stateOf(['cart', 'catalog'], ['z', 'y'])],
  ['two inbounds change names', () => stateOf(['cart', 'catalog'], ['x', 'y']), () => stateOf(['cart', 'catalog'], ['y', 'x'])],
  [
    'two inbounds change applications',
    () => stateOf(['cart', 'catalog'], ['x', 'y']),
    () => stateOf(['cart', 'catalog'], ['y', 'x'], true),
  ],
])('%s', async (_, before, after) => {
  const [outbounds, inbounds, answers] = before();
  await edit(outbounds, inbounds);
  await mesh.settle();
  const open = ports.filter((_port, at) => answers[at] !== 'cart-old');
  const seen = async (): Promise<string[]> => await Promise.all(open.map(async (port) => (await mesh.get(port)).body));
  await expect.poll(seen).toEqual(answers.filter((answer) => answer !== 'cart-old'));
  const clients = open.flatMap((port) => [Infinity, 5, 1].map((perConnection) => ({ port, perConnection })));
  const [nextOutbounds, nextInbounds, expected] = after();
  const going = await SteadyRequests.during(clients, async (steady) => {
    await steady.more(requests);
    await edit(nextOutbounds, nextInbounds);
    await mesh.settle();
    await steady.more(requests);
  });
  expect(going.failures).toEqual(new Map());
  expect(await seen()).toEqual(expected.filter((answer) => answer !== 'cart-old'));
});
