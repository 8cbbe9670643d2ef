// Real Envoys of a zone, run by `meridian dataplane run`, with small applications behind them.
import type { ChildProcess } from 'node:child_process';
import { request, Agent, type IncomingHttpHeaders } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../src/resource/types.ts';
import { Application } from '../test/envoy/application.ts';
import { freePort } from '../test/support/free-port.ts';
import { endChild, startMeridianCommand } from './children.ts';
import { MESH } from './policies.ts';

const READY_MS = 60_000;
/** A zone that has a global requires it. */
const OF_ZONE = { 'kuma.io/origin': 'zone' };
/** The header in which an application says its name. */
export const ANSWERED_BY = 'x-application';

/** A zone that asks for no token. */
type ProxyZone = {
  readonly proxyPort: number;
  readonly apiPort: number;
  /** File of the certificate that the port for proxies shows. */
  readonly certificate: string;
};

export class RealProxies {
  readonly #zone: ProxyZone;
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];
  readonly #applications: Application[] = [];

  private constructor(zone: ProxyZone, folder: string) {
    this.#zone = zone;
    this.#folder = folder;
  }

  static async open(zone: ProxyZone): Promise<RealProxies> {
    return new RealProxies(zone, await mkdtemp(join(tmpdir(), 'meridian-bench-proxies-')));
  }

  /** A MeshService of the proxies with the label `app` of the same name, and one of them with an application behind it. */
  async serve(service: string, appProtocol: 'http' | 'tcp' = 'http'): Promise<void> {
    await put(this.#zone.apiPort, `meshservices/${service}`, {
      ...{ type: 'MeshService', name: service, labels: OF_ZONE },
      spec: {
        selector: { dataplaneLabels: { matchLabels: { app: service } } },
        ports: [{ name: 'main', port: 80, targetPort: 'main', appProtocol }],
      },
    });
    await this.server(service, service, appProtocol);
  }

  /** A proxy of a service, with an application that says the name of the proxy. @returns its Dataplane */
  async server(name: string, service: string, protocol: 'http' | 'tcp' = 'http'): Promise<JsonObject> {
    const application = await Application.listen(name, 'http');
    this.#applications.push(application);
    const inbound = { name: 'main', port: await freePort(), servicePort: application.port, protocol };
    return await this.run(name, service, { inbound: [{ ...inbound, tags: { 'kuma.io/service': service } }] });
  }

  /** A proxy that calls a service. @returns the port on which it does */
  async client(name: string, backendRef: JsonObject): Promise<number> {
    const [port, own] = [await freePort(), await freePort()];
    await this.run(name, name, {
      // Policies match inbounds: a proxy without one has no rules.
      inbound: [{ name: 'main', port: own, servicePort: own, protocol: 'http', tags: { 'kuma.io/service': name } }],
      outbound: [{ port, backendRef: { ...backendRef, port: 80 } }],
    });
    return port;
  }

  /** @returns the Dataplane */
  async run(name: string, app: string, networking: JsonObject): Promise<JsonObject> {
    const file = join(this.#folder, `${name}.json`);
    const labels = { app, 'kuma.io/workload': app, ...OF_ZONE };
    const dataplane = { type: 'Dataplane', mesh: MESH, name, labels, networking: { address: '127.0.0.1', ...networking } };
    await writeFile(file, JSON.stringify(dataplane));
    const { proxyPort, certificate } = this.#zone;
    const at = ['--cp-address', `https://localhost:${String(proxyPort)}`, '--ca-cert-file', certificate];
    const own = ['-d', file, '--work-dir', join(this.#folder, name), '--readiness-port', '0'];
    // A listener that begins to demand TLS drains its connections: at 0s it would cut them.
    const envoy = ['--drain-time', '1s', '--concurrency', '1'];
    this.#children.push(startMeridianCommand(['dataplane', 'run', ...at, ...own, ...envoy], {}));
    return dataplane;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map(endChild));
    for (const application of this.#applications) await application.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Requests to a port of this machine, one at a time: over one kept connection, or each over its own. */
export class Caller {
  readonly #port: number;
  readonly #agent: Agent;
  /** TCP connections that it opened. */
  connections = 0;

  constructor(port: number, keepAlive: boolean) {
    this.#port = port;
    this.#agent = new Agent({ keepAlive, maxSockets: 1 });
  }

  /** Headers of the answer to one request. Rejects for another status than 200. */
  async ask(): Promise<IncomingHttpHeaders> {
    return await new Promise((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port: this.#port, agent: this.#agent }, (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve(response.headers) : reject(new Error(`status ${String(response.statusCode)}`)),
        );
      });
      call.on('socket', (socket) => {
        if (!call.reusedSocket) this.connections += 1;
        socket.unref();
      });
      call.on('error', reject);
      call.end();
    });
  }

  /** Waits for the first request that is answered as wanted. @throws Error after a minute */
  async reaches(isWanted: (headers: IncomingHttpHeaders) => boolean = () => true): Promise<void> {
    const until = Date.now() + READY_MS;
    while (
      !(await this.ask().then(
        (headers) => isWanted(headers),
        () => false,
      ))
    ) {
      if (Date.now() > until) throw new Error('no request got through the Envoys as wanted in a minute');
      await delay(50);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** PUT of a resource of the mesh. */
export async function put(apiPort: number, path: string, body: JsonObject): Promise<void> {
  await sendJson('PUT', `http://127.0.0.1:${String(apiPort)}/meshes/${MESH}/${path}`, { mesh: MESH, ...body });
}

/** @throws Error with the answer when it is no success */
export async function sendJson(method: 'PUT' | 'POST', url: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${url}: ${String(response.status)} ${await response.text()}`);
}
