// An inbound that demands TLS goes on demanding it, whatever services it has: they are made, deleted, made again, and select other servers,
// while requests go on. Plain text is refused at each try, no request fails, and a long connection stays open.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { objectOf } from '../../src/resource/read-json.ts';
import type { Labels } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh } from './envoy-mesh.ts';
import { EchoServer, GREETING, openTcp } from './long-connections.ts';
import { SteadyRequests } from './steady-requests.ts';

const CALLED = ['cart', 'steady', 'fresh', 'mixed'] as const;
const ENFORCED = { status: 'Ready', enforced: true };
/** Requests, and tries in plain text, between two edits. */
const MORE = 60;
let mesh: EnvoyMesh;
let echo: EchoServer;
let inbound: number;
let line: number;
let portOf: (service: string) => number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('strict');
  echo = await EchoServer.tcp();
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: { identified: 'yes' } } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  const everyone = { spiffeID: { type: 'Prefix', value: 'spiffe://strict.east.mesh.local' } };
  await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: [{ default: { allow: [everyone] } }] } });
  for (const name of ['cart', 'steady']) await mesh.service(name, { app: 'cart' });
  await mesh.put('MeshService', 'line', {
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } },
      ports: [{ name: 'main', port: 80, targetPort: 'line', appProtocol: 'tcp' }],
    },
  });
  await mesh.endpoint('plain', { app: 'plain', tier: 'shared' });
  await mesh.service('mixed', { app: 'plain' });
  inbound = await freePort();
  await mesh.proxy('cart', {
    labels: { app: 'cart', tier: 'shared', identified: 'yes', 'kuma.io/workload': 'cart' },
    inbound: [
      { name: 'main', port: inbound, servicePort: (await mesh.application('cart', 'http')).port, protocol: 'http' },
      { name: 'line', port: await freePort(), servicePort: echo.port, protocol: 'tcp' },
    ],
    drainSeconds: 1,
  });
  const outbounds = await mesh.outbounds([...CALLED, 'line']);
  portOf = outbounds.portOf;
  line = portOf('line');
  await mesh.proxy('checkout', { labels: { identified: 'yes', 'kuma.io/workload': 'checkout' }, outbounds: outbounds.list });
  for (const name of ['cart', 'steady', 'line']) await enforced(name);
  await mesh.settle();
});
afterAll(async () => {
  await mesh.close();
  echo.close();
});

const tlsOf = async (service: string): Promise<unknown> => objectOf((await mesh.read('MeshService', service))['status'])['tls'];
const enforced = async (service: string): Promise<void> =>
  await vi.waitFor(async () => expect(await tlsOf(service)).toEqual(ENFORCED));

/** Asks services, and the inbound in plain text, during edits. @param edit is followed by more requests of both kinds */
async function during(called: readonly string[], edits: readonly (() => Promise<void>)[]): Promise<readonly string[]> {
  const long = openTcp(line);
  await vi.waitFor(() => expect(long.heard()).toBe(GREETING));
  // Without a service to ask, the tries alone count.
  const clients = called.flatMap((service) => [
    { port: portOf(service), perConnection: Infinity },
    { port: portOf(service), perConnection: 3 },
  ]);
  let answers: readonly string[] = [];
  const tries = await SteadyRequests.during([{ port: inbound, perConnection: 1 }], async (trying) => {
    const asked = await SteadyRequests.during(clients, async (going) => {
      const more = async (): Promise<unknown> =>
        await Promise.all([trying, ...(called.length > 0 ? [going] : [])].map((one) => one.more(MORE)));
      await more();
      for (const edit of edits) {
        await edit();
        await mesh.settle();
        await more();
      }
    });
    answers = [...asked.answers.keys()].sort();
  });
  expect([...tries.answers.keys()].filter((answer) => !answer.startsWith('failed: '))).toEqual([]);
  long.say('still here');
  await vi.waitFor(() => expect(long.heard()).toBe(`${GREETING}still here`));
  expect(long.hasEnded()).toBe(false);
  long.close();
  return answers;
}

const select = (name: string, labels: Labels) => async (): Promise<void> => await mesh.service(name, labels);
const remove = (name: string) => async (): Promise<void> => await mesh.delete('MeshService', name);
const ask = async (service: string): Promise<string> => (await mesh.get(portOf(service))).body;

describe('a strict inbound stays strict', () => {
  it('when a service over it is made, deleted and made again', async () => {
    const make = select('fresh', { app: 'cart' });
    const answers = await during(['steady'], [make, () => enforced('fresh'), remove('fresh'), make, () => enforced('fresh')]);
    expect(answers).toEqual(['cart']);
  });

  it('and the service is served with TLS from its first moment', async () => {
    await remove('fresh')();
    await mesh.settle();
    const answers = new Set<string>();
    await select('fresh', { app: 'cart' })();
    await vi.waitFor(async () => {
      const { status, body } = await mesh.get(portOf('fresh'));
      if (status !== 0) answers.add(`${String(status)} ${body}`);
      expect(await tlsOf('fresh')).toEqual(ENFORCED);
      // The row may say it before the listener of the client is there.
      expect(answers).toContain('200 cart');
    });
    expect([...answers]).toEqual(['200 cart']);
  });

  it('when all services that a client calls are deleted and made again', async () => {
    const services = ['cart', 'steady', 'fresh'];
    const answers = await during(
      [],
      [
        ...services.map(remove),
        ...services.map((name) => select(name, { app: 'cart' })),
        ...services.map((name) => () => enforced(name)),
      ],
    );
    expect(answers).toEqual([]);
  });

  it('when a service of a server without an identity comes to select it', async () => {
    const answers = await during(['steady', 'mixed'], [select('mixed', { tier: 'shared' }), select('mixed', { app: 'plain' })]);
    expect(answers).toEqual(['cart', 'plain']);
  });

  it('when its own service comes to select a server without an identity, which gets no request', async () => {
    const answers = await during(['steady', 'cart'], [select('cart', { tier: 'shared' }), select('cart', { app: 'cart' })]);
    expect(answers).toEqual(['cart']);
  });

  it('when a mixed service is the only one that it has', async () => {
    await select('mixed', { tier: 'shared' })();
    await mesh.settle();
    const others = ['cart', 'steady', 'fresh'];
    const answers = await during(['mixed'], others.map(remove));
    expect(answers).toEqual(['cart', 'plain']);
    for (const name of others) await select(name, { app: 'cart' })();
    for (const name of others) await enforced(name);
    expect(await ask('steady')).toBe('cart');
  });
});

it('a withdrawn identity opens it, also for a service of servers without one: no request fails', async () => {
  await select('mixed', { tier: 'shared' })();
  await mesh.settle();
  const clients = ['steady', 'mixed'].map((service) => ({ port: portOf(service), perConnection: 3 }));
  const { answers } = await SteadyRequests.during(clients, async (going) => {
    await going.more(MORE);
    await mesh.delete('MeshIdentity', 'identity');
    await vi.waitFor(async () => {
      expect((await mesh.get(inbound)).status).toBe(200);
      expect(await tlsOf('steady')).toEqual({ status: 'NotReady' });
    });
    await mesh.settle();
    await going.more(MORE);
  });
  expect([...answers.keys()].sort()).toEqual(['cart', 'plain']);
});
