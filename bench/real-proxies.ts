// Two real Envoys of a zone, run by `meridian dataplane run`: a client, and a server in front of a small application.
import type { ChildProcess } from 'node:child_process';
import { createServer, request, Agent, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { endChild, startMeridianCommand } from './children.ts';
import { MESH } from './policies.ts';

export const SERVICE = 'answers';
const READY_MS = 60_000;
/** A zone that has a global requires it. */
const OF_ZONE = { 'kuma.io/origin': 'zone' };

export type RealProxies = {
  /** Headers of the answer to one request through both Envoys. */
  readonly ask: () => Promise<IncomingHttpHeaders>;
  /** TCP connections that the client has opened. */
  readonly connections: () => number;
  readonly stop: () => Promise<void>;
};

/** A zone that asks for no token. */
export type ProxyZone = {
  readonly proxyPort: number;
  readonly apiPort: number;
  /** File of the certificate that the port for proxies shows. */
  readonly certificate: string;
};

export async function startProxies(zone: ProxyZone): Promise<RealProxies> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-bench-proxies-'));
  const application = await listen(createServer((_request, response) => response.end('yes')));
  const [inbound, outbound] = [await freePort(), await freePort()];
  const children: ChildProcess[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let connections = 0;
  const ask = async (): Promise<IncomingHttpHeaders> =>
    await new Promise((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port: outbound, agent }, (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve(response.headers) : reject(new Error(`status ${String(response.statusCode)}`)),
        );
      });
      call.on('socket', (socket) => {
        if (!call.reusedSocket) connections += 1;
        socket.unref();
      });
      call.on('error', reject);
      call.end();
    });
  const stop = async (): Promise<void> => {
    agent.destroy();
    await Promise.all(children.map(endChild));
    application.server.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const server = {
      inbound: [
        { name: 'http', port: inbound, servicePort: application.port, protocol: 'http', tags: { 'kuma.io/service': SERVICE } },
      ],
    };
    const client = {
      inbound: [
        {
          name: 'http',
          port: await freePort(),
          servicePort: application.port,
          protocol: 'http',
          tags: { 'kuma.io/service': 'asks' },
        },
      ],
      outbound: [{ port: outbound, backendRef: { kind: 'MeshService', name: SERVICE, port: 80 } }],
    };
    await put(zone.apiPort, `meshservices/${SERVICE}`, {
      ...{ type: 'MeshService', name: SERVICE, labels: OF_ZONE },
      spec: {
        selector: { dataplaneLabels: { matchLabels: { app: SERVICE } } },
        ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }],
      },
    });
    for (const [name, networking] of [
      [SERVICE, server],
      ['asks', client],
    ] as const) {
      const file = join(folder, `${name}.json`);
      const dataplane = {
        type: 'Dataplane',
        mesh: MESH,
        name,
        labels: { app: name, ...OF_ZONE },
        networking: { address: '127.0.0.1', ...networking },
      };
      await writeFile(file, JSON.stringify(dataplane));
      const address = `https://localhost:${String(zone.proxyPort)}`;
      const args = [
        '--cp-address',
        address,
        '--ca-cert-file',
        zone.certificate,
        '-d',
        file,
        '--work-dir',
        join(folder, name),
        '--drain-time',
        '0s',
        '--concurrency',
        '1',
      ];
      children.push(startMeridianCommand(['dataplane', 'run', ...args, '--readiness-port', '0'], {}));
    }
    const until = Date.now() + READY_MS;
    while (
      !(await ask().then(
        () => true,
        () => false,
      ))
    ) {
      if (Date.now() > until) throw new Error('no request got through the Envoys in a minute');
      await delay(50);
    }
    connections = 0;
    return { ask, connections: () => connections, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** PUT of a resource of the mesh. */
export async function put(apiPort: number, path: string, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${String(apiPort)}/meshes/${MESH}/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mesh: MESH, ...body }),
  });
  if (!response.ok) throw new Error(`PUT ${path}: ${String(response.status)} ${await response.text()}`);
}

async function listen(server: Server): Promise<{ server: Server; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}
